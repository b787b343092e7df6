package source

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

// headsModel is what the heap holds, as a list.
type headsModel struct {
	heap heads
	list []*cursor
}

// draw makes a page of one event; positions come again, so that ties are met.
func draw(t *rapid.T) *Page {
	at := rapid.IntRange(0, 20).Draw(t, "position")
	return &Page{Events: []change.Event{{Position: change.Position(fmt.Sprintf("%04d", at))}}}
}

func (m *headsModel) check(t *rapid.T) {
	if len(m.heap) != len(m.list) {
		t.Fatalf("%d in the heap, %d in the list", len(m.heap), len(m.list))
	}
	slices.SortFunc(m.list, func(a, b *cursor) int {
		if x, y := headOf(a), headOf(b); x.before(&y) {
			return -1
		}
		return 1
	})
	if len(m.list) > 0 && m.heap[0].cursor != m.list[0] {
		t.Fatalf("first is %s of %d, want %s of %d", m.heap[0].position, m.heap[0].cursor.order, m.list[0].event().Position, m.list[0].order)
	}
}

// The first head is always that of the lowest position, and of the first table among equals, whatever was pushed, moved on and dropped.
func TestHeadsAreInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &headsModel{}
		for order := range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
			case step < 2 || len(m.list) == 0:
				c := &cursor{order: order, page: draw(t)}
				m.list = append(m.list, c)
				m.heap.push(c)
			case step < 5:
				m.heap[0].cursor.page = draw(t)
				m.heap.moved()
			default:
				at := rapid.IntRange(0, len(m.heap)-1).Draw(t, "at")
				gone := m.heap[at].cursor
				m.heap.drop(at)
				m.list = slices.DeleteFunc(m.list, func(c *cursor) bool { return c == gone })
			}
			m.check(t)
		}
	})
}
