package checkpoint

import (
	"fmt"
	"sort"
	"time"

	"ctbridge/bridge/change"
)

// Window remembers the positions of a table that were published not long ago. A row that becomes visible below the table's position is
// found by comparing the change table with it. It is kept in segments: a full segment is written once and deleted when it has
// expired, so that a commit writes only the open one.
type Window struct {
	floor    change.Position // what lies at or below is final
	segments []*segment      // oldest first; the last one is open
	next     int             // id of the next segment
	passes   []pass          // positions that the table came to without publishing, oldest first; a restart forgets them
	gone     []int           // segments to delete from the store
}

// pass is a position behind rows that a filter has left out.
type pass struct {
	at   change.Position
	when time.Time
}

// mostPasses bounds them; where there are more, every other is forgotten, which makes the look-back longer, never shorter.
const mostPasses = 64

// Floor is the position at or below which the window knows nothing.
func (w *Window) Floor() change.Position { return w.floor }

// Pass notes that the table has come to a position without publishing: rows that turn up below it are late all the same, until it has expired.
func (w *Window) Pass(p change.Position, now time.Time) {
	if len(w.passes) == mostPasses {
		for i := range mostPasses / 2 {
			w.passes[i] = w.passes[2*i+1]
		}
		w.passes = w.passes[:mostPasses/2]
	}
	w.passes = append(w.passes, pass{p, now})
}

// Empty tells that there is nothing above the floor that a late row could lie below.
func (w *Window) Empty() bool { return len(w.passes) == 0 && w.Rows() == 0 }

// Bare tells that nothing is held at all.
func (w *Window) Bare() bool { return len(w.segments) == 0 && len(w.passes) == 0 }

// Rows is how many published events lie above the floor.
func (w *Window) Rows() int {
	n := 0
	for _, s := range w.segments {
		n += s.above(w.floor)
	}
	return n
}

// Size is how many positions are held in memory.
func (w *Window) Size() int {
	n := 0
	for _, s := range w.segments {
		n += s.rows
	}
	return n
}

// Counts gives how often each position above the floor was published.
func (w *Window) Counts() map[change.Position]int {
	out := make(map[change.Position]int)
	for _, s := range w.segments {
		_ = decodePositions(s.coded, func(p []byte) { // that it can be decoded was seen when it came
			if string(p) > string(w.floor) {
				out[change.Position(p)]++
			}
		})
	}
	return out
}

// Add notes a published event.
func (w *Window) Add(p change.Position, now time.Time) {
	s := w.open()
	s.add(p)
	s.newest, s.dirty = now, true
}

func (w *Window) open() *segment {
	if n := len(w.segments); n > 0 && w.segments[n-1].rows < segmentSize {
		return w.segments[n-1]
	}
	w.segments = append(w.segments, &segment{id: w.next})
	w.next++
	return w.segments[len(w.segments)-1]
}

// Expire gives up segments that were filled before a moment, and the oldest ones while more than most positions are held.
func (w *Window) Expire(before time.Time, most int) {
	size := w.Size()
	for len(w.segments) > 0 && (w.segments[0].newest.Before(before) || size > most) {
		size -= w.drop()
	}
	for len(w.passes) > 0 && w.passes[0].when.Before(before) {
		w.floor, w.passes = max(w.floor, w.passes[0].at), w.passes[1:]
	}
}

// Shrink gives up the oldest segments of all windows while these hold more than most positions together, so that the number of tables
// does not multiply the memory of the look-back (I10).
func Shrink(windows []*Window, most int) {
	size := 0
	for _, w := range windows {
		size += w.Size()
	}
	for size > most {
		var oldest *Window
		for _, w := range windows {
			if len(w.segments) > 0 && (oldest == nil || w.segments[0].newest.Before(oldest.segments[0].newest)) {
				oldest = w
			}
		}
		size -= oldest.drop()
	}
}

// drop gives up the oldest segment and returns how many positions it held.
func (w *Window) drop() int {
	s := w.segments[0]
	w.floor = max(w.floor, s.most)
	w.gone = append(w.gone, s.id)
	w.segments = w.segments[1:]
	return s.rows
}

// Forget replaces what is known above the floor by what the change table holds now, after rows were purged from it.
func (w *Window) Forget(floor change.Position) {
	w.floor = max(w.floor, floor)
	w.Expire(time.Time{}, 0)
}

// Restart forgets everything and sets the floor, also downwards.
func (w *Window) Restart(floor change.Position) {
	w.Expire(time.Time{}, 0)
	w.floor, w.passes = floor, nil
}

// entries appends the store entries of what changed since the last call.
func (w *Window) entries(dst []Entry, prefix string) []Entry {
	for _, id := range w.gone {
		dst = append(dst, Entry{Key: fmt.Sprintf("%s%d", prefix, id)})
	}
	w.gone = nil
	for _, s := range w.segments {
		if s.dirty {
			dst = append(dst, Entry{Key: fmt.Sprintf("%s%d", prefix, s.id), Value: s.encode()})
			s.dirty = false
		}
	}
	return dst
}

// load adds a stored segment. Its rows count as just seen: a restart must not shorten the look-back.
func (w *Window) load(id int, value []byte, now time.Time) error {
	s, err := decodeSegment(id, value, now)
	if err != nil {
		return err
	}
	w.segments = append(w.segments, s)
	sort.Slice(w.segments, func(i, j int) bool { return w.segments[i].id < w.segments[j].id })
	w.next = max(w.next, id+1)
	return nil
}
