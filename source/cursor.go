package source

import (
	"cmp"
	"context"
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// fetch reads the cursor's pages in the background, one after the other: while the events of one are used, the next waits and the one after it is read.
func (m *Merge) fetch(c *cursor) {
	pages := make(chan pageResult, 1)
	c.next = pages
	read, first := c.reading, c.page == nil
	m.work.Go(func() {
		defer close(pages)
		for on := true; on; first = false {
			result := m.readInTurn(read, first)
			if on = result.err == nil && result.page.goesOn(); on {
				read.after = result.page.end(read.after)
			}
			if !deliver(m.ctx, pages, result) || !arrives(m.ctx, m.begun) {
				return
			}
		}
	})
}

// deliver and arrives report whether it came to that before the context ended.
func deliver(ctx context.Context, to chan<- pageResult, result pageResult) bool {
	select {
	case to <- result:
		return true
	case <-ctx.Done():
		return false
	}
}

func arrives(ctx context.Context, moment <-chan struct{}) bool {
	select {
	case <-moment:
		return true
	case <-ctx.Done():
		return false
	}
}

// nextPage waits for a cursor's next page.
func (m *Merge) nextPage(c *cursor) pageResult {
	if len(c.next) == 0 && m.Waits != nil {
		if err := m.Waits(); err != nil {
			return pageResult{err: err, ends: true}
		}
	}
	if result, more := <-c.next; more {
		return result
	}
	return pageResult{err: cmp.Or(m.ctx.Err(), errNoPage)}
}

var errNoPage = errors.New("no page follows")

// readInTurn reads one page when few enough others are being read.
func (m *Merge) readInTurn(r reading, first bool) pageResult {
	select {
	case m.poller.slots <- struct{}{}:
		defer func() { <-m.poller.slots }()
		return m.read(r, first)
	case <-m.ctx.Done():
		return pageResult{err: m.ctx.Err()}
	}
}

// read reads one page. That it was read under the captured structure is asked here, but for first pages: start asks for all of those.
func (m *Merge) read(r reading, first bool) pageResult {
	page, err := m.poller.layout.Page(m.ctx, r.captured, r.after, r.upto, m.poller.options.PageRows)
	if first || err != nil && fault.ClassOf(err) != fault.Table {
		return pageResult{page: page, err: err}
	}
	changed, failed := m.poller.layout.Changed(m.ctx, []*Captured{r.captured})
	switch {
	case failed != nil:
		return pageResult{err: failed}
	case changed[0]:
		return pageResult{err: &Restructured{r.captured.Changes}}
	}
	return pageResult{page: page, err: err}
}

type pageResult struct {
	page *Page
	err  error
	ends bool // the error is none of the table
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
	c.after = page.end(c.after)
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
