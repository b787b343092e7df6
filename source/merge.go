package source

import (
	"container/heap"
	"context"
	"errors"
	"sync"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Merge reads the tables of a window and gives their events in position order (I4). While the events of one page of a table are used, its
// next page is read. Next belongs to one goroutine.
type Merge struct {
	poller *Poller
	cancel context.CancelFunc
	ctx    context.Context
	work   sync.WaitGroup
	heads  cursors
	last   *cursor // the cursor whose event was given last: it moves on at the next call
	failed []*change.TableError
	skips  map[change.TableID]map[string]int
}

// Read starts reading a window. Close must be called.
func (p *Poller) Read(ctx context.Context, w *Window) *Merge {
	ctx, cancel := context.WithCancel(ctx)
	m := &Merge{poller: p, ctx: ctx, cancel: cancel, skips: make(map[change.TableID]map[string]int)}
	share := DefaultPageBytes
	if n := len(w.readings); n > 0 && p.options.MaxBytes > 0 {
		share = min(share, p.options.MaxBytes/(2*n))
	}
	for i := range w.readings {
		w.readings[i].captured.PageBytes = max(share, minPageBytes)
		c := &cursor{reading: w.readings[i], order: i}
		m.fetch(c)
		m.heads = append(m.heads, c)
	}
	return m
}

const minPageBytes = 16 << 10

// start waits for the first page of every table.
func (m *Merge) start() error {
	waiting := m.heads
	m.heads = nil
	for _, c := range waiting {
		if err := m.turn(c); err != nil {
			return err
		}
	}
	return nil
}

// Next gives the next event in order, nil at the end. A table that fails leaves the merge with a *change.TableError from Failures; an error
// returned here ends the merge.
func (m *Merge) Next() (*change.Event, error) {
	switch {
	case m.last == nil:
		if err := m.start(); err != nil {
			return nil, err
		}
		m.last = &cursor{}
	case m.last.page != nil:
		if err := m.move(); err != nil {
			return nil, err
		}
	}
	if len(m.heads) == 0 {
		m.last = &cursor{}
		return nil, nil
	}
	m.last = m.heads[0]
	return m.last.event(), nil
}

// move takes the cursor that gave the last event to its next one.
func (m *Merge) move() error {
	c := m.last
	c.at++
	if c.skipPublished(); c.at < len(c.page.Events) {
		heap.Fix(&m.heads, 0)
		return nil
	}
	heap.Pop(&m.heads)
	return m.turn(c)
}

// turn gives a cursor its next page with something in it and puts it back into the heap, or lets it leave.
func (m *Merge) turn(c *cursor) error {
	for {
		if c.page != nil && (c.page.Failed != nil || !c.page.More) {
			m.leave(c, c.page.Failed)
			return nil
		}
		result := <-c.next
		if result.err != nil {
			return m.classify(c, result.err)
		}
		m.count(c, result.page)
		if result.page.More && len(result.page.Events) == 0 && result.page.Failed == nil {
			return fault.New(fault.Retry, "read "+c.captured.Changes.String(), errors.New("rows vanished while they were read"), "")
		}
		c.take(result.page)
		if c.page.More && c.page.Failed == nil {
			m.fetch(c)
		}
		if c.skipPublished(); c.at < len(c.page.Events) {
			heap.Push(&m.heads, c)
			return nil
		}
	}
}

// classify ends the merge on errors that pass by themselves and only the table on others.
func (m *Merge) classify(c *cursor, err error) error {
	var own *change.TableError
	if errors.As(TableFault(c.captured.Table.ID, err), &own) {
		m.leave(c, err)
		return nil
	}
	return err
}

func (m *Merge) leave(c *cursor, err error) {
	if err != nil {
		m.failed = append(m.failed, &change.TableError{Table: c.captured.Table.ID, Err: err})
	}
}

func (m *Merge) count(c *cursor, page *Page) {
	for policy, n := range page.Skipped {
		of := m.skips[c.captured.Table.ID]
		if of == nil {
			of = make(map[string]int)
			m.skips[c.captured.Table.ID] = of
		}
		of[policy] += n
	}
}

// Failures gives the tables that have failed since the last call.
func (m *Merge) Failures() []*change.TableError {
	out := m.failed
	m.failed = nil
	return out
}

// Skipped gives, by table and policy, how many rows a source policy has left out so far.
func (m *Merge) Skipped() map[change.TableID]map[string]int { return m.skips }

// Drop leaves out the rest of a table whose last event could not be used.
func (m *Merge) Drop(id change.TableID) {
	for i, c := range m.heads {
		if c.captured.Table.ID == id {
			heap.Remove(&m.heads, i)
			break
		}
	}
	if m.last != nil && m.last.page != nil && m.last.captured.Table.ID == id {
		m.last = &cursor{}
	}
}

// Close ends the reading and waits for it.
func (m *Merge) Close() {
	m.cancel()
	m.work.Wait()
}

// fetch reads the cursor's next page in the background.
func (m *Merge) fetch(c *cursor) {
	result := make(chan pageResult, 1)
	c.next = result
	after := c.after
	m.work.Add(1)
	go func() {
		defer m.work.Done()
		select {
		case m.poller.slots <- struct{}{}:
			defer func() { <-m.poller.slots }()
			page, err := m.poller.layout.Page(m.ctx, c.captured, after, c.upto, m.poller.options.PageRows)
			result <- pageResult{page, err}
		case <-m.ctx.Done():
			result <- pageResult{nil, m.ctx.Err()}
		}
	}()
}

type pageResult struct {
	page *Page
	err  error
}

// cursor is one table being read.
type cursor struct {
	reading
	order int // breaks ties between tables
	page  *Page
	at    int
	next  chan pageResult
}

func (c *cursor) event() *change.Event { return &c.page.Events[c.at] }

func (c *cursor) take(page *Page) {
	c.page, c.at = page, 0
	if n := len(page.Events); n > 0 {
		c.after = page.Events[n-1].Position
	}
}

// skipPublished passes events that the look-back knows as published.
func (c *cursor) skipPublished() {
	for c.skip != nil && c.at < len(c.page.Events) && c.skip[c.event().Position] > 0 {
		c.skip[c.event().Position]--
		c.at++
	}
}

// cursors is a heap by the position of each cursor's event.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }

func (h cursors) Less(i, j int) bool {
	a, b := h[i].event().Position, h[j].event().Position
	return a < b || a == b && h[i].order < h[j].order
}

func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a cursor, for package heap.
func (h *cursors) Push(x any) { *h = append(*h, x.(*cursor)) }

// Pop takes the last cursor, for package heap.
func (h *cursors) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}
