package source_test

import (
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

func all(change.TableID) bool { return true }

// What a first look saw has settled when it has been there for as long as what a poll saw, and rows that came after it have not.
func TestGlanceBeginsToSettle(t *testing.T) {
	t.Parallel()
	m, c := newMemory("a"), newClock()
	s := newStage(t, nil, source.HorizonOptions{Policy: source.PolicySettle, Settle: time.Second}, c, m, m)
	m.show("a", 5)
	check(t, s.poller.Glance(t.Context(), all))
	c.Move(700 * time.Millisecond)
	m.show("a", 3, 7)
	s.upto("")
	if due := s.poller.Due(); due != 300*time.Millisecond {
		t.Errorf("due in %s, want 300ms", due)
	}
	c.Move(300 * time.Millisecond)
	s.upto(pos(5))
	if due := s.poller.Due(); due != 700*time.Millisecond {
		t.Errorf("due in %s, want 700ms", due)
	}
	c.Move(700 * time.Millisecond)
	s.upto(pos(7))
	if due := s.poller.Due(); due != 0 {
		t.Errorf("due in %s, want 0: nothing waits", due)
	}
}

// A table that is not polled, because it belongs to another shard or was refused, does not move the horizon.
func TestGlanceOfTablesThatAreNotPolled(t *testing.T) {
	t.Parallel()
	for _, of := range []func(change.TableID) bool{all, func(id change.TableID) bool { return id.Name != "b" }} {
		m, c := newMemory("a", "b"), newClock()
		s := newStage(t, nil, source.HorizonOptions{Policy: source.PolicySettle, Settle: time.Second}, c, m, m)
		m.show("a", 5)
		m.show("b", 9)
		check(t, s.poller.Glance(t.Context(), of))
		m.tables = m.tables[:1]
		c.Move(time.Second)
		s.upto(pos(5))
	}
}

// The first look takes the fence of its own moment: a writer that was open then holds its rows back.
func TestGlanceNeedsTheFence(t *testing.T) {
	t.Parallel()
	m, c, engine := newMemory("a"), newClock(), &fenced{fence: source.Fence{Done: 100, Next: 102}}
	s := newStage(t, engine, source.HorizonOptions{Policy: source.PolicyAuto, Settle: time.Second, MaxWait: time.Minute}, c, m, m)
	m.show("a", 4)
	check(t, s.poller.Glance(t.Context(), all))
	c.Move(time.Hour)
	s.upto("")
	if due := s.poller.Due(); due != 0 {
		t.Errorf("due in %s, want 0: a writer holds it", due)
	}
	engine.fence = source.Fence{Done: 102, Next: 103}
	s.upto(pos(4))
}

// Where nothing has to settle there is nothing to look at.
func TestGlanceWithoutSettle(t *testing.T) {
	t.Parallel()
	for _, o := range []source.HorizonOptions{{Policy: source.PolicySettle}, {Policy: source.PolicySnapshot, Settle: time.Second}} {
		m, c := newMemory("a"), newClock()
		s := newStage(t, &fenced{}, o, c, m, m)
		m.show("a", 5)
		check(t, s.poller.Glance(t.Context(), func(change.TableID) bool { t.Error("looked"); return true }))
	}
}
