package sinktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// overlapping is bridge.Overlapping.
type overlapping interface {
	CommitBehind(ctx context.Context, entries []checkpoint.Entry) (settled func(context.Context) (time.Time, error), err error)
}

// commitBehind begins a commit beside the next round; a sink that cannot do that commits at once.
func commitBehind(t *testing.T, s Sink, entries ...checkpoint.Entry) (settle func()) {
	t.Helper()
	o, can := s.(overlapping)
	if !can {
		commit(t, s, entries...)
		return func() {}
	}
	settled, err := o.CommitBehind(t.Context(), entries)
	if err != nil {
		t.Fatalf("commit behind: %v", err)
	}
	return func() {
		t.Helper()
		if _, err := settled(t.Context()); err != nil {
			t.Fatalf("settle: %v", err)
		}
	}
}

// What is published beside a commit belongs to the next one: it is not seen before, nor does the first one wait for it.
func testBehind(t *testing.T, p Place) {
	s, _ := open(t, p)
	publish(t, s, record(p.Topic, "k", "1"), record(p.Topic, "k", "2"))
	settle := commitBehind(t, s, entry("position", "2"))
	publish(t, s, record(p.Topic, "k", "3"), record(p.Topic, "k", "4"))
	if p.ExactlyOnce {
		expectValues(t, p, p.Topic, "k", "1", "2")
	}
	settle()
	commit(t, s, entry("position", "4"))
	expectValues(t, p, p.Topic, "k", "1", "2", "3", "4")
	expectEntries(t, reopen(t, s), entry("position", "4"))
}

// Aborted beside a commit, the next round is gone; the commit is done or not, with its entries.
func testBehindAborted(t *testing.T, p Place) {
	if !p.ExactlyOnce {
		t.Skip("records are seen at once")
	}
	for i := range 5 {
		topic := fmt.Sprintf("%s-%d", p.Topic, i)
		s, _ := open(t, p)
		publish(t, s, record(topic, "k", "kept or not"))
		commitBehind(t, s, entry(topic, "done"))
		publish(t, s, record(topic, "k", "never seen"))
		if err := s.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		done := reopen(t, s)[topic] != nil
		publish(t, s, record(topic, "k", "last"))
		commit(t, s)
		if done {
			expectValues(t, p, topic, "k", "kept or not", "last")
		} else {
			expectValues(t, p, topic, "k", "last")
		}
		s.Close()
	}
}

// Many rounds, each begun beside the commit of the one before, keep every record once and in order; their bytes may be used again once settled.
func testBehindManyRounds(t *testing.T, p Place) {
	s, _ := open(t, p)
	const rounds, perRound, keys = 60, 150, 7
	settle := func() {}
	var slabs [2][]byte
	for round := range rounds {
		slab := slabs[round%2][:0]
		for i := range perRound {
			n := round*perRound + i
			start := len(slab)
			slab = fmt.Appendf(slab, "%06d", n)
			publish(t, s, &change.Record{Table: parcel, Topic: p.Topic, Key: fmt.Appendf(nil, "k%d", n%keys), Value: slab[start:len(slab):len(slab)]})
		}
		settle()
		for i := range slabs[(round+1)%2] {
			slabs[(round+1)%2][i] = '#'
		}
		slabs[round%2] = slab
		settle = commitBehind(t, s, entry("round", fmt.Sprint(round)))
	}
	settle()
	expectEntries(t, reopen(t, s), entry("round", fmt.Sprint(rounds-1)))
	for key, got := range values(t, p, p.Topic, rounds*perRound) {
		for i, value := range got {
			if want := fmt.Sprintf("%06d", i*keys+int(key[1]-'0')); value != want {
				t.Fatalf("key %s: record %d is %s, want %s", key, i, value, want)
			}
		}
		if want := (rounds*perRound + keys - 1 - int(key[1]-'0')) / keys; len(got) != want {
			t.Errorf("key %s: %d records, want %d", key, len(got), want)
		}
	}
}
