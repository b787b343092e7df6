package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source"
)

func (d *doctor) reachSource(ctx context.Context, n *notes) {
	s, err := d.serverFacts(ctx)
	d.reached(err)
	switch {
	case errors.Is(err, errNoVersion):
		n.pass(d.Task.Engine, "answers")
	case err != nil:
		n.failed(d.Task.Engine, err)
	default:
		n.pass(d.Task.Engine, joined(s.Version, labelled("database ", s.Database), labelled("login ", s.Login)))
	}
}

func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// discover looks at what concerns the search as a whole; single tables are a check of their own.
func (d *doctor) discover(ctx context.Context, n *notes) {
	found, err := d.discovery(ctx)
	switch {
	case err != nil:
		f := n.failed(d.Task.Layout, err)
		if m, ok := d.Layout.(mending); ok {
			limited, cancel := d.limited(ctx)
			defer cancel()
			if _, unreachable := d.serverFacts(ctx); unreachable == nil {
				f.SQL = m.Mend(limited, change.TableID{}, d.login(ctx))
			}
		}
	case len(found.Tables) == 0 && len(found.Problems) == 0:
		n.fail(d.Task.Layout, "no change table is found", "check source.tables, source.qlik.suffix and source.qlik.schema, and that the login may see the tables")
	default:
		n.pass(d.Task.Layout, many(len(found.Tables), "table")+" can be streamed")
	}
}

// tolerated is how far clocks may differ until lags and times of metrics mislead.
const tolerated = 5 * time.Second

func (d *doctor) clock(ctx context.Context, n *notes) {
	s, err := d.serverFacts(ctx)
	if err != nil || s.Clock.IsZero() {
		return // reach tells, or the source has no clock of its own
	}
	skew := s.Clock.Sub(s.Read)
	subject := d.Task.Engine
	if skew.Abs() > tolerated {
		n.warn(subject, fmt.Sprintf("its clock is %s %s this machine's", age(skew.Abs()), map[bool]string{true: "ahead of", false: "behind"}[skew > 0]),
			"synchronise both clocks (NTP): lags are measured between them")
		return
	}
	n.pass(subject, "its clock and this machine's differ by less than "+age(tolerated))
}

// horizon checks that the policy has what it stands on.
func (d *doctor) horizon(ctx context.Context, n *notes) {
	if _, bounded := d.Layout.(source.Bounded); bounded {
		n.pass(d.Task.Layout, "the newest LSN bounds what is read")
		return
	}
	policy := d.Task.Horizon.Policy
	_, fenced := d.Engine.(source.Fencer)
	told, _, err := d.clocked(ctx)
	subject := "policy " + string(policy)
	switch {
	case policy == source.PolicySnapshot && !fenced:
		n.fail(subject, d.Task.Engine+" does not tell which writers are open", "set source.horizon.policy: auto")
	case err != nil:
		n.unknown(subject, "the control tables cannot be read", err)
	case policy == source.PolicyStatus && !told:
		n.fail(subject, "no control table attrep_status tells how far the writer is", "set source.horizon.policy: auto, or source.qlik.control_schema and control_task")
	case policy == source.PolicyPartition:
		n.pass(subject, "rows are read when their partition is closed")
	case told && policy == source.PolicyAuto:
		n.pass(subject, "attrep_status tells how far the writer is")
	case fenced && (policy == source.PolicyAuto || policy == source.PolicySnapshot):
		n.pass(subject, "the server tells which writers are open, and source.horizon.settle is "+d.Task.Horizon.Settle.String())
	default:
		n.pass(subject, "rows are held back for source.horizon.settle "+d.Task.Horizon.Settle.String())
	}
}

// clocked asks the control table as the poller does.
func (d *doctor) clocked(ctx context.Context) (told bool, upto change.Position, err error) {
	c, ok := d.Layout.(source.Clocked)
	if !ok {
		return false, "", nil
	}
	if _, err := d.discovery(ctx); err != nil {
		return false, "", nil // discover tells
	}
	limited, cancel := d.limited(ctx)
	defer cancel()
	upto, told, err = c.Applied(limited)
	return told, upto, err
}

// standstill is how long the writer's own clock may stand still until it looks stopped.
const standstill = 15 * time.Minute

// writer looks at who fills the change tables.
func (d *doctor) writer(ctx context.Context, n *notes) {
	o, ok := d.Layout.(overseeing)
	if !ok {
		return
	}
	if _, err := d.discovery(ctx); err != nil {
		if _, unreachable := d.serverFacts(ctx); unreachable != nil {
			return // reach tells
		}
	}
	limited, cancel := d.limited(ctx)
	defer cancel()
	w, err := o.Writer(limited)
	d.remarks(n, w.Remarks)
	if err != nil {
		n.failed(d.Task.Layout, err)
		return
	}
	if w.Place == "" {
		n.pass("control tables", "attrep_status is not there: the horizon goes by what it can see itself")
	}
	for _, t := range w.Tasks {
		d.writerTask(n, w.Place, t)
	}
	for _, s := range w.Suspended {
		n.warn(s.Table, "the writer has suspended this table: "+s.Reason, "mend the table in the replication task and resume it: no change of it arrives")
	}
	if w.Retention > 0 {
		d.writerRetention(n, w.Retention)
	}
}

func (d *doctor) remarks(n *notes, remarks []facts.Remark) {
	for _, r := range remarks {
		level := Warn
		if r.Bad {
			level = Fail
		}
		n.add(level, r.Subject, r.Seen, r.Do).SQL = r.SQL
	}
}

func (d *doctor) writerTask(n *notes, place string, t facts.TaskState) {
	state := joined(place, t.State)
	switch since := d.Now().Sub(t.Applied); {
	case t.Applied.IsZero():
		n.warn(t.Name, state+": nothing has been applied yet", "does the replication task run?")
	case since > standstill:
		n.warn(t.Name, fmt.Sprintf("%s: it stands at %s, %s ago", state, t.Applied.Format(time.RFC3339), age(since)),
			"is the writer running? Until it moves on, rows above that moment wait for source.horizon.max_wait "+d.Task.Horizon.MaxWait.String())
	default:
		n.pass(t.Name, fmt.Sprintf("%s: applied up to %s ago", state, age(max(since, 0))))
	}
}

// shortRetention is less than a weekend of trouble.
const shortRetention = 24 * time.Hour

func (d *doctor) writerRetention(n *notes, kept time.Duration) {
	if kept >= shortRetention {
		n.pass("clean-up", "changes are kept for "+age(kept))
		return
	}
	n.warn("clean-up", "changes are kept for only "+age(kept), "keep them for longer than the task may ever stand still, three days by default").
		SQL = []string{"EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 4320;", "EXEC sys.sp_cdc_stop_job N'cleanup';", "EXEC sys.sp_cdc_start_job N'cleanup';"}
}

// longOpen is how long a writer may keep a transaction open before it is worth a look.
const longOpen = time.Minute

func (d *doctor) transactions(ctx context.Context, n *notes) {
	t, ok := d.Engine.(transacting)
	if !ok {
		return
	}
	if _, err := d.serverFacts(ctx); err != nil {
		return // reach tells
	}
	limited, cancel := d.limited(ctx)
	defer cancel()
	open, err := t.Transactions(limited, longOpen)
	if err != nil {
		f := n.unknown("open transactions", "the login may not list them", err)
		if w, ok := d.Engine.(watching); ok && fault.ClassOf(err) == fault.Table {
			f.SQL = w.Watch(d.login(ctx))
		}
		return
	}
	effect := "rows that they write turn up late when they commit, within source.horizon.lookback " + d.Task.Lookback.String()
	if _, fenced := d.Engine.(source.Fencer); fenced {
		effect = "new rows are held back until they end"
	}
	for _, x := range open {
		since := "for " + age(x.Age)
		if x.Age < 0 {
			since = "for a time that the login may not see"
		}
		n.warn(x.Who, joined("a writer has a transaction open "+since, x.What)+": "+effect, "have it end; if nobody needs it:").SQL = []string{x.Stop}
	}
	if len(open) == 0 {
		n.pass("open transactions", "no writer has one open for longer than "+age(longOpen))
	}
}
