package source

import (
	"sync"
	"unsafe"

	"ctbridge/bridge/change"
)

// Page is a run of events of one table. Its events and their bytes live as long as it does.
type Page struct {
	Events []change.Event
	More   bool // rows may remain up to the asked position
	Cut    bool // it ended at its byte limit
	Arena  change.Arena
	// Passed is where reading goes on where a filter or a policy may have left rows out: every row up to it is an event of the page or was left out. Empty
	// where nothing is left out, or where the last event tells.
	Passed change.Position
	// Skipped counts rows left out by a policy the user chose, by the policy's name (I3).
	Skipped map[string]int
	// Failed is the error that ended the page early: the event after the last one cannot be read (fault.Poison). The events before it
	// are good, or with Captured.KeepBad bad ones; what cannot even be put in order always ends the page.
	Failed error
}

// DefaultPageBytes bounds the memory of one page (I10).
const DefaultPageBytes = 4 << 20

// SkippedFilter is the policy under which rows are counted that a filter leaves out.
const SkippedFilter = "filter"

// Skip counts rows that a policy left out of the page.
func (p *Page) Skip(policy string, n int) {
	if p.Skipped == nil {
		p.Skipped = make(map[string]int)
	}
	p.Skipped[policy] += n
}

// eventLists are lists of events of released pages.
var eventLists = sync.Pool{New: func() any { return new([]change.Event) }}

// smallPage is how many events are not worth a list from the pool.
const smallPage = 64

// Room makes room for so many events in an empty page.
func (p *Page) Room(n int) {
	if n <= smallPage {
		p.Events = make([]change.Event, 0, n)
		return
	}
	list := eventLists.Get().(*[]change.Event)
	if p.Events = (*list)[:0]; cap(p.Events) < n {
		p.Events = make([]change.Event, 0, n)
	}
}

// release gives the page's memory to others: neither its events nor anything that they point to may be used any more.
func (p *Page) release() {
	p.Arena.Release()
	clear(p.Events)
	if cap(p.Events) > smallPage {
		list := p.Events[:0]
		eventLists.Put(&list)
	}
	p.Events = nil
}

// vanished tells that a page promises more rows without having got any further.
func (p *Page) vanished() bool {
	return p.More && len(p.Events) == 0 && p.Failed == nil && p.Passed == ""
}

// goesOn tells that another page follows.
func (p *Page) goesOn() bool { return p.More && p.Failed == nil && !p.vanished() }

// end is where the next page begins, for a page that began at a position.
func (p *Page) end(after change.Position) change.Position {
	if n := len(p.Events); n > 0 {
		after = p.Events[n-1].Position
	}
	return max(after, p.Passed)
}

// has tells that the event is one of the page's own.
func (p *Page) has(ev *change.Event) bool {
	if ev == nil || len(p.Events) == 0 {
		return false
	}
	first, at := uintptr(unsafe.Pointer(unsafe.SliceData(p.Events))), uintptr(unsafe.Pointer(ev))
	return at >= first && at < first+uintptr(len(p.Events))*unsafe.Sizeof(*ev)
}
