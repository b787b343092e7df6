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

// A table that has started anew and grown beyond the position between two polls is found by the look-back: its rows are not late.
func TestLookBackTellsAResetFromLateRows(t *testing.T) {
	t.Parallel()
	m, c := newMemory("a"), newClock()
	r := newReader(m, c, source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySettle}, PageRows: 10, Parallel: 1, Lookback: time.Hour, CheckEach: time.Nanosecond})
	m.show("a", 5, 6, 7)
	check(t, r.round())
	c.Move(time.Second)
	m.rows["a"] = nil
	m.show("a", 1, 2, 9)
	w := r.poll(t)
	if got := w.Newest[0].Reset; got == nil || *got != (source.Reset{Kind: source.ResetRewound, From: pos(1), To: pos(7)}) || !w.Empty() {
		t.Fatalf("%+v, window empty %v; want a rewound source and nothing to read", got, w.Empty())
	}
	m.rows["a"] = nil
	m.show("a", 4, 5, 6, 7, 9)
	c.Move(time.Second)
	if w := r.poll(t); w.Newest[0].Reset != nil || w.Empty() {
		t.Fatalf("a late row: %+v, window empty %v", w.Newest[0].Reset, w.Empty())
	}
}
