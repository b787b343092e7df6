package source_test

import (
	"testing"
	"time"

	"ctbridge/source"
)

// The low end is looked at when there is a reason, and then once: an idle table costs nothing, a table that was purged behind the reader one
// look, a busy one none while it keeps up.
func TestLowEndIsAskedSeldom(t *testing.T) {
	t.Parallel()
	m, c := newMemory("a"), newClock()
	r := newReader(m, c, source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySettle}, PageRows: 10, Parallel: 1})
	asked := func(what string, want int, rounds int, do func(n int)) {
		t.Helper()
		before := m.lowEnds
		for n := range rounds {
			c.Move(time.Second)
			if do != nil {
				do(n)
			}
			check(t, r.round())
		}
		if got := m.lowEnds - before; got != want {
			t.Errorf("%s: asked %d times, want %d", what, got, want)
		}
	}
	asked("first rows", 0, 1, func(int) { m.show("a", 1, 2) })
	asked("idle", 0, 100, nil)
	r.poller = source.NewPoller(nil, m, source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySettle}, PageRows: 10, Parallel: 1, Now: c.Now})
	asked("idle after a restart", 0, 100, nil)
	asked("busy", 0, 100, func(n int) { m.show("a", 3+n) })
	m.rows["a"] = m.rows["a"][50:]
	asked("purged in part", 0, 100, nil)
	m.rows["a"] = nil
	asked("purged altogether", 1, 100, nil)
	before := m.lowEnds
	m.show("a", 1)
	if err := r.round(); err != nil { // a reset: the reader of this test does not handle it
		t.Fatal(err)
	}
	if n := m.lowEnds - before; n != 1 {
		t.Errorf("asked %d times about a table that went back, want once", n)
	}
}
