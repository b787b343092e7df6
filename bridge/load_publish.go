package bridge

import (
	"context"
	"errors"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// publishChunks publishes at most one chunk of each table, if it has been read. The batch must be empty: a commit of a chunk holds nothing else,
// so that what a sink refuses of one table stops no other (case 77).
func (r *Runner) publishChunks(stop, work context.Context) (moved bool, err error) {
	for _, t := range r.order {
		l := r.loads.active[t.id]
		if l == nil || stop.Err() != nil || r.options.Now().Before(r.loads.due) {
			continue
		}
		if t.stopped || l.captured != t.captured || t.state.Load.State != checkpoint.LoadRunning {
			r.dropLoad(t.id) // it begins again with what is so now
			continue
		}
		select {
		case read := <-l.next:
			l.next = nil
			if err := r.takeChunk(work, t, l, read); err != nil {
				return moved, err
			}
			moved = true
		default:
		}
	}
	return moved, nil
}

// takeChunk publishes a chunk and commits it with its cursor; the next one is read meanwhile.
func (r *Runner) takeChunk(ctx context.Context, t *table, l *loading, read chunkRead) error {
	if read.err != nil {
		return r.chunkFailed(t, read.err)
	}
	chunk := read.chunk
	if n := len(chunk.Rows); n > 0 && !chunk.Last && chunk.Failed == nil {
		r.readChunk(t, l, cursorOf(chunk, n-1))
	}
	l.takeTotal(t.state.Load)
	if err := r.publishRows(ctx, t, chunk); err != nil {
		return err
	}
	if t.stopped {
		return nil
	}
	t.state.Verified = max(t.state.Verified, read.newest)
	if chunk.Last {
		r.endLoad(t, checkpoint.LoadDone)
	}
	t.state.Touch()
	if err := r.commit(ctx); err != nil {
		return err
	}
	r.passedChunk(t, l, len(chunk.Rows))
	switch {
	case chunk.Failed != nil:
		return r.loadFailed(t, chunk.Failed)
	case chunk.Last:
		r.dropLoad(t.id)
		r.options.Observer.TableChanged(t.id, r.stateOf(t), t.captured.Table.Version, nil)
	}
	return nil
}

// chunkFailed handles an error of reading. A table whose structure has changed is discovered before it is read on, from the same cursor.
func (r *Runner) chunkFailed(t *table, err error) error {
	var changed *source.Restructured
	if errors.As(err, &changed) {
		r.dropLoad(t.id)
		t.outdated, r.discovered = true, time.Time{}
		return nil
	}
	return r.loadFailed(t, err)
}

// publishRows publishes the rows of a chunk. A full batch is committed with the key of its last row; a row that cannot be rendered stops its
// table behind the rows before it.
func (r *Runner) publishRows(ctx context.Context, t *table, chunk *source.Chunk) error {
	n, err := r.rendererOf(ctx, t, chunk.Captured.Table)
	if err == nil && len(chunk.Rows) > 0 {
		if err := r.announce(ctx, t, n); err != nil {
			return err
		}
	}
	i, at := 0, change.Load{Begin: change.InstantValue(t.state.Load.Begin.Unix(), int32(t.state.Load.Begin.Nanosecond()), 0), Fence: t.state.Load.Fence}
	for ; err == nil && i < len(chunk.Rows); i++ {
		if r.batch.full(r.options) || t.careful {
			t.reached(chunk, i)
			if err := r.commit(ctx); err != nil {
				return err
			}
		}
		at.Row = t.state.Load.Rows + 1
		ev := &change.Event{Table: chunk.Captured.Table, Op: change.OpRefresh, After: chunk.Rows[i], Bad: chunk.Bad[i], Load: &at}
		var l *letter
		if l, err = r.renderLoaded(ctx, t, n, ev, r.keyOf(chunk, i)); err != nil {
			break
		}
		if err := r.publishLoaded(ctx, t, l); err != nil {
			return err
		}
		t.state.Load.Rows++
	}
	t.reached(chunk, i)
	return r.brokenOff(ctx, t, err)
}

// renderLoaded renders a row of a full load, or gives the letter that takes its place.
func (r *Runner) renderLoaded(ctx context.Context, t *table, n *renderer, ev *change.Event, key []string) (*letter, error) {
	r.batch.origin = loadOrigin(key)
	if err := r.carry(ctx, t, n, ev, false); err != nil {
		return r.letter(t, ev, key, err)
	}
	return nil, nil
}

// keyOf gives the key of a row as its letter needs it.
func (r *Runner) keyOf(chunk *source.Chunk, i int) []string {
	if r.options.BadRows.Topic == "" {
		return nil
	}
	return cursorOf(chunk, i)
}

// publishLoaded publishes the rendered row, or its letter.
func (r *Runner) publishLoaded(ctx context.Context, t *table, l *letter) error {
	if l != nil {
		return r.sendLetter(ctx, t, l)
	}
	if err := r.publish(ctx); err != nil {
		return r.tableFault(StagePublish, err)
	}
	r.batch.touch(r.options.Now())
	for _, published := range r.batch.events {
		r.batch.countEvent(published)
	}
	return nil
}

// brokenOff stops a table at a row of a chunk that cannot be rendered; what was rendered before it is committed.
func (r *Runner) brokenOff(ctx context.Context, t *table, err error) error {
	switch {
	case err == nil:
		return nil
	case fault.ClassOf(err) == fault.Fatal:
		return r.fail(StageRender, err)
	}
	r.dropLoad(t.id)
	r.stopTable(t.id, StageRender, err)
	return r.commit(ctx)
}

// reached moves the cursor behind the first rows of a chunk.
func (t *table) reached(chunk *source.Chunk, rows int) {
	if rows > 0 {
		t.state.Load.Cursor = cursorOf(chunk, rows-1)
		t.state.Touch()
	}
}

// cursorOf gives the key of a row; nil for a table without key.
func cursorOf(chunk *source.Chunk, i int) []string {
	var out []string
	for _, text := range chunk.Keys[i] {
		out = append(out, string(text.Raw))
	}
	return out
}

// takeTotal takes the count of the table's rows, once it is there.
func (l *loading) takeTotal(load *checkpoint.Load) {
	select {
	case load.Total = <-l.total:
	default:
	}
}

// passedChunk tells of a committed chunk and slows down to the rate.
func (r *Runner) passedChunk(t *table, l *loading, rows int) {
	now, load := r.options.Now(), t.state.Load
	l.moved = true
	if rate := r.options.Load.RowsPerSecond; rate > 0 {
		pause := time.Duration(rows) * time.Second / time.Duration(rate)
		r.loads.due = later(r.loads.due, now).Add(pause)
	}
	r.options.Observer.Loaded(t.id, LoadProgress{State: load.State, Rows: rows, Done: load.Rows, Total: max(load.Total, load.Rows)})
	line := "full load"
	switch {
	case load.State == checkpoint.LoadDone:
		line = "full load done"
	case now.Sub(l.said) < loadSaid:
		return
	}
	l.said = now
	r.options.Log.Info(line, "table", t.id.String(), "rows", load.Rows, "of", load.Total, "took", now.Sub(load.Begin).Round(time.Millisecond))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// endLoad ends a load: the table's changes go on from its fence.
func (r *Runner) endLoad(t *table, state checkpoint.LoadState) {
	load := t.state.Load
	load.State, load.End, load.Cursor = state, r.options.Now().UTC(), nil
	load.Rejoin = max(r.state.Task.Position, r.horizon) // the others may be read so far in the window that is under way
	t.state.Touch()
}

// waited tells that a change is older than what the task has published only because its table was being loaded, or is published
// again because a person has moved its position.
func (t *table) waited(p change.Position) bool {
	return p > t.state.Position && (t.state.Load != nil && p <= t.state.Load.Rejoin || p <= t.state.Resets.Again())
}
