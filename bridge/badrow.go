package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/deadletter"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// BadRows is the policy for rows that cannot become messages (I3): values that do not decode, events that no output can carry, records over the
// size limit. It is one for all stages.
type BadRows struct {
	Topic  string        // of dead letters; empty = such a row stops its table
	Bytes  int           // of a letter's record
	Most   int           // letters of a table within Window; one more stops it. 0 = no limit
	Window time.Duration // how long Most counts before it begins anew
}

// LetterKey counts dead letters by table and reason.
type LetterKey struct {
	Table  change.TableID
	Reason string // see package deadletter
}

// letters is what outlives a session about bad rows.
type letters struct {
	quotas  map[change.TableID]*quota
	refused map[change.TableID]map[string]error // rows that the sink has refused, by origin: they are not sent again
	learned bool                                // in this session
}

// quota counts the letters of a table.
type quota struct {
	begin          time.Time
	committed, now int
}

func newLetters() letters {
	return letters{quotas: make(map[change.TableID]*quota), refused: make(map[change.TableID]map[string]error)}
}

// forget gives up what was not committed (I11).
func (l *letters) forget() {
	l.learned = false
	for _, q := range l.quotas {
		q.now = q.committed
	}
}

// of gives the quota of a table in the window that is under way.
func (l *letters) of(id change.TableID, now time.Time, window time.Duration) *quota {
	q := l.quotas[id]
	if q == nil || now.Sub(q.begin) >= window {
		q = &quota{begin: now}
		l.quotas[id] = q
	}
	return q
}

// letter is a dead letter on its way.
type letter struct {
	record  change.Record
	origin  string // of its row
	id      string
	reason  deadletter.Reason
	problem error
}

// The stages that letters name.
const (
	stageDecode  = "decode"
	stageRender  = "render"
	stagePublish = "publish"
)

// refusalError is the error of a row that only one of several outputs could not carry.
type refusalError struct {
	output string
	err    error
}

// Error names the output.
func (e *refusalError) Error() string { return "output " + e.output + ": " + e.err.Error() }

// Unwrap gives the cause.
func (e *refusalError) Unwrap() error { return e.err }

// oversizeError is the error of a record that is too large.
type oversizeError struct{ size, most int }

// Error names both sizes.
func (e *oversizeError) Error() string {
	return fmt.Sprintf("the record has %d bytes, more than kafka.max_message_bytes %d", e.size, e.most)
}

// refusedError is the error of a row that the sink has refused.
type refusedError struct{ err error }

// Error is the sink's.
func (e *refusedError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *refusedError) Unwrap() error { return e.err }

// carry renders a row into the batch, unless it is known to be bad.
func (r *Runner) carry(ctx context.Context, t *table, n *renderer, ev *change.Event, last bool) error {
	if ev.Bad != nil {
		return ev.Bad
	}
	if err := r.letters.refused[t.id][r.batch.origin]; err != nil && r.batch.origin != "" {
		return &refusedError{err}
	}
	return r.renderRow(ctx, t, n, ev, last)
}

// badRow applies the policy to a row that cannot become a message. Its letter takes the row's place behind the good row before it.
func (r *Runner) badRow(ctx context.Context, events *source.Merge, t *table, ev *change.Event, cause error, last bool) error {
	r.changes.refuse(ev)
	l, err := r.letter(t, ev, nil, cause)
	if err != nil {
		return r.breakOff(events, t, err)
	}
	row, k := skippedRow{table: t, position: ev.Position, letter: l}, &r.kept
	if k.table == nil {
		if err := r.pass(ctx, []skippedRow{row}); err != nil {
			return err
		}
		return r.passSkipped(ctx)
	}
	k.behind = append(append(k.behind, row), r.skipped...)
	r.skipped = r.skipped[:0]
	k.bytes += l.record.Size()
	if last || len(k.behind) > mostBehind || k.bytes > r.options.CommitBytes {
		return r.release(ctx, last)
	}
	return nil
}

// letter writes the dead letter of a row; key is that of a row of a full load. The error says why the table must stop instead.
func (r *Runner) letter(t *table, ev *change.Event, key []string, cause error) (*letter, error) {
	o := &r.options.BadRows
	if o.Topic == "" || fault.ClassOf(cause) == fault.Fatal {
		return nil, cause
	}
	now := r.options.Now()
	q := r.letters.of(t.id, now, o.Window)
	if o.Most > 0 && q.now >= o.Most {
		return nil, fault.New(fault.Poison, fmt.Sprintf("%d rows went to %s within %s, as many as bad_records.max_per_table allows, and another is bad", q.now, o.Topic, o.Window),
			cause, "mend what makes the rows bad, or raise bad_records.max_per_table")
	}
	out := &letter{origin: r.batch.origin, problem: cause}
	d := deadletter.Letter{Task: r.options.Task, Event: ev, Key: key, Nth: t.nth, Problem: cause.Error(), At: now}
	if ev.Op == change.OpRefresh {
		d.Nth = 0
	}
	d.Stage, d.Reason = reasonOf(ev, cause)
	if r.coverLetter(t, &d); d.Omitted > 0 {
		out.problem = errCovered // an error may quote the value
		d.Problem = out.problem.Error()
	}
	var one *refusalError
	if errors.As(cause, &one) {
		d.Output = one.output
	}
	most := o.Bytes - letterFraming
	if r.letters.refused[t.id][letterOrigin+out.origin] != nil {
		most = min(most, smallLetter)
	}
	var err error
	if out.record, err = d.Record(o.Topic, most); err != nil {
		return nil, fault.New(fault.Poison, "write the dead letter", err, "raise bad_records.max_bytes")
	}
	out.record.Origin, out.id, out.reason = letterOrigin+out.origin, d.ID(), d.Reason
	q.now++
	return out, nil
}

var errCovered = errors.New("a value cannot be carried; it is not shown, as columns.rules cover columns of this table")

// coverLetter keeps what the rules of columns exclude or mask out of a letter. A row that they cannot be applied to loses those values.
func (r *Runner) coverLetter(t *table, d *deadletter.Letter) {
	plan, err := r.planOf(t, d.Event.Table)
	if err != nil || plan == nil {
		return // no rules: a table whose rules are wrong is not read
	}
	if d.Event.Bad == nil {
		if told, err := plan.Apply(d.Event); err == nil {
			d.Event, d.Told = told, true
			return
		}
	}
	d.Event, d.Omitted = plan.Shown(d.Event)
}

const (
	letterOrigin  = "letter of " // in front of its row's origin
	letterFraming = 64           // of its headers
	smallLetter   = 8 << 10      // bytes of a letter that the sink has refused once
)

func reasonOf(ev *change.Event, cause error) (stage string, reason deadletter.Reason) {
	var refused *refusedError
	var large *oversizeError
	var header *change.HeaderError
	switch {
	case errors.As(ev.Bad, &header):
		return stageDecode, deadletter.Header
	case ev.Bad != nil:
		return stageDecode, deadletter.Undecodable
	case errors.As(cause, &refused):
		return stagePublish, deadletter.TooLarge
	case errors.As(cause, &large):
		return stageRender, deadletter.TooLarge
	}
	return stageRender, deadletter.Unrenderable
}

// sendLetter publishes a dead letter in the place of its row.
func (r *Runner) sendLetter(ctx context.Context, t *table, l *letter) error {
	if err := r.send(ctx, &l.record); err != nil {
		return r.tableFault(StagePublish, err)
	}
	r.batch.touch(r.options.Now())
	r.batch.letter(LetterKey{t.id, string(l.reason)}, l.origin)
	r.options.Log.Warn("row went to the dead-letter topic", "topic", l.record.Topic, "table", t.id.String(), "letter", l.id, "reason", string(l.reason), "error", l.problem)
	return nil
}

// blame remembers a row, or a letter, that the sink refuses for good: its letter takes its place when it is read again. It reports whether the
// table can go on so.
func (r *Runner) blame(e *change.TableError) bool {
	if r.options.BadRows.Topic == "" || e.Origin == "" || fault.ClassOf(e.Err) != fault.Poison {
		return false
	}
	rows := r.letters.refused[e.Table]
	if rows == nil {
		rows = make(map[string]error)
		r.letters.refused[e.Table] = rows
	}
	if rows[e.Origin] != nil {
		return false // also the small letter was refused
	}
	rows[e.Origin], r.letters.learned = e.Err, true
	r.options.Observer.Failed(StagePublish, fault.Poison, e.Err)
	return true
}

// lettersCommitted counts the letters of a commit for good.
func (r *Runner) lettersCommitted(b *batch) {
	for key, n := range b.letters {
		if q := r.letters.quotas[key.Table]; q != nil {
			q.committed = min(q.committed+n, q.now)
		}
	}
	for _, row := range b.lettered {
		delete(r.letters.refused[row.table], row.origin)
		delete(r.letters.refused[row.table], letterOrigin+row.origin)
	}
}

// originOf names a row of a change table within its table: its position, and its number among the rows of that position.
func (t *table) originOf(ev *change.Event) string {
	if ev.Position != t.at {
		t.at, t.nth = ev.Position, 0
		return string(ev.Position)
	}
	t.nth++
	return string(ev.Position) + "#" + strconv.Itoa(t.nth)
}

// loadOrigin names a row of a full load; empty for a table without key.
func loadOrigin(key []string) string {
	if len(key) == 0 {
		return ""
	}
	quoted := make([]string, len(key))
	for i, text := range key {
		quoted[i] = strconv.Quote(text)
	}
	return "load " + strings.Join(quoted, ",")
}
