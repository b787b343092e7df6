package source

import (
	"context"
	"log/slog"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Options of a poller. See the configuration reference for the defaults.
type Options struct {
	Horizon  HorizonOptions
	PageRows int  // rows per page
	KeepBad  bool // see Captured and Chunk
	MaxBytes int  // memory for pages of all tables together (I10)
	Parallel int  // pages read at the same time
	// LoadFilter gives the SQL predicate that the rows of a base table must meet to be loaded, empty for all; nil = all rows of all tables.
	LoadFilter func(change.TableID) string
	Lookback   time.Duration
	Log        *slog.Logger
	Now        func() time.Time // time.Now where nil
	CheckEach  time.Duration    // shortest time between two look-back checks of a table; 1 s where zero
}

// Poller reads the change tables of one task. Its methods belong to one goroutine.
type Poller struct {
	engine  Engine
	layout  Layout
	options Options
	horizon horizon
	checks  map[change.TableID]time.Time // when a table's look-back is due

	turn      time.Time                // tables due up to then are checked in this poll
	polled    time.Time                // when the last poll was
	checkCost time.Duration            // of one look-back check, about
	watched   map[change.TableID]watch // what the last poll saw
	slots     chan struct{}            // bounds parallel page reads
	glanced   *glance                  // nil once a poll has used it, and without one
}

// NewPoller builds a poller. It does not talk to the database.
func NewPoller(engine Engine, layout Layout, o Options) *Poller {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CheckEach == 0 {
		o.CheckEach = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Poller{engine: engine, layout: layout, options: o, checks: make(map[change.TableID]time.Time), watched: make(map[change.TableID]watch), slots: make(chan struct{}, max(o.Parallel, 1))}
	p.horizon = horizon{options: o.Horizon, now: o.Now, log: o.Log}
	p.horizon.fencer, _ = engine.(Fencer)
	p.horizon.clock, _ = layout.(Clocked)
	return p
}

// Discover finds the captured tables.
func (p *Poller) Discover(ctx context.Context) (Discovery, error) { return p.layout.Discover(ctx) }

// Memory and Recall carry what the layout has learned across restarts; nil where it learns nothing.
func (p *Poller) Memory() []byte {
	if r, ok := p.layout.(Rememberer); ok {
		return r.Memory()
	}
	return nil
}

// Recall takes back what Memory gave.
func (p *Poller) Recall(memory []byte) error {
	if r, ok := p.layout.(Rememberer); ok && memory != nil {
		return r.Recall(memory)
	}
	return nil
}

// Recent is what was published of a table not long ago: see checkpoint.Window.
type Recent interface {
	Floor() change.Position
	Rows() int
	Counts() map[change.Position]int
	// Empty tells that nothing lies above the floor: neither a published row nor one that a filter left out.
	Empty() bool
}

// Progress says how far a table has been published.
type Progress struct {
	Captured *Captured
	After    change.Position
	Recent   Recent
	Earlier  []Earlier // structures that rows may still be waiting under, oldest first

	// What tells a reset: see Reset.
	Identity string          // of the change table that After belongs to
	Seen     change.Position // the newest row that was seen, published or not
	Purged   bool            // the row at After was seen to have gone, when nothing was unread
	Chosen   bool            // After is a place to begin at, not the position of a row: nothing can be told of a reset
}

// Earlier is a former structure of a table.
type Earlier struct {
	Captured *Captured
	Upto     change.Position // of its last row
}

// Window is what one poll found: what can be read now, in order.
type Window struct {
	Upto     change.Position // the horizon
	Bounded  bool            // it is the layout's own: every row up to it is there, and none will come below it
	Newest   []Newest        // parallel to the progress that was asked with
	Pending  bool            // changes are known that are not published yet, whether readable now or not
	Trouble  error           // the source answers, but nothing new may come: see Bounded
	readings []reading
	beyond   []*Captured // tables with rows beyond the horizon: the look-ahead asks them
}

// Empty tells that there is nothing to read now.
func (w *Window) Empty() bool { return len(w.readings) == 0 }

// reading is a range of one table.
type reading struct {
	captured    *Captured
	after, upto change.Position
	skip        map[change.Position]int // published already, and how often
	then        *reading                // the same table's rows under its next structure
}

// Poll asks for the newest positions with one query, advances the horizon and says what can be read. Tables that cannot be detected have a
// Problem in Newest and take no part.
func (p *Poller) Poll(ctx context.Context, tables []Progress) (*Window, error) {
	captured := make([]*Captured, len(tables))
	for i := range tables {
		captured[i] = tables[i].Captured
	}
	bound, bounded, err := p.bound(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := p.layout.Detect(ctx, captured)
	if err != nil {
		return nil, err
	}
	w := &Window{Newest: newest, Bounded: bounded}
	p.recollect(tables)
	p.takeTurns(tables)
	if err := p.limit(ctx, w, tables, bound, bounded); err != nil {
		return nil, err
	}
	for i, t := range tables {
		if newest[i].Problem != nil {
			p.blind(t.Captured.Table.ID)
			continue
		}
		if !p.guarded() {
			if err := p.watch(ctx, t, &newest[i]); err != nil {
				return nil, TableFault(t.Captured.Table.ID, err)
			}
		}
		if newest[i].Reset != nil {
			continue
		}
		if newest[i].Position > w.Upto {
			w.beyond = append(w.beyond, t.Captured)
		}
		w.Pending = w.Pending || newest[i].Position > t.After
		r, found, err := p.plan(ctx, t, &newest[i], w.Upto)
		if err != nil {
			return nil, TableFault(t.Captured.Table.ID, err)
		}
		if found {
			w.readings = append(w.readings, r)
		}
	}
	return w, nil
}

func highest(newest []Newest) change.Position {
	var out change.Position
	for _, n := range newest {
		if n.Problem == nil {
			out = max(out, n.Position)
		}
	}
	return out
}

// plan decides what to read of one table: what lies between its own position and the horizon, and what the look-back found below.
func (p *Poller) plan(ctx context.Context, t Progress, newest *Newest, upto change.Position) (reading, bool, error) {
	after, upto, skip := t.After, upto, map[change.Position]int(nil)
	late, found, err := p.lookBack(ctx, t, newest)
	if err != nil || newest.Reset != nil {
		return reading{}, false, err
	}
	if found {
		after, upto, skip = late, max(upto, t.After), t.Recent.Counts()
	} else if newest.Position <= after || upto <= after {
		return reading{}, false, nil
	}
	return *chain(t, after, upto, skip), true, nil
}

// chain divides a range among the structures that its rows have.
func chain(t Progress, after, upto change.Position, skip map[change.Position]int) *reading {
	for i, e := range t.Earlier {
		if after >= e.Upto {
			continue
		}
		r := &reading{captured: e.Captured, after: after, upto: min(upto, e.Upto), skip: skip}
		if upto > e.Upto {
			t.Earlier = t.Earlier[i+1:]
			r.then = chain(t, e.Upto, upto, skip)
		}
		return r
	}
	return &reading{captured: t.Captured, after: after, upto: upto, skip: skip}
}

// Under compiles a reader for an earlier structure of a table: see Layout.
func (p *Poller) Under(t *Captured, earlier *change.Table, memo []byte) (*Captured, error) {
	return p.layout.Under(t, earlier, memo)
}

// FirstDDL tells where the structure of a table first changed after a position, where the source knows that.
func (p *Poller) FirstDDL(ctx context.Context, t *Captured, after change.Position) (change.Position, bool, error) {
	if h, ok := p.layout.(Historian); ok {
		return h.FirstDDL(ctx, t, after)
	}
	return "", false, nil
}

// PeekBeyond finds the first event beyond a window: its position and transaction, empty if there is none.
func (p *Poller) PeekBeyond(ctx context.Context, w *Window) (change.Position, []byte, error) {
	return p.layout.Peek(ctx, w.beyond, w.Upto)
}

// FilterFault says of an error of reading a table where a filter is in force that the filter may be the cause; nil stays nil.
func FilterFault(t *Captured, err error) error {
	if t.Filter == "" || fault.ClassOf(err) != fault.Table {
		return err
	}
	return fault.New(fault.Table, "", err, "is the predicate of source.filters right for "+t.Changes.String()+"?")
}

// TableFault marks an error as its table's own where its class says that the others can go on.
func TableFault(id change.TableID, err error) error {
	if class := fault.ClassOf(err); class == fault.Table || class == fault.Poison {
		return &change.TableError{Table: id, Err: err}
	}
	return err
}
