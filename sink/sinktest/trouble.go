package sinktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// A process that dies between Publish and Commit leaves no record and no entry.
func testCrash(t *testing.T, p Place) {
	if !p.ExactlyOnce {
		return
	}
	s, _ := open(t, p)
	publish(t, s, record(p.Topic, "k", "1"))
	commit(t, s, entry("a", "1"))
	for i := range 100 {
		publish(t, s, record(p.Topic, "k", fmt.Sprintf("lost %d", i)))
	}
	next, entries := open(t, p) // s is neither aborted nor closed
	expectEntries(t, entries, entry("a", "1"))
	expectValues(t, p, p.Topic, "k", "1")
	publish(t, next, record(p.Topic, "k", "2"))
	commit(t, next, entry("a", "2"))
	expectValues(t, p, p.Topic, "k", "1", "2")
}

func testSecond(t *testing.T, p Place) {
	if !p.Exclusive {
		return
	}
	first, _ := open(t, p)
	publish(t, first, record(p.Topic, "k", "first"))
	commit(t, first, entry("a", "first"))
	publish(t, first, record(p.Topic, "k", "lost"))
	second, entries := open(t, p)
	expectEntries(t, entries, entry("a", "first"))
	publish(t, second, record(p.Topic, "k", "second"))
	commit(t, second, entry("a", "second"))
	err := first.Commit(t.Context(), []checkpoint.Entry{entry("a", "lost")})
	if err == nil || fault.ClassOf(err) != fault.Fatal {
		t.Errorf("the first instance should have been stopped, got %v", err)
	}
	if err := first.Publish(t.Context(), record(p.Topic, "k", "lost")); err == nil {
		t.Error("the first instance publishes on")
	}
	if err := first.Abort(t.Context()); err != nil && fault.ClassOf(err) != fault.Fatal {
		t.Errorf("abort: %v", err)
	}
	publish(t, second, record(p.Topic, "k", "third"))
	commit(t, second, entry("a", "third"))
	expectValues(t, p, p.Topic, "k", "first", "second", "third")
	expectEntries(t, reopen(t, second), entry("a", "third"))
}

func testOrder(t *testing.T, p Place) {
	s, _ := open(t, p)
	const keys, rounds, perRound = 20, 5, 400
	want := map[string][]string{}
	for round := range rounds {
		for i := range perRound {
			key, value := fmt.Sprintf("key %d", i%keys), fmt.Sprintf("%d/%d", round, i)
			publish(t, s, record(p.Topic, key, value))
			want[key] = append(want[key], value)
		}
		commit(t, s, entry("round", fmt.Sprint(round)))
	}
	partition := map[string]int32{}
	got := map[string][]string{}
	for _, r := range read(t, p, p.Topic, rounds*perRound) {
		key := string(r.Key)
		if at, seen := partition[key]; seen && at != r.Partition {
			t.Fatalf("key %q is on partitions %d and %d", key, at, r.Partition)
		}
		partition[key] = r.Partition
		got[key] = append(got[key], string(r.Value))
	}
	for key := range want {
		if fmt.Sprint(got[key]) != fmt.Sprint(want[key]) {
			t.Errorf("key %q: readers see %v", key, got[key])
		}
	}
}

// What a record points to is the caller's again after Publish, and may be overwritten at once.
func testBytes(t *testing.T, p Place) {
	s, _ := open(t, p)
	const rounds = 20
	buffer := make([]byte, 0, 100)
	for round := range rounds {
		buffer = fmt.Appendf(buffer[:0], "round %d", round)
		publish(t, s, &change.Record{Table: parcel, Topic: p.Topic, Key: []byte("k"), Value: buffer, Headers: []change.Header{{Name: "h", Value: buffer}}})
		clear(buffer)
		if round%3 == 0 {
			commit(t, s)
		}
	}
	commit(t, s)
	for i, r := range read(t, p, p.Topic, rounds) {
		if want := fmt.Sprintf("round %d", i); string(r.Value) != want || string(r.Headers[0].Value) != want {
			t.Errorf("record %d: value %q, header %q", i, r.Value, r.Headers[0].Value)
		}
	}
}

// The case of the 1.6 MB note between two small rows: it is refused by name, and the small ones keep their order.
func testTooLarge(t *testing.T, p Place) {
	if p.MaxBytes == 0 {
		return
	}
	s, _ := open(t, p)
	publish(t, s, record(p.Topic, "k", "before"))
	big := &change.Record{Table: change.TableID{Schema: "shop", Name: "note"}, Topic: p.Topic, Key: []byte("k"), Value: make([]byte, p.MaxBytes)}
	err := s.Publish(t.Context(), big)
	var table *change.TableError
	if !errors.As(err, &table) || table.Table != big.Table || fault.ClassOf(err) != fault.Poison || fault.HintOf(err) == "" {
		t.Errorf("want a Poison error of table shop.note with a hint, got %v", err)
	}
	publish(t, s, record(p.Topic, "k", "after"))
	commit(t, s, entry("a", "1"))
	expectValues(t, p, p.Topic, "k", "before", "after")
}

func testNotOpen(t *testing.T, p Place) {
	s := p.New(t)
	if err := s.Abort(t.Context()); err != nil {
		t.Errorf("abort before open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close before open: %v", err)
	}
	if p.ExactlyOnce {
		if err := s.Publish(t.Context(), record(p.Topic, "k", "1")); err == nil {
			t.Error("publish without open succeeded")
		}
		if err := s.Commit(t.Context(), []checkpoint.Entry{entry("a", "1")}); err == nil {
			t.Error("commit without open succeeded")
		}
	}
}

// A call with a context that is over comes back soon, and the sink can be opened again.
func testCancelled(t *testing.T, p Place) {
	s, _ := open(t, p)
	publish(t, s, record(p.Topic, "k", "1"))
	commit(t, s, entry("a", "1"))
	publish(t, s, record(p.Topic, "k", "2"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	err := s.Commit(ctx, []checkpoint.Entry{entry("a", "2")})
	s.Abort(ctx)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("came back after %v", took)
	}
	entries := reopen(t, s)
	if err == nil {
		expectEntries(t, entries, entry("a", "2"))
	}
	if p.ExactlyOnce {
		want := map[string][]string{"1": {"1"}, "2": {"1", "2"}}[string(entries["a"])]
		expectValues(t, p, p.Topic, "k", want...)
	}
}

func testCloseOpen(t *testing.T, p Place) {
	s, _ := open(t, p)
	publish(t, s, record(p.Topic, "k", "1"))
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("close took %v", took)
	}
	if p.ExactlyOnce {
		expectValues(t, p, p.Topic, "k")
	}
}

func testManyTopics(t *testing.T, p Place) {
	s, _ := open(t, p)
	topics := make([]string, 20)
	for i := range topics {
		topics[i] = fmt.Sprintf("%s.%d", p.Topic, i)
	}
	if err := s.EnsureTopic(t.Context(), topics[0], change.DataTopic); err != nil {
		t.Fatal(err)
	}
	refused, err := s.EnsureTopics(t.Context(), append(topics, topics[1]), change.DataTopic) // one is there, one is named twice
	if err != nil || len(refused) > 0 {
		t.Fatalf("refused %v: %v", refused, err)
	}
	for _, topic := range topics {
		publish(t, s, record(topic, "k", topic))
	}
	commit(t, s, entry("a", "1"))
	for _, topic := range topics {
		expectValues(t, p, topic, "k", topic)
	}
}
