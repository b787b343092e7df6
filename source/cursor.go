package source

import (
	"cmp"
	"context"
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// fetch reads the cursor's pages in the background, one after the other, so many ahead of those that were taken.
func (m *Merge) fetch(c *cursor) {
	pages, ahead := make(chan pageResult, m.ahead), make(chan struct{}, m.ahead)
	c.next, c.ahead = pages, ahead
	read, first := c.reading, c.page == nil
	m.work.Go(func() {
		defer close(pages)
		for on := true; on && deliver(m.ctx, ahead, struct{}{}); first = false {
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
func deliver[T any](ctx context.Context, to chan<- T, what T) bool {
	select {
	case to <- what:
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

// nextPage waits for a cursor's next page and its proof. Whoever uses the events is told before, once.
func (m *Merge) nextPage(c *cursor) pageResult {
	there := len(c.next) > 0
	if err := m.wait(there); err != nil {
		return pageResult{err: err, ends: true}
	}
	result, more := <-c.next
	if !more {
		return pageResult{err: cmp.Or(m.ctx.Err(), errNoPage)}
	}
	<-c.ahead
	if result.proof == nil {
		return result
	}
	if err := m.wait(!there || result.proof.there()); err != nil {
		return pageResult{err: err, ends: true}
	}
	if err := result.proof.await(m.ctx); err != nil {
		return pageResult{err: err}
	}
	return result
}

func (m *Merge) wait(there bool) error {
	if there || m.Waits == nil {
		return nil
	}
	return m.Waits()
}

var errNoPage = errors.New("no page follows")

// readInTurn reads one page when few enough others are being read.
func (m *Merge) readInTurn(r reading, first bool) pageResult {
	if !m.takeSlot() {
		return pageResult{err: m.ctx.Err()}
	}
	defer m.leaveSlot()
	return m.read(r, first)
}

// read reads one page. That it was read under the captured structure is asked from here on, but for first pages: start asks for all of those.
func (m *Merge) read(r reading, first bool) pageResult {
	page, err := m.poller.layout.Page(m.ctx, r.captured, r.after, r.upto, m.poller.options.PageRows)
	result := pageResult{page: page, err: err}
	if !first && (err == nil || fault.ClassOf(err) == fault.Table) {
		result.proof = m.prove(r.captured)
	}
	return result
}

type pageResult struct {
	page  *Page
	err   error
	proof *proof // that its structure is the captured one; nil = it is asked for elsewhere
	ends  bool   // the error is none of the table
}

// cursor is one table being read.
type cursor struct {
	reading
	order int // breaks ties between tables
	page  *Page
	at    int
	next  chan pageResult
	ahead chan struct{} // holds a token for every page that is read or waits
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
