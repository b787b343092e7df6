package source_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// clock is a hand-moved clock.
type clock struct{ now time.Time }

func newClock() *clock                 { return &clock{now: time.Unix(1_700_000_000, 0)} }
func (c *clock) Now() time.Time        { return c.now }
func (c *clock) Move(by time.Duration) { c.now = c.now.Add(by) }

// memory is a layout over tables in memory: rows become visible when the test says so.
type memory struct {
	tables  []*source.Captured
	rows    map[string][]change.Position // visible, sorted
	fail    map[string]error             // by table: what its next pages give
	changed map[string]bool              // by table: its structure is another than captured
	hold    chan struct{}                // pages are read when something comes; nil = at once

	applied, closed change.Position
	lowEnds         int // how often Oldest was asked
}

func newMemory(names ...string) *memory {
	m := &memory{rows: make(map[string][]change.Position), fail: make(map[string]error)}
	for _, name := range names {
		t := change.NewTable(change.TableID{Name: name}, 1, []change.Column{{Name: "id", Type: change.Type{Kind: change.Int8}}})
		m.tables = append(m.tables, &source.Captured{Table: t, Changes: change.TableID{Name: name + "__ct"}})
	}
	return m
}

func pos(n int) change.Position { return change.Position(fmt.Sprintf("%08d", n)) }

func (m *memory) show(table string, numbers ...int) {
	for _, n := range numbers {
		m.rows[table] = append(m.rows[table], pos(n))
	}
	sort.Slice(m.rows[table], func(i, j int) bool { return m.rows[table][i] < m.rows[table][j] })
}

func (m *memory) between(t *source.Captured, after, upto change.Position) []change.Position {
	var out []change.Position
	for _, p := range m.rows[t.Table.ID.Name] {
		if p > after && p <= upto {
			out = append(out, p)
		}
	}
	return out
}

func (m *memory) Discover(context.Context) (source.Discovery, error) {
	return source.Discovery{Tables: m.tables}, nil
}

func (m *memory) Detect(_ context.Context, tables []*source.Captured) ([]source.Newest, error) {
	out := make([]source.Newest, len(tables))
	for i, t := range tables {
		if rows := m.rows[t.Table.ID.Name]; len(rows) > 0 {
			out[i].Position = rows[len(rows)-1]
		}
	}
	return out, nil
}

func (m *memory) Page(_ context.Context, t *source.Captured, after, upto change.Position, limit int) (*source.Page, error) {
	if err := m.fail[t.Table.ID.Name]; err != nil && fault.ClassOf(err) == fault.Retry {
		return nil, err
	}
	if m.hold != nil {
		<-m.hold
	}
	rows := m.between(t, after, upto)
	page := &source.Page{}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n] == rows[0] {
			n++
		}
		if len(page.Events) > 0 && len(page.Events)+n > limit {
			page.More = true
			break
		}
		for range n {
			page.Events = append(page.Events, change.Event{Table: t.Table, Op: change.OpInsert, Position: rows[0]})
		}
		rows = rows[n:]
	}
	if err := m.fail[t.Table.ID.Name]; err != nil {
		page.Events, page.Failed = page.Events[:min(1, len(page.Events))], err
	}
	return page, nil
}

func (m *memory) Positions(_ context.Context, t *source.Captured, after, upto change.Position) ([]change.Position, error) {
	return m.between(t, after, upto), nil
}

func (m *memory) Count(_ context.Context, t *source.Captured, after, upto change.Position) (int64, error) {
	return int64(len(m.between(t, after, upto))), nil
}

func (m *memory) Changed(_ context.Context, tables []*source.Captured) ([]bool, error) {
	out := make([]bool, len(tables))
	for i, t := range tables {
		out[i] = m.changed[t.Table.ID.Name]
	}
	return out, nil
}

func (m *memory) Under(t *source.Captured, earlier *change.Table, _ []byte) (*source.Captured, error) {
	under := *t
	under.Table = earlier
	return &under, nil
}

func (m *memory) Oldest(_ context.Context, t *source.Captured, at change.Position) (change.Position, bool, error) {
	m.lowEnds++
	rows := m.rows[t.Table.ID.Name]
	if len(rows) == 0 {
		return "", false, nil
	}
	return rows[0], slices.Contains(rows, at), nil
}

func (m *memory) Peek(_ context.Context, tables []*source.Captured, after change.Position) (change.Position, []byte, error) {
	var first change.Position
	for _, t := range tables {
		if rows := m.between(t, after, "z"); len(rows) > 0 && (first == "" || rows[0] < first) {
			first = rows[0]
		}
	}
	return first, nil, nil
}

// clocked is memory with control tables.
type clocked struct{ *memory }

func (c clocked) Applied(context.Context) (change.Position, bool, error) {
	return c.applied, c.applied != "", nil
}

func (c clocked) Closed(context.Context) (change.Position, bool, error) {
	return c.closed, c.closed != "", nil
}

// fenced is an engine that only fences.
type fenced struct {
	source.Engine
	fence source.Fence
}

func (f *fenced) Fence(context.Context) (source.Fence, error) { return f.fence, nil }
