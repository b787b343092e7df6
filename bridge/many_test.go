package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// estate is a layout of many tables, the last of which has a new row in every poll, or so many.
type estate struct {
	source.Layout
	tables []*source.Captured
	rows   int // of the active table in a poll
	newest int
}

func newEstate(tables, rows int) *estate {
	e := &estate{rows: rows}
	for i := range tables {
		id := change.TableID{Schema: "shop", Name: fmt.Sprintf("t%04d", i)}
		t := change.NewTable(id, 1, []change.Column{{Name: "id", Type: change.Type{Kind: change.Int8}, KeyPosition: 1}})
		e.tables = append(e.tables, &source.Captured{Table: t, Changes: change.TableID{Schema: "shop", Name: id.Name + "__ct"}})
	}
	return e
}

func (e *estate) Discover(context.Context) (source.Discovery, error) {
	return source.Discovery{Tables: e.tables}, nil
}

// ruin is an estate of which only the last table is whole.
type ruin struct {
	*estate
	clock       time.Time
	polls, most int
	discoveries int
	done        func()
}

func (e *ruin) Discover(context.Context) (source.Discovery, error) {
	e.discoveries++
	whole := len(e.tables) - 1
	found := source.Discovery{Tables: e.tables[whole:]}
	for _, t := range e.tables[:whole] {
		found.Problems = append(found.Problems, &change.TableError{Table: t.Table.ID, Err: fault.New(fault.Table, "", errors.New("ruined"), "")})
	}
	return found, nil
}

func (e *ruin) Detect(ctx context.Context, tables []*source.Captured) ([]source.Newest, error) {
	e.clock = e.clock.Add(10 * time.Millisecond)
	if e.polls++; e.polls == e.most {
		e.done()
	}
	return e.estate.Detect(ctx, tables)
}

// Each failed table is tried again after a pause of its own, but the catalog is asked for all of them, once a second at most.
func TestManyFailedTablesAskTheCatalogRarely(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &ruin{estate: newEstate(50, 1), clock: time.Unix(1_700_000_000, 0), most: 3000, done: cancel}
	w := newWorld(t)
	o := w.options
	o.Now, o.PollInterval = func() time.Time { return e.clock }, 0
	poller := source.NewPoller(nil, e, source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySettle}, PageRows: 1, Parallel: 1, MaxBytes: 1 << 20, Now: o.Now})
	if err := bridge.New(poller, &bin{}, o).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if e.discoveries < 5 || e.discoveries > 32 { // in 30 seconds of the test's clock
		t.Errorf("%d discoveries for 49 failed tables in 30 s", e.discoveries)
	}
}

func (e *estate) Detect(_ context.Context, tables []*source.Captured) ([]source.Newest, error) {
	out := make([]source.Newest, len(tables))
	e.newest += e.rows
	out[len(out)-1].Position = estatePosition(e.newest)
	return out, nil
}

func estatePosition(n int) change.Position { return change.Position(fmt.Sprintf("%035d", n)) }

func (e *estate) Page(_ context.Context, t *source.Captured, after, upto change.Position, _ int) (*source.Page, error) {
	page := &source.Page{}
	for n := e.newest - e.rows + 1; n <= e.newest; n++ {
		if p := estatePosition(n); p > after && p <= upto {
			page.Events = append(page.Events, change.Event{Table: t.Table, Op: change.OpInsert, Position: p, TransactionID: []byte(p), After: []change.Value{{Kind: change.KindInt, Num: int64(n)}}})
		}
	}
	return page, nil
}

func (e *estate) Changed(_ context.Context, tables []*source.Captured) ([]bool, error) {
	return make([]bool, len(tables)), nil
}

func (e *estate) Peek(context.Context, []*source.Captured, change.Position) (change.Position, []byte, error) {
	return "", nil, nil
}

func (e *estate) Oldest(context.Context, *source.Captured, change.Position) (change.Position, bool, error) {
	return "", true, nil
}

// bin is a sink that keeps nothing and counts commits.
type bin struct {
	commits int
	done    func()
	most    int
}

func (*bin) Open(context.Context) (map[string][]byte, error) { return nil, nil }
func (*bin) EnsureTopic(context.Context, string, change.TopicRole) error {
	return nil
}
func (*bin) EnsureTopics(context.Context, []string, change.TopicRole) (map[string]error, error) {
	return nil, nil
}
func (*bin) Publish(context.Context, *change.Record) error { return nil }
func (s *bin) Commit(context.Context, []checkpoint.Entry) error {
	if s.commits++; s.commits == s.most {
		s.done()
	}
	return nil
}
func (*bin) Abort(context.Context) error { return nil }
func (*bin) Close() error                { return nil }

// BenchmarkManyTables is what one commit costs when one table of so many is active: with a poll before each, and in the middle of a window.
// Compare the figures of one run: the tables that have no rows must cost next to nothing.
func BenchmarkManyTables(b *testing.B) {
	for _, rows := range []int{1, 1000} {
		for _, tables := range []int{1, 1000} {
			b.Run(fmt.Sprintf("rows per poll=%d/tables=%d", rows, tables), func(b *testing.B) {
				e := newEstate(tables, rows)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				w := newWorld(b)
				o := w.options
				o.Observer, o.Log, o.CommitRecords, o.LookbackRows = noObserver{w.observed}, slog.New(slog.DiscardHandler), 1, 100
				poller := source.NewPoller(nil, e, source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySettle}, PageRows: rows, Parallel: 1, MaxBytes: 1 << 20})
				runner := bridge.New(poller, &bin{done: cancel, most: b.N}, o)
				b.ReportAllocs()
				if err := runner.Run(ctx); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// noObserver forgets what grows.
type noObserver struct{ *observed }

func (noObserver) Reached(change.TableID, change.Position) {}
