package bridge

import (
	"context"
	"errors"
	"sort"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

// table is a captured table in this session.
type table struct {
	id         change.TableID
	captured   *source.Captured
	state      *checkpoint.Table
	earlier    []source.Earlier     // structures that unread rows still have
	rendered   map[int]*renderer    // by table version; filled at the first event of each
	plans      map[int]*values.Plan // by table version; nil = no rule changes it
	newest     change.Position
	told       change.Position // to the observer
	read       int             // rows since the last commit
	sealed     sealedTable     // of the last commit
	lagShown   bool
	current    bool                    // the observer has been told that nothing is unpublished
	stopped    bool                    // by an error in this session: it is no longer read
	came       change.Position         // of the row that was taken last: see duplicate
	published  map[change.Position]int // what the look-back knew when the window began; nil until it is asked
	again      change.Position         // rows at or below it are read again after a reset: they are not late
	starting   bool                    // its first position is chosen after the next poll
	outdated   bool                    // its structure has changed in the middle of a window: it must be discovered before it is read on
	broken     bool                    // a row of it could not be published in this session: no later one may be (I2)
	sequencer  sequencer               // counts its own events
	numbered   bool                    // since the last commit
	at         change.Position         // of the row that was rendered last
	nth        int                     // number of that row among those of its position
	passedOver bool                    // its position has moved past rows that its filter leaves out, which the checkpoint does not know yet
	careful    bool                    // the sink has refused a record of it: commit row by row, so that the good rows before it get through
}

// passed moves the table's position behind an event. A late row never moves it back (I2).
func (t *table) passed(p change.Position, now time.Time) {
	t.state.Position = max(t.state.Position, p)
	t.state.Window.Add(p, now)
	t.state.Seen, t.state.Purged = max(t.state.Seen, t.newest, t.state.Position), false
	t.state.Touch()
}

// trouble is a failed table waiting to be tried again.
type trouble struct {
	err   error
	state TableState
	pause backoff
	due   time.Time

	refused bool // by the sink
}

// restOfDiscovery gathers the failed tables that are due at about the same time: a discovery asks the catalog for all tables.
const restOfDiscovery = time.Second

// rediscover looks for tables at the start, on an interval, and when a failed table is due. Added tables join, the others go on.
func (r *Runner) rediscover(ctx context.Context) error {
	now := r.options.Now()
	if since := now.Sub(r.discovered); !r.discovered.IsZero() && since < r.interval && (since < restOfDiscovery || !r.troubleDue(now)) {
		return nil
	}
	found, err := r.source.Discover(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return r.fail(StageDiscover, err)
	}
	r.options.Observer.SourceReachable(nil)
	r.discovered, r.interval = now, jitter(r.options.Rediscover)
	for _, problem := range found.Problems {
		if r.options.Shard.Has(problem.Table) && !r.waits(problem.Table, now) {
			r.stopTable(problem.Table, StageDiscover, problem.Err)
		}
	}
	if err := r.admitAll(ctx, found, now); err != nil {
		return err
	}
	r.stillMissing(found, now)
	r.sortTables()
	r.announceStart(found)
	return nil
}

func (r *Runner) announceStart(found source.Discovery) {
	if r.started {
		return
	}
	r.started = true
	r.options.Log.Info("started", "task", r.options.Task, "tables", len(r.tables), "failed", len(r.troubles), "position", string(r.state.Task.Position))
	if r.options.Unused == nil || r.options.Shard.Number > 0 { // one shard tells
		return
	}
	ids := make([]change.TableID, 0, len(found.Tables)+len(found.Problems))
	for _, captured := range found.Tables {
		ids = append(ids, captured.Table.ID)
	}
	for _, problem := range found.Problems {
		ids = append(ids, problem.Table)
	}
	for _, entry := range r.options.Unused(ids) {
		r.options.Log.Warn("no change table for an entry of source.tables", "entry", entry,
			"hint", "check its spelling, source.qlik.suffix and source.qlik.schema, and that the login may see the tables")
	}
}

// waits tells that a table has failed and its pause is not over.
func (r *Runner) waits(id change.TableID, now time.Time) bool {
	t := r.troubles[id]
	return t != nil && now.Before(t.due)
}

// stillMissing lengthens the pause of failed tables that discovery no longer finds.
func (r *Runner) stillMissing(found source.Discovery, now time.Time) {
	seen := make(map[change.TableID]bool, len(found.Tables))
	for _, captured := range found.Tables {
		seen[captured.Table.ID] = true
	}
	for _, problem := range found.Problems {
		seen[problem.Table] = true
	}
	for id, t := range r.troubles {
		if due := !now.Before(t.due); !seen[id] && (due || t.state != TableMissing) {
			t.state = TableMissing
			r.vanished(id)
			if due {
				t.due = now.Add(t.pause.next())
			}
			r.options.Observer.TableChanged(id, t.state, 0, t.err)
		}
	}
}

func (r *Runner) troubleDue(now time.Time) bool {
	for _, t := range r.troubles {
		if !now.Before(t.due) {
			return true
		}
	}
	return false
}

func (r *Runner) sortTables() {
	r.order = r.order[:0]
	for _, t := range r.tables {
		r.order = append(r.order, t)
	}
	sort.Slice(r.order, func(i, j int) bool { return r.order[i].id.String() < r.order[j].id.String() })
}

// asked lists the tables to poll, until the next poll.
func (r *Runner) asked() []source.Progress {
	out := r.asking[:0]
	for _, t := range r.order {
		switch {
		case t.stopped:
		case t.holds(): // seen for the horizon, not read
			out = append(out, source.Progress{Captured: t.captured, After: "~", Recent: &checkpoint.Window{}, Chosen: true})
		default:
			out = append(out, source.Progress{Captured: t.captured, After: t.state.Position, Recent: &t.state.Window, Earlier: t.earlier,
				Identity: t.state.Identity, Seen: t.state.Seen, Purged: t.state.Purged, Chosen: t.chosen()})
		}
	}
	r.asking = out
	return out
}

// stopTable takes a table out of the session; it is tried again with a growing pause. The other tables go on.
func (r *Runner) stopTable(id change.TableID, stage Stage, err error) {
	err = withHint(err)
	t := r.troubles[id]
	if t == nil {
		t = &trouble{pause: backoff{least: time.Second, most: time.Minute}}
		r.troubles[id] = t
	}
	t.err, t.state = err, stateOf(err)
	t.due = r.options.Now().Add(t.pause.next())
	version := 0
	if own := r.tables[id]; own != nil {
		own.stopped, version = true, own.captured.Table.Version
	}
	r.options.Observer.Failed(stage, fault.ClassOf(err), err)
	r.options.Observer.TableChanged(id, t.state, version, err)
	r.options.Log.Error("table stopped", "table", id.String(), "stage", string(stage), "error", err)
}

// withHint says what helps against a row that cannot be carried, where its error does not say it better.
func withHint(err error) error {
	if fault.ClassOf(err) != fault.Poison || fault.HintOf(err) != "" {
		return err
	}
	return fault.New(fault.Poison, "", err, "repair the row in the change table, and the table goes on with it; or leave the column out with source.qlik.ignore_columns")
}

// stateOf asks the error itself: a layout knows what a missing change table looks like.
func stateOf(err error) TableState {
	var missing interface{ TableMissing() bool }
	var gap *gapError
	switch {
	case errors.As(err, &missing) && missing.TableMissing():
		return TableMissing
	case errors.As(err, &gap) && gap.reset.Kind == source.ResetRewound:
		return TableRewound
	}
	return TableFailed
}

// stall shows at every table that nothing new comes from a source that answers, and when that is over.
func (r *Runner) stall(trouble error) {
	before := r.facts.stalled
	r.facts.stalled = trouble
	if (before == nil) == (trouble == nil) {
		return
	}
	for _, t := range r.order {
		if !t.stopped && r.troubles[t.id] == nil {
			r.options.Observer.TableChanged(t.id, r.stateOf(t), t.captured.Table.Version, trouble)
		}
	}
	if trouble != nil {
		r.options.Log.Error("nothing new comes from the source", "tables", len(r.order), "state", string(TableCaptureStopped), "error", trouble)
	} else {
		r.options.Log.Info("the source goes on")
	}
}

// heal marks failed tables as well again after a cycle that they went through.
func (r *Runner) heal() {
	for id, trouble := range r.troubles {
		t := r.tables[id]
		if t != nil && !t.stopped && r.unproven(t) {
			trouble.due = r.options.Now().Add(r.options.Rediscover) // it has been admitted again already
		} else if t != nil && !t.stopped {
			delete(r.troubles, id)
			t.careful = false
			r.options.Observer.TableChanged(id, r.stateOf(t), t.state.Newest().Version, nil)
			r.options.Log.Info("table streams again", "table", id.String())
		}
	}
}

// tableFault stops the table that an error belongs to, then hands the error on: the session starts again without that table.
func (r *Runner) tableFault(stage Stage, err error) error {
	var own *change.TableError
	if errors.As(err, &own) {
		if r.blame(own) {
			return fault.New(fault.Retry, "", err, "")
		}
		r.stopTable(own.Table, stage, own.Err)
		r.troubles[own.Table].refused = stage == StagePublish || stage == StageCheckpoint
		return fault.New(fault.Retry, "", err, "")
	}
	return r.fail(stage, err)
}
