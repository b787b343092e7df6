package source_test

import (
	"context"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/source"
)

// stage is one poller under a hand-moved clock, with one table "a" unless the test makes more.
type stage struct {
	*testing.T
	clock  *clock
	memory *memory
	poller *source.Poller
	after  map[string]change.Position
}

func newStage(t *testing.T, engine source.Engine, o source.HorizonOptions, clock *clock, layout source.Layout, m *memory) *stage {
	poller := source.NewPoller(engine, layout, source.Options{Horizon: o, PageRows: 10, Parallel: 1, Now: clock.Now})
	return &stage{T: t, clock: clock, memory: m, poller: poller, after: make(map[string]change.Position)}
}

// upto polls and checks the horizon.
func (s *stage) upto(want change.Position) {
	s.Helper()
	var asked []source.Progress
	for _, c := range s.memory.tables {
		asked = append(asked, source.Progress{Captured: c, After: s.after[c.Table.ID.Name], Recent: &checkpoint.Window{}})
	}
	w, err := s.poller.Poll(context.Background(), asked)
	if err != nil {
		s.Fatal(err)
	}
	if w.Upto != want {
		s.Fatalf("horizon %q, want %q", w.Upto, want)
	}
}

func TestHorizonSettle(t *testing.T) {
	t.Parallel()
	m, c := newMemory("a", "b"), newClock()
	s := newStage(t, nil, source.HorizonOptions{Policy: source.PolicySettle, Settle: time.Second}, c, m, m)
	m.show("a", 1, 5)
	s.upto("")
	c.Move(500 * time.Millisecond)
	m.show("a", 7)
	s.upto("")
	c.Move(500 * time.Millisecond)
	s.upto(pos(5)) // 7 has been visible for half a second only
	m.show("b", 6) // applied later, below 7
	c.Move(500 * time.Millisecond)
	s.upto(pos(7))
	c.Move(time.Hour)
	s.upto(pos(7))
}

func TestHorizonSettleZeroIsAtOnce(t *testing.T) {
	t.Parallel()
	m := newMemory("a")
	s := newStage(t, nil, source.HorizonOptions{Policy: source.PolicySettle}, newClock(), m, m)
	m.show("a", 3)
	s.upto(pos(3))
}

// Case 10: a row whose writer is still open holds back what was committed above it, but only as long as that writer lives.
func TestCase10_HorizonSnapshot(t *testing.T) {
	t.Parallel()
	m, engine := newMemory("a"), &fenced{fence: source.Fence{Done: 100, Next: 102}}
	s := newStage(t, engine, source.HorizonOptions{Policy: source.PolicySnapshot}, newClock(), m, m)
	m.show("a", 4) // writer 101; writer 100 is open and may hold 3
	s.upto("")
	engine.fence = source.Fence{Done: 101, Next: 103}
	s.upto("")
	m.show("a", 3)
	engine.fence = source.Fence{Done: 102, Next: 110}
	s.upto(pos(4))
}

func TestHorizonAutoNeedsFenceAndSettle(t *testing.T) {
	t.Parallel()
	m, c, engine := newMemory("a"), newClock(), &fenced{fence: source.Fence{Done: 1, Next: 2}}
	s := newStage(t, engine, source.HorizonOptions{Policy: source.PolicyAuto, Settle: time.Second, MaxWait: time.Minute}, c, m, m)
	m.show("a", 1)
	s.upto("")
	engine.fence = source.Fence{Done: 2, Next: 2}
	s.upto("")
	c.Move(time.Second)
	s.upto(pos(1))
}

// The control table is believed once it has moved; then it binds, until it has stood still for too long.
func TestHorizonAutoFollowsAMovingStatus(t *testing.T) {
	t.Parallel()
	m, c := newMemory("a"), newClock()
	s := newStage(t, nil, source.HorizonOptions{Policy: source.PolicyAuto, Settle: time.Second, MaxWait: time.Minute}, c, clocked{m}, m)
	m.applied = pos(1)
	m.show("a", 5)
	s.upto("")
	c.Move(time.Second)
	s.upto(pos(5)) // it has not moved yet: settle decides
	m.show("a", 9)
	m.applied = pos(7)
	c.Move(2 * time.Second)
	s.upto(pos(7)) // it moves: 9 is not applied everywhere
	c.Move(2 * time.Second)
	s.upto(pos(7))
	c.Move(time.Minute)
	s.upto(pos(9)) // it stood still for max_wait
}

func TestHorizonStatus(t *testing.T) {
	t.Parallel()
	m, c := newMemory("a"), newClock()
	s := newStage(t, nil, source.HorizonOptions{Policy: source.PolicyStatus, MaxWait: time.Minute}, c, clocked{m}, m)
	m.show("a", 5)
	s.upto("")
	m.applied = pos(4)
	s.upto(pos(4))
	m.applied = pos(8)
	s.upto(pos(5))
	m.show("a", 20)
	s.upto(pos(8))
	c.Move(2 * time.Minute)
	s.upto(pos(20))
}

func TestHorizonPartition(t *testing.T) {
	t.Parallel()
	m, c := newMemory("a"), newClock()
	s := newStage(t, nil, source.HorizonOptions{Policy: source.PolicyPartition, MaxWait: time.Second}, c, clocked{m}, m)
	m.show("a", 5, 15)
	s.upto("")
	m.closed = pos(9)
	s.upto(pos(9))
	c.Move(time.Hour)
	s.upto(pos(9)) // an open partition is never read, however long it stays open
}
