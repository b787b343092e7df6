package bridge

import (
	"cmp"
	"context"
	"sync"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// LoadMode says which tables are read whole, as REFRESH events.
type LoadMode string

// The modes of the full load.
const (
	LoadNone       LoadMode = "none"        // none by itself
	LoadInitial    LoadMode = "initial"     // tables that have nothing in the checkpoint yet
	LoadWhenNeeded LoadMode = "when_needed" // these, and those whose change table has lost rows
)

// LoadOptions set the full load. Zero means the default, except for Mode and RowsPerSecond.
type LoadOptions struct {
	Mode          LoadMode
	ChunkRows     int // rows of one query
	Parallel      int // tables that are loaded at a time
	RowsPerSecond int // over all tables; 0 = as fast as it goes
}

const (
	defaultChunkRows    = 10000
	defaultParallelLoad = 2
	mostRefusals        = 3                // sessions that the same condition may end
	loadSaid            = 10 * time.Second // pause between two lines of progress
)

// A table is loaded between and inside cycles, by the runner's goroutine: one chunk at a time is published and committed with its cursor. The
// next chunk is read meanwhile. The table's changes wait: they go on from the fence, the horizon read before the first row. Whatever a chunk has
// missed, or has seen early, is published after it, so that a reader who applies all messages in order ends with the table as it is.

// loads are the full loads of a session.
type loads struct {
	ctx    context.Context // of reading
	active map[change.TableID]*loading
	ready  chan struct{} // a chunk has been read
	work   sync.WaitGroup
	due    time.Time // the rate allows no row before
}

// loading is one table being read.
type loading struct {
	chunks   *source.Chunks
	captured *source.Captured // the structure that chunks were compiled for
	ctx      context.Context
	cancel   context.CancelFunc
	next     chan chunkRead // nil = none is being read
	total    chan int64
	moved    bool      // a chunk was committed in this session
	said     time.Time // when the log was told
}

type chunkRead struct {
	chunk  *source.Chunk
	err    error
	newest change.Position // of the change table, seen before the chunk was read
}

// openLoads prepares a session; the function it returns ends all reading.
func (r *Runner) openLoads(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.loads = &loads{ctx: ctx, active: make(map[change.TableID]*loading), ready: make(chan struct{}, 1)}
	return func() {
		cancel()
		for id := range r.loads.active {
			r.dropLoad(id)
		}
		r.loads.work.Wait()
	}
}

// rest pauses until the next poll is due or a chunk is there.
func (r *Runner) rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.loads.ready:
	case <-ctx.Done():
	}
}

// holds tells that a table's changes are not read now: they wait for a load, or for the choice of a start.
func (t *table) holds() bool { return t.starting || t.state.Load.Holds() }

// stateOf is what a table that has not failed is doing.
func (r *Runner) stateOf(t *table) TableState {
	switch {
	case t.state.Load.Holds():
		return TableLoading
	case r.facts.stalled != nil:
		return TableCaptureStopped
	}
	return TableStreaming
}

// load runs between two cycles: it begins what is to begin and publishes what has been read.
func (r *Runner) load(stop, work context.Context) (moved bool, err error) {
	if stop.Err() != nil {
		return false, nil
	}
	if err := r.answerRequests(work); err != nil {
		return false, err
	}
	if err := r.startTables(stop, work); err != nil {
		return false, err
	}
	for _, t := range r.order {
		if err := r.beginLoad(t); err != nil {
			return false, err
		}
	}
	moved, err = r.publishChunks(stop, work)
	r.keepPasses()
	if err == nil && r.unsaved {
		r.unsaved = false
		err = r.commit(work)
	}
	return moved, err
}

// beginLoad sets a load's fence and begins to read, unless enough others are under way.
func (r *Runner) beginLoad(t *table) error {
	load := t.state.Load
	full := len(r.loads.active) >= cmp.Or(r.options.Load.Parallel, defaultParallelLoad)
	if t.stopped || t.outdated || !load.Active() || full || r.loads.active[t.id] != nil {
		return nil
	}
	if load.State == checkpoint.LoadWaiting {
		known, err := r.fence(t)
		if err != nil {
			return r.loadFailed(t, err)
		}
		if !known {
			return nil
		}
	}
	chunks, err := r.source.Chunks(t.captured, load.Where)
	if err != nil {
		return r.loadFailed(t, err)
	}
	if len(chunks.Key()) == 0 && r.streams() {
		return nil // it takes a connection for itself
	}
	if load.State == checkpoint.LoadWaiting || !equal(load.Key, chunks.Key()) || len(load.Key) == 0 {
		load.Cursor, load.Rows = nil, 0 // there is nothing to go on from
	}
	load.State, load.Key = checkpoint.LoadRunning, chunks.Key()
	t.state.Touch()
	ctx, cancel := context.WithCancel(r.loads.ctx)
	l := &loading{chunks: chunks, captured: t.captured, ctx: ctx, cancel: cancel, said: r.options.Now()}
	r.loads.active[t.id] = l
	r.options.Log.Info("full load", "table", t.id.String(), "reason", load.Reason, "rows_so_far", load.Rows, "changes_from", string(load.Fence))
	r.options.Observer.TableChanged(t.id, TableLoading, t.captured.Table.Version, nil)
	r.options.Observer.Loaded(t.id, LoadProgress{State: load.State, Done: load.Rows, Total: max(load.Total, load.Rows)})
	r.countRows(l, load)
	r.readChunk(t, l, load.Cursor)
	return nil
}

// fence moves a table that has published nothing that counts to the position that its changes go on from, the horizon. It must have been told
// once, lest everything that the change table holds is published again. Another table stays where it is.
func (r *Runner) fence(t *table) (known bool, err error) {
	load := t.state.Load
	if load.Fresh {
		if r.horizon == "" && t.newest != "" {
			return false, nil
		}
		if err := r.beginAt(r.loads.ctx, t, r.present(t)); err != nil {
			return false, err
		}
	}
	load.Fence, load.Begin = t.state.Position, r.options.Now().UTC()
	return true, nil
}

// present is the position that parts what a table has changed so far from what comes. Sequences that began anew may lie below the horizon: the table's own
// newest row is the limit, but where the horizon is the source's own. There an empty change table begins at it as well, lest rows that come and are
// purged be missed.
func (r *Runner) present(t *table) change.Position {
	if r.facts.bounded {
		return r.horizon
	}
	return min(r.horizon, t.newest)
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// streams tells that a table without key is being read.
func (r *Runner) streams() bool {
	for _, l := range r.loads.active {
		if len(l.chunks.Key()) == 0 {
			return true
		}
	}
	return false
}

// countRows counts the table beside the reading, for the progress.
func (r *Runner) countRows(l *loading, load *checkpoint.Load) {
	r.loads.work.Add(1)
	l.total = make(chan int64, 1)
	if load.Total > 0 {
		r.loads.work.Done()
		return
	}
	go func() {
		defer r.loads.work.Done()
		if n, err := l.chunks.Count(l.ctx); err == nil {
			l.total <- n
		}
	}()
}

// readChunk reads the chunk behind a key in the background.
func (r *Runner) readChunk(t *table, l *loading, after []string) {
	next, all, newest := make(chan chunkRead, 1), r.loads, t.newest
	l.next = next
	rows := cmp.Or(r.options.Load.ChunkRows, defaultChunkRows)
	if rate := r.options.Load.RowsPerSecond; rate > 0 {
		rows = min(rows, rate)
	}
	all.work.Go(func() {
		chunk, err := l.chunks.Read(l.ctx, after, rows)
		next <- chunkRead{chunk, err, newest}
		select {
		case all.ready <- struct{}{}:
		default:
		}
	})
}

// dropLoad ends the reading of a table; its cursor stays.
func (r *Runner) dropLoad(id change.TableID) {
	l := r.loads.active[id]
	if l == nil {
		return
	}
	delete(r.loads.active, id)
	l.cancel()
	r.loads.work.Go(func() {
		if l.next != nil {
			<-l.next
		}
		_ = l.chunks.Close() // its context has ended: there is nothing left to tell
	})
}

// loadFailed lets an error of a load stop its table, where it is the table's own.
func (r *Runner) loadFailed(t *table, err error) error {
	r.dropLoad(t.id)
	class := fault.ClassOf(err)
	own := class == fault.Table || class == fault.Poison
	if !own && t.state.Load.Where != "" {
		r.refusals[t.id]++ // what the condition does to some row may look like any trouble
	}
	if (own || r.refusals[t.id] >= mostRefusals) && r.giveUp(t, err) {
		delete(r.refusals, t.id)
		return nil
	}
	if !own {
		return r.fail(StageLoad, err)
	}
	r.stopTable(t.id, StageLoad, err)
	return nil
}

// unproven tells that a table is being loaded and no chunk of it got through yet: a failed one is not well again.
func (r *Runner) unproven(t *table) bool {
	l := r.loads.active[t.id]
	return t.state.Load.Active() && (l == nil || !l.moved)
}

// requestLoad asks for a full load of a table whose changes have a hole: they go on from the horizon, whatever was published before.
func (r *Runner) requestLoad(id change.TableID, reason string) { r.newLoad(id, reason, true) }

// newLoad lets a table be loaded from the beginning, in place of a load that is under way.
func (r *Runner) newLoad(id change.TableID, reason string, fresh bool) {
	r.dropLoad(id)
	t := r.state.Table(id)
	t.Load = &checkpoint.Load{State: checkpoint.LoadWaiting, Reason: reason, Fresh: fresh}
	t.Touch()
}
