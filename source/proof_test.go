package source_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// catalog answers in place of the memory's own: asked is called with the number of the question, from 1 on, and its tables.
type catalog struct {
	*memory
	mu     sync.Mutex
	asked  func(n int, tables []*source.Captured) ([]bool, error)
	asks   int
	tables int
}

func (c *catalog) Changed(_ context.Context, tables []*source.Captured) ([]bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks++
	c.tables += len(tables)
	if c.asked == nil {
		return make([]bool, len(tables)), nil
	}
	return c.asked(c.asks, tables)
}

func isTable(t *source.Captured, name string) bool { return t.Table.ID.Name == name }

// readAll reads rows 1 to 6 of so many tables in pages of two, and gives what came of each table and how tables left.
func (c *catalog) readAll(t *testing.T, layout source.Layout, parallel int) (got map[string][]change.Position, left map[string]error) {
	t.Helper()
	r := newReader(c.memory, newClock(), source.Options{})
	poller := source.NewPoller(nil, layout, source.Options{PageRows: 2, Parallel: parallel, Now: r.clock.Now})
	w, err := poller.Poll(t.Context(), r.asked())
	check(t, err)
	events := poller.Read(t.Context(), w)
	defer events.Close()
	got, left = make(map[string][]change.Position), make(map[string]error)
	for {
		ev, err := events.Next()
		check(t, err)
		for _, f := range events.Failures() {
			left[f.Table.Name] = f.Err
		}
		if ev == nil {
			return got, left
		}
		got[ev.Table.ID.Name] = append(got[ev.Table.ID.Name], ev.Position)
	}
}

func newCatalog(tables int) *catalog {
	var names []string
	for i := range tables {
		names = append(names, fmt.Sprintf("t%03d", i))
	}
	m := newMemory(names...)
	for _, name := range names {
		m.show(name, 1, 2, 3, 4, 5, 6)
	}
	return &catalog{memory: m}
}

// slow takes a while to read a page, so that those who read stand in a queue.
type slow struct{ *catalog }

func (s slow) Page(ctx context.Context, t *source.Captured, after, upto change.Position, limit int) (*source.Page, error) {
	<-time.After(time.Millisecond)
	return s.catalog.Page(ctx, t, after, upto, limit)
}

// Pages of many tables are proven by far fewer questions than there are pages; those of one table by no more.
func TestProofsAreAskedForTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, proofsAreAskedForTogether)
}

func proofsAreAskedForTogether(t *testing.T) {
	for _, test := range []struct{ tables, most int }{{1, 3}, {100, 10}} {
		c := newCatalog(test.tables)
		got, left := c.readAll(t, slow{c}, 2)
		if len(left) > 0 || len(got) != test.tables {
			t.Fatalf("%d tables came, %v left", len(got), left)
		}
		for name, positions := range got {
			if len(positions) != 6 {
				t.Errorf("of %s came %v", name, positions)
			}
		}
		if c.asks > test.most {
			t.Errorf("%d tables of three pages: %d questions about %d tables, want %d at most", test.tables, c.asks, c.tables, test.most)
		}
	}
}

// A page that was read under another structure is not given, nor what is behind it; the other tables go on.
func TestProofFailsOneTable(t *testing.T) {
	t.Parallel()
	c := newCatalog(20)
	c.asked = func(n int, tables []*source.Captured) ([]bool, error) {
		out := make([]bool, len(tables))
		for i, one := range tables {
			out[i] = n > 1 && isTable(one, "t007") // the first question is about all first pages
		}
		return out, nil
	}
	got, left := c.readAll(t, c, 3)
	var changed *source.Restructured
	if len(left) != 1 || !errors.As(left["t007"], &changed) || len(got["t007"]) != 2 || len(got["t008"]) != 6 {
		t.Errorf("left: %v; of t007 came %v, of t008 %v", left, got["t007"], got["t008"])
	}
}

// A table that the catalog cannot tell of does not hold up those that it was asked about together with.
func TestProofThatOneTableSpoils(t *testing.T) {
	t.Parallel()
	c, broken := newCatalog(20), fault.New(fault.Table, "", errors.New("may not be described"), "")
	c.asked = func(n int, tables []*source.Captured) ([]bool, error) {
		for _, one := range tables {
			if n > 1 && isTable(one, "t007") {
				return nil, broken
			}
		}
		return make([]bool, len(tables)), nil
	}
	got, left := c.readAll(t, c, 3)
	if len(left) != 1 || !errors.Is(left["t007"], broken) || len(got["t007"]) != 2 || len(got["t008"]) != 6 {
		t.Errorf("left: %v; of t007 came %v, of t008 %v", left, got["t007"], got["t008"])
	}
}

// An error of the connection ends the merge, whatever table it was met at.
func TestProofThatTheConnectionSpoils(t *testing.T) {
	t.Parallel()
	c, away := newCatalog(20), fault.New(fault.Retry, "", errors.New("the server is away"), "")
	c.asked = func(n int, tables []*source.Captured) ([]bool, error) {
		if n > 1 {
			return nil, away
		}
		return make([]bool, len(tables)), nil
	}
	r := newReader(c.memory, newClock(), source.Options{})
	poller := source.NewPoller(nil, c, source.Options{PageRows: 2, Parallel: 2, Now: r.clock.Now})
	w, err := poller.Poll(t.Context(), r.asked())
	check(t, err)
	events := poller.Read(t.Context(), w)
	defer events.Close()
	for n := 0; ; n++ {
		ev, err := events.Next()
		if err != nil {
			if !errors.Is(err, away) || n > 40 {
				t.Errorf("%v after %d events", err, n)
			}
			return
		}
		if ev == nil {
			t.Fatal("the merge ended as if nothing were wrong")
		}
	}
}
