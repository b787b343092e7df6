package bridge

import (
	"context"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// sealed is what a commit covers, from its begin until it is known to have ended.
type sealed struct {
	batch   batch
	settled func(context.Context) (time.Time, error) // waits for a commit beside the next round; nil while there is none
}

// sealedTable is what a commit covers of a table.
type sealedTable struct {
	position change.Position
	read     int // rows
}

// commit makes the batch and the positions durable in one step (I1, I5). Positions only move in memory before it, and any error forgets
// them (I11).
func (r *Runner) commit(ctx context.Context) error {
	entries, due, err := r.seal(ctx)
	if err != nil {
		return err
	}
	if due {
		if err := r.sink.Commit(ctx, entries); err != nil {
			return r.tableFault(StageCheckpoint, err)
		}
		r.committed(r.options.Now())
	}
	return r.takeUp(ctx, false)
}

// commitDuring commits in the middle of a window, behind a row. The rows that follow are rendered and published while the sink is at it, where it can
// do that; whether it has done it is asked before the next commit.
func (r *Runner) commitDuring(ctx context.Context, row *change.Event) error {
	sink, can := r.sink.(Overlapping)
	if !can || r.tableOf(row).careful { // a careful table wants to know which row was refused
		return r.commit(ctx)
	}
	entries, due, err := r.seal(ctx)
	if err != nil {
		return err
	}
	if due {
		if r.sealed.settled, err = sink.CommitBehind(ctx, entries); err != nil {
			return r.tableFault(StageCheckpoint, err)
		}
	}
	return r.takeUp(ctx, false)
}

// settleCommit waits for the commit that is under way beside us.
func (r *Runner) settleCommit(ctx context.Context) error {
	if r.sealed.settled == nil {
		return nil
	}
	at, err := r.sealed.settled(ctx)
	r.sealed.settled = nil
	if err != nil {
		return r.tableFault(StageCheckpoint, err)
	}
	r.committed(at)
	return nil
}

// seal ends the batch, if there is anything to commit, and gives the entries that go with it: what is rendered from now on belongs to the next one.
// There is one commit at a time.
func (r *Runner) seal(ctx context.Context) (entries []checkpoint.Entry, due bool, err error) {
	if err := r.settleCommit(ctx); err != nil {
		return nil, false, err
	}
	r.setAside()
	r.keepNumbers()
	r.state.Task.Sequence = string(r.changes.last)
	r.state.Layout = r.source.Memory()
	r.expireLookback()
	entries = r.state.Entries()
	if r.batch.records == 0 && len(entries) == 0 {
		return nil, false, nil
	}
	for _, t := range r.order {
		t.sealed = sealedTable{position: t.state.Position, read: t.read}
		t.read, t.lagShown = 0, false
	}
	r.sealed.batch = r.batch.seal()
	r.clock.rows = 0
	return entries, true, nil
}

// committed takes note of a commit that has ended.
func (r *Runner) committed(at time.Time) {
	b := &r.sealed.batch
	r.options.Observer.SinkReachable(nil)
	r.options.Observer.Committed(b.summary(at))
	r.lettersCommitted(b)
	for _, t := range r.order {
		if t.sealed.read > 0 {
			r.options.Observer.RowsRead(t.id, t.sealed.read)
		}
		r.tellPosition(t, t.sealed.position)
		t.state.Outlive()
		if t.newest <= t.sealed.position {
			r.caughtUp(t)
		}
	}
}

// caughtUp tells the observer, once, that nothing of a table is unpublished.
func (r *Runner) caughtUp(t *table) {
	if !t.current {
		t.current = true
		r.options.Observer.Lag(t.id, 0)
	}
}

// tellPosition tells a position that is new to the observer.
func (r *Runner) tellPosition(t *table, committed change.Position) {
	if t.told != committed {
		t.told = committed
		r.options.Observer.Reached(t.id, t.told)
	}
}

func (r *Runner) expireLookback() {
	before, most := r.options.Now().Add(-r.options.LookbackFor), r.options.LookbackRows
	windows := r.windows[:0]
	for _, t := range r.order {
		if t.state.Window.Bare() {
			continue
		}
		if t.holds() { // what appears below its position meanwhile is found after the load
			continue
		}
		t.state.Window.Expire(before, most)
		windows = append(windows, &t.state.Window)
	}
	checkpoint.Shrink(windows, most)
	r.windows = windows
}
