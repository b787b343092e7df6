package source

import (
	"context"
	"errors"
	"sync"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Merge reads the tables of a window and gives their events in position order (I4). While the events of one page of a table are used, its
// next ones are read. Next belongs to one goroutine.
type Merge struct {
	poller *Poller
	cancel context.CancelFunc
	ctx    context.Context
	work   sync.WaitGroup
	begins []*cursor // those whose first pages are not there yet
	heads  heads
	last   *cursor // the cursor whose event was given last: it moves on at the next call
	failed []*change.TableError
	skips  map[change.TableID]map[string]int
	// Quiet is called between pages of which a filter has left out everything: reading goes on for long then without an event. nil = nobody asks. Its error
	// ends the merge.
	Quiet func() error
	// Waits is called when the next page is not there yet: whoever uses the events has time for something else. nil = nobody asks. Its error ends the merge.
	Waits func() error
	// Kept gives an event that is still used after the next one was asked for, nil for none. nil = there never is one.
	Kept   func() *change.Event
	pages  int
	ahead  int // pages of a table that are read before they are asked for
	proofs proofs
	begun  chan struct{} // closed when every table has its first page: reading ahead must not hold up those
	begin  func()
	spent  []*Page                            // used up in the last call of Next: their last events may still be in use
	passed map[change.TableID]change.Position // by table with a filter: rows up to there were given or left out
}

// Read starts reading a window. Close must be called.
func (p *Poller) Read(ctx context.Context, w *Window) *Merge {
	ctx, cancel := context.WithCancel(ctx)
	m := &Merge{poller: p, ctx: ctx, cancel: cancel, skips: make(map[change.TableID]map[string]int), passed: make(map[change.TableID]change.Position)}
	m.begun = make(chan struct{})
	m.begin = sync.OnceFunc(func() { close(m.begun) })
	var share int
	m.ahead, share = p.options.share(len(w.readings))
	for i := range w.readings {
		for r := &w.readings[i]; r != nil; r = r.then {
			r.captured.PageBytes, r.captured.KeepBad = max(share, minPageBytes), p.options.KeepBad
		}
		c := &cursor{reading: w.readings[i], order: i}
		m.fetch(c)
		m.begins = append(m.begins, c)
	}
	return m
}

// A page is at least so large, however many tables share the memory, and where pages of three to a table would be small, there are two to a table.
const (
	minPageBytes   = 16 << 10
	smallPageBytes = 256 << 10
)

// share divides the memory among the pages of so many tables. Of each one is in use, one waits and one is read. Many tables do without the one
// that waits, because there is always another table to read: their pages are larger by half, and fewer.
func (o Options) share(tables int) (ahead, pageBytes int) {
	if o.MaxBytes <= 0 || tables == 0 {
		return 2, DefaultPageBytes
	}
	if pageBytes = o.MaxBytes / (3 * tables); pageBytes < smallPageBytes {
		return 1, o.MaxBytes / (2 * tables)
	}
	return 2, min(pageBytes, DefaultPageBytes)
}

// start waits for the first page of every table and then asks the catalog once for all of them whether they were read under the structures
// that they were captured with.
func (m *Merge) start() error {
	waiting := m.begins
	m.begins = nil
	first := make([]pageResult, len(waiting))
	tables := make([]*Captured, len(waiting))
	for i, c := range waiting {
		first[i], tables[i] = m.nextPage(c), c.captured
	}
	m.begin()
	if len(tables) == 0 {
		return nil
	}
	changed, err := m.poller.layout.Changed(m.ctx, tables)
	if err != nil {
		return err
	}
	for i, c := range waiting {
		if changed[i] {
			first[i] = pageResult{err: &Restructured{c.captured.Changes}}
		}
		if err := m.turn(c, first[i]); err != nil {
			return err
		}
	}
	return nil
}

// Next gives the next event in order, nil at the end. A table that fails leaves the merge with a *change.TableError from Failures; an error
// returned here ends the merge.
//
// An event may be used until the call after the next one.
func (m *Merge) Next() (*change.Event, error) {
	m.reuse()
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
	m.last = m.heads[0].cursor
	return m.last.event(), nil
}

// reuse gives the memory of used up pages to the next ones.
func (m *Merge) reuse() {
	for i, page := range m.spent {
		if m.Kept == nil || !page.has(m.Kept()) {
			page.release()
		}
		m.spent[i] = nil
	}
	m.spent = m.spent[:0]
}

// move takes the cursor that gave the last event to its next one.
func (m *Merge) move() error {
	c := m.last
	c.at++
	if c.skipPublished(); c.at < len(c.page.Events) {
		m.heads.moved()
		return nil
	}
	m.heads.drop(0)
	m.spent = append(m.spent, c.page)
	if m.ended(c) {
		return nil
	}
	return m.turn(c, m.nextPage(c))
}

// ended tells that a cursor has nothing more to give, and lets its table leave. A table whose rows go on under its next structure does
// not.
func (m *Merge) ended(c *cursor) bool {
	switch {
	case c.page.Failed != nil:
		m.leave(c, c.page.Failed)
		return true
	case c.page.Passed != "":
		m.passed[c.captured.Table.ID] = c.page.Passed
	}
	switch {
	case c.page.More:
		return false
	case c.then == nil:
		m.leave(c, nil)
		return true
	}
	c.reading = *c.then
	m.fetch(c)
	return false
}

// turn gives a cursor a page and puts it back into the heap. When there is nothing in the page it waits for the next, or lets the table
// leave.
func (m *Merge) turn(c *cursor, result pageResult) error {
	for {
		switch {
		case result.ends:
			return result.err
		case result.err != nil:
			return m.classify(c, result.err)
		}
		m.count(c, result.page)
		if result.page.vanished() {
			return fault.New(fault.Retry, "read "+c.captured.Changes.String(), errors.New("rows vanished while they were read"), "")
		}
		c.take(result.page)
		m.pages++
		if c.skipPublished(); c.at < len(c.page.Events) {
			m.heads.push(c)
			return nil
		}
		if m.ended(c) {
			return nil
		}
		if m.Quiet != nil && c.page.Passed != "" {
			if err := m.Quiet(); err != nil {
				return err
			}
		}
		result = m.nextPage(c)
	}
}

// classify ends the merge on errors that pass by themselves and only the table on others.
func (m *Merge) classify(c *cursor, err error) error {
	var own *change.TableError
	var changed *Restructured
	if errors.As(err, &changed) {
		m.leave(c, err)
		return nil
	}
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

// Pages counts the pages so far.
func (m *Merge) Pages() int { return m.pages }

// Failures gives the tables that have failed since the last call.
func (m *Merge) Failures() []*change.TableError {
	out := m.failed
	m.failed = nil
	return out
}

// Skipped gives, by table and policy, how many rows a source policy has left out so far.
func (m *Merge) Skipped() map[change.TableID]map[string]int { return m.skips }

// Passed gives, by table with a filter, up to where all rows have been given or left out.
func (m *Merge) Passed() map[change.TableID]change.Position { return m.passed }

// Drop leaves out the rest of a table whose last event could not be used.
func (m *Merge) Drop(id change.TableID) {
	if i := m.heads.place(id); i >= 0 {
		m.heads.drop(i)
	}
	if m.last != nil && m.last.page != nil && m.last.captured.Table.ID == id {
		m.last = &cursor{}
	}
}

// Close ends the reading and waits for it. No event may be used any more but the kept one.
func (m *Merge) Close() {
	m.cancel()
	m.work.Wait()
	m.reuse()
}
