package source

import (
	"slices"
	"strings"

	"ctbridge/bridge/change"
)

// heads is a heap of cursors by the position of their events; ties go by the order of the tables. Positions lie in the heap itself: with a thousand
// tables each look at an event would be one at memory that no cache holds.
type heads []head

type head struct {
	position change.Position
	cursor   *cursor
}

func headOf(c *cursor) head { return head{c.event().Position, c} }

func (a *head) before(b *head) bool {
	order := strings.Compare(string(a.position), string(b.position))
	return order < 0 || order == 0 && a.cursor.order < b.cursor.order
}

func (h *heads) push(c *cursor) {
	*h = append(*h, headOf(c))
	h.up(len(*h)-1, headOf(c))
}

// moved puts the first cursor where its new event belongs.
func (h *heads) moved() { h.fix(0, headOf((*h)[0].cursor)) }

// drop removes a cursor by its place.
func (h *heads) drop(i int) {
	last := len(*h) - 1
	moved := (*h)[last]
	(*h)[last] = head{}
	*h = (*h)[:last]
	if i < last {
		h.fix(i, moved)
	}
}

// place finds the cursor of a table, -1 where there is none.
func (h heads) place(id change.TableID) int {
	return slices.IndexFunc(h, func(e head) bool { return e.cursor.captured.Table.ID == id })
}

// fix puts a head in the place of another one. Where tables take turns it belongs to the far end: the way there is looked for among the others alone,
// with half the comparisons, unless it can stay.
func (h heads) fix(i int, e head) {
	if child := h.least(i); child < 0 || !h[child].before(&e) {
		h.up(i, e)
		return
	}
	for child := h.least(i); child >= 0; child = h.least(i) {
		h[i] = h[child]
		i = child
	}
	h.up(i, e)
}

// least is the lower child of a place, -1 where it has none.
func (h heads) least(i int) int {
	child := 2*i + 1
	switch {
	case child >= len(h):
		return -1
	case child+1 < len(h) && h[child+1].before(&h[child]):
		return child + 1
	}
	return child
}

// up puts a head at a place or above it.
func (h heads) up(i int, e head) {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}
