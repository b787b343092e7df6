package bridge

import (
	"context"
	"slices"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// passEvery is how often positions become durable that have only moved past rows that a filter leaves out: a task with nothing to publish need not
// commit at every poll. What a crash makes it read again is published no second time.
const passEvery = time.Second

// passFiltered moves tables behind the rows that their filters have left out, once everything before them is published: so they are not read again at
// the next poll, and a purge of them is none of rows that nobody has read.
// An event that is held or kept back keeps its table where it is, and so do rows that a policy leaves out behind it.
func (r *Runner) passFiltered(events *source.Merge, held *change.Event) {
	now := r.options.Now()
	for id, p := range events.Passed() {
		t := r.tables[id]
		waits := held != nil && held.Table.ID == id || r.kept.holds(t) || slices.ContainsFunc(r.skipped, func(s skippedRow) bool { return s.table == t })
		if waits || t.stopped || t.broken || t.outdated || p <= t.state.Position {
			continue
		}
		t.state.Pass(p, t.newest, now)
		t.passedOver = true
		if r.passing.IsZero() {
			r.passing = now
		}
	}
	if r.passing.IsZero() {
		return
	}
	for _, t := range r.polled {
		if !t.stopped && t.newest > t.state.Position {
			return
		}
	}
	r.options.Observer.Pending(false)
}

// passMeanwhile commits now and then while a window goes on without an event, so that a backlog that a filter leaves out as a whole is read once, however
// often the task is stopped on the way, and looks like what it is: work.
func (r *Runner) passMeanwhile(ctx context.Context, events *source.Merge, held *change.Event) error {
	if held != nil && held.Position == r.handed {
		return nil // rows of equal position are never parted by a commit (I2)
	}
	r.passFiltered(events, held)
	if r.keepPasses(); !r.unsaved {
		return nil
	}
	r.unsaved = false
	r.passFailed = r.commit(ctx)
	return r.passFailed
}

// keepPasses lets the checkpoint learn of positions that have moved without a published row, now and then.
func (r *Runner) keepPasses() {
	if r.passing.IsZero() || r.options.Now().Sub(r.passing) < passEvery {
		return
	}
	for _, t := range r.order {
		if t.passedOver {
			t.state.Touch()
			t.passedOver, r.unsaved = false, true
		}
	}
	r.passing = time.Time{}
}
