package bridge

import (
	"context"
	"errors"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// progress is what one cycle did.
type progress struct {
	committed bool
	more      bool // there is more to do at once
}

// cycle is the line: poll, merge by position, filter, sequence, render and encode, publish, checkpoint. It reads with stop, which ends
// when the task is told to stop, and publishes with work, which ends a drain's time later (I8).
func (r *Runner) cycle(stop, work context.Context) (progress, error) {
	window, err := r.poll(stop)
	if stop.Err() != nil {
		return progress{}, nil
	}
	if err == nil {
		err = r.resets(work, window)
	}
	if err != nil {
		return progress{}, err
	}
	if window.Empty() {
		r.expireLookback() // idle tables are not looked back at for ever
		return progress{}, r.keepMemory(work)
	}
	defer r.registerAhead(stop, window)()
	events := r.source.Read(stop, window)
	r.latest, r.clock = nil, clock{}
	defer events.Close()
	events.Kept = r.kept.inUse
	var p progress
	var held *change.Event // whether it is the last of its transaction is known only when the next one is seen (I4)
	r.passFailed = nil
	events.Quiet = func() error { return r.passMeanwhile(work, events, held) }
	events.Waits = func() error {
		r.passFailed = r.settleCommit(work)
		return r.passFailed
	}
	for {
		ev, err := r.next(stop, events)
		if r.passFailed != nil {
			return p, r.passFailed
		}
		if err != nil {
			return p, r.fail(StagePoll, err)
		}
		if ev == nil {
			break
		}
		if held != nil {
			if err := r.emit(work, events, held, !sameTransaction(held, ev.TransactionID)); err != nil {
				return p, err
			}
		}
		// Rows of equal position are never parted by a commit: the position could not tell them apart after a restart (I2).
		if held != nil && r.commitDue(held) && ev.Position != held.Position {
			if err := r.commitDuring(work, held); err != nil {
				return p, err
			}
			p.committed = true
			if _, err := r.publishChunks(stop, work); err != nil {
				return p, err
			}
		}
		held = ev
	}
	if err := r.closeWindow(stop, work, events, window, held); err != nil {
		return p, err
	}
	p.committed = p.committed || r.batch.records > 0
	p.more = p.committed
	return p, r.commit(work)
}

func (r *Runner) commitDue(published *change.Event) bool {
	return r.batch.full(r.options) || r.tableOf(published).careful
}

// poll asks the source what can be read now. A table that cannot be detected stops alone.
func (r *Runner) poll(ctx context.Context) (*source.Window, error) {
	asked := r.asked()
	begin := r.options.Now()
	window, err := r.source.Poll(ctx, asked)
	if err != nil {
		return nil, r.tableFault(StagePoll, err)
	}
	r.options.Observer.Polled(r.options.Now().Sub(begin))
	r.options.Observer.SourceReachable(window.Trouble)
	r.options.Observer.Pending(window.Pending)
	r.polled = r.polled[:0]
	r.horizon, r.facts.bounded = window.Upto, window.Bounded
	r.options.Observer.Horizon(window.Upto)
	for i, newest := range window.Newest {
		t := r.tables[asked[i].Captured.Table.ID]
		r.polled, t.published = append(r.polled, t), nil
		t.newest = newest.Position
		if newest.Problem != nil {
			r.stopTable(t.id, StagePoll, newest.Problem)
			r.discovered = time.Time{} // it may be gone: discovery tells
		} else if newest.Position <= t.state.Position {
			r.caughtUp(t)
		}
	}
	r.stall(window.Trouble)
	return window, nil
}

// next gives the next event that is to be published, nil at the end of the window or when the task is told to stop.
func (r *Runner) next(stop context.Context, events *source.Merge) (*change.Event, error) {
	for stop.Err() == nil {
		ev, err := events.Next()
		if n := events.Pages(); n != r.clock.pages {
			r.clock = clock{pages: n} // it may have waited for the page
		}
		for _, failure := range events.Failures() {
			r.tableLeft(failure)
		}
		if stop.Err() != nil {
			break
		}
		if err != nil || ev == nil {
			return nil, err
		}
		r.tableOf(ev).read++
		if r.wanted(events, ev) {
			return ev, nil
		}
	}
	return nil, nil
}

// tableOf gives the table of an event. Most events have that of the one before.
func (r *Runner) tableOf(ev *change.Event) *table {
	if r.latest == nil || r.latest.id != ev.Table.ID {
		r.latest = r.tables[ev.Table.ID]
	}
	return r.latest
}

// clock tells the time of a row without asking for it each time.
type clock struct {
	pages int // of the window, when it was asked last
	rows  int // that it is still good for
	now   time.Time
}

// rowsPerLook is how many rows of one page share a time.
const rowsPerLook = 64

func (c *clock) look(now func() time.Time) time.Time {
	if c.rows == 0 {
		c.now, c.rows = now(), rowsPerLook
	}
	c.rows--
	return c.now
}

// tableLeft handles a table that has left a window. One whose structure has changed is discovered again before the next.
func (r *Runner) tableLeft(failure *change.TableError) {
	var changed *source.Restructured
	if errors.As(failure.Err, &changed) {
		r.tables[failure.Table].outdated = true
		r.discovered = time.Time{}
		return
	}
	r.stopTable(failure.Table, StagePoll, failure.Err)
}

// emit expands, numbers, renders and publishes one row. A row that cannot be rendered stops its table, and its numbers are given back, so
// that the counters stay without gap (I4). All events of a row are rendered before the first is published.
func (r *Runner) emit(ctx context.Context, events *source.Merge, ev *change.Event, last bool) error {
	t := r.tableOf(ev)
	if !t.broken { // else it is behind a row that could not be published, and read again with it
		if err := r.emitRow(ctx, events, t, ev, last); err != nil {
			return err
		}
	}
	if last {
		return r.release(ctx, false)
	}
	return nil
}

func (r *Runner) emitRow(ctx context.Context, events *source.Merge, t *table, ev *change.Event, last bool) error {
	ev.Late = ev.Position < r.state.Task.Position && ev.Position > t.again && !t.waited(ev.Position)
	n, err := r.rendererOf(ctx, t, ev.Table)
	if err != nil {
		return r.breakOff(events, t, err)
	}
	if err := r.announce(ctx, t, n); err != nil {
		return err
	}
	r.batch.origin = t.originOf(ev)
	r.changes.give(ev)
	if err := r.carry(ctx, t, n, ev, last); err != nil {
		return r.badRow(ctx, events, t, ev, err, last)
	}
	if err := r.release(ctx, false); err != nil {
		return err
	}
	r.keepBack(t, n, ev)
	if r.mayKeep(ev, last) {
		return nil
	}
	return r.release(ctx, false)
}

// breakOff stops a table at a row that cannot be rendered; only a fatal error ends the session.
func (r *Runner) breakOff(events *source.Merge, t *table, err error) error {
	if fault.ClassOf(err) == fault.Fatal {
		return r.fail(StageRender, err)
	}
	t.broken = true
	r.stopTable(t.id, StageRender, err)
	events.Drop(t.id)
	return nil
}

// note remembers a published row: its table's position, the look-back, the counts of the commit.
func (r *Runner) note(t *table, ev *change.Event, events []countedEvent) {
	now := r.clock.look(r.options.Now)
	r.batch.touch(now)
	t.passed(ev.Position, now)
	t.state.Verified = max(t.state.Verified, t.newest) // the poll that saw it came before the catalog was asked
	r.state.Task.Position = max(r.state.Task.Position, ev.Position)
	for _, published := range events {
		r.batch.countEvent(published)
	}
	if ev.Late {
		r.options.Observer.Late(t.id, 1)
		r.options.Log.Warn("row published late: it became visible after later ones had been published",
			"table", t.id.String(), "change_sequence", string(ev.Position), "hint", "widen source.horizon.settle")
	}
	if !t.lagShown && ev.Timestamp.Kind == change.KindInstant {
		t.lagShown, t.current = true, false
		r.options.Observer.Lag(t.id, max(0, now.Sub(time.Unix(ev.Timestamp.Num, int64(ev.Timestamp.Nanos)))))
	}
}

// closeWindow publishes the event that was held back at the end. It is the last of its transaction unless a row of the same one is
// visible beyond the horizon: then it waits for that row, so that a last flag always comes.
func (r *Runner) closeWindow(stop, work context.Context, events *source.Merge, window *source.Window, held *change.Event) error {
	defer func() { r.skipped = r.skipped[:0] }()
	if stop.Err() != nil {
		r.letGo()
		return nil
	}
	for table, policies := range events.Skipped() {
		for policy, n := range policies {
			r.options.Observer.Dropped(table, policy, n)
		}
	}
	if held == nil {
		err := r.passSkipped(work)
		if err == nil {
			r.passFiltered(events, nil)
		}
		return err
	}
	beyond, id, err := r.source.PeekBeyond(stop, window)
	if err != nil {
		return r.tableFault(StagePoll, err)
	}
	if beyond != "" && sameTransaction(held, id) {
		r.letGo() // should the held row be bad, it may have to be the last of what is there
		return nil
	}
	if err := r.emit(work, events, held, true); err != nil {
		return err
	}
	r.passFiltered(events, nil)
	return nil
}

func sameTransaction(ev *change.Event, id []byte) bool {
	return len(ev.TransactionID) > 0 && string(ev.TransactionID) == string(id)
}
