// Package sinktest is the conformance suite of sinks: every implementation passes the parts that its delivery promises.
package sinktest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// Sink is bridge.Sink.
type Sink interface {
	Open(ctx context.Context) (map[string][]byte, error)
	EnsureTopic(ctx context.Context, name string, role change.TopicRole) error
	EnsureTopics(ctx context.Context, names []string, role change.TopicRole) (refused map[string]error, err error)
	Publish(ctx context.Context, r *change.Record) error
	Commit(ctx context.Context, entries []checkpoint.Entry) error
	Abort(ctx context.Context) error
	Close() error
}

// Place is where records go.
type Place struct {
	Topic string // a name that is free
	// New gives a sink for the place, as a fresh process would have it.
	New func(t *testing.T) Sink
	// Read gives the records of a topic that its readers see by now, in order within each partition.
	Read func(t *testing.T, topic string) []Record

	ExactlyOnce bool // records and checkpoint become visible together
	Exclusive   bool // a second instance stops the first
	MaxBytes    int  // a record of that size is refused; 0 = no limit
}

// Record is what a reader sees.
type Record struct {
	Partition  int32
	Key, Value []byte
	Headers    []change.Header
	Timestamp  time.Time
}

// Run runs the suite; each test gets a new place.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"Content":             testContent,
		"Checkpoint":          testCheckpoint,
		"NothingToCommit":     testNothing,
		"OnlyEntries":         testOnlyEntries,
		"HiddenUntilCommit":   testHidden,
		"AbortLeavesNothing":  testAbort,
		"CrashLeavesNothing":  testCrash,
		"SecondInstance":      testSecond,
		"OrderPerKey":         testOrder,
		"BytesAreReturned":    testBytes,
		"TooLarge":            testTooLarge,
		"NotOpen":             testNotOpen,
		"CancelledContext":    testCancelled,
		"CloseWithOpenRound":  testCloseOpen,
		"ManyTopicsInOneTurn": testManyTopics,
		"Behind":              testBehind,
		"BehindAborted":       testBehindAborted,
		"BehindManyRounds":    testBehindManyRounds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

func open(t *testing.T, p Place) (Sink, map[string][]byte) {
	t.Helper()
	s := p.New(t)
	t.Cleanup(func() { s.Close() })
	return s, reopen(t, s)
}

func reopen(t *testing.T, s Sink) map[string][]byte {
	t.Helper()
	entries, err := s.Open(t.Context())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return entries
}

func publish(t *testing.T, s Sink, records ...*change.Record) {
	t.Helper()
	for _, r := range records {
		if err := s.Publish(t.Context(), r); err != nil {
			t.Fatalf("publish: %v", err)
		}
	}
}

func commit(t *testing.T, s Sink, entries ...checkpoint.Entry) {
	t.Helper()
	if err := s.Commit(t.Context(), entries); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func entry(key, value string) checkpoint.Entry {
	return checkpoint.Entry{Key: key, Value: []byte(value)}
}

var parcel = change.TableID{Schema: "shop", Name: "parcel"}

func record(topic, key, value string) *change.Record {
	return &change.Record{Table: parcel, Topic: topic, Key: []byte(key), Value: []byte(value)}
}

// visible is how long committed records may take to be seen: brokers answer a commit before they have told every partition of it.
const visible = 10 * time.Second

// read gives the records that readers see, waiting for n of them.
func read(t *testing.T, p Place, topic string, n int) []Record {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(visible); ; <-ticker.C {
		if got := p.Read(t, topic); len(got) >= n || time.Now().After(end) {
			return got
		}
	}
}

// values gives the values that readers see, by key, waiting for n of them.
func values(t *testing.T, p Place, topic string, n int) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, r := range read(t, p, topic, n) {
		out[string(r.Key)] = append(out[string(r.Key)], string(r.Value))
	}
	return out
}

// expectValues expects the topic to hold these values, all of one key.
func expectValues(t *testing.T, p Place, topic, key string, want ...string) {
	t.Helper()
	if got := values(t, p, topic, len(want))[key]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("topic %s key %s: readers see %v, want %v", topic, key, got, want)
	}
}

func expectEntries(t *testing.T, got map[string][]byte, want ...checkpoint.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("entries %q, want %q", got, want)
	}
	for _, e := range want {
		if found, ok := got[e.Key]; !ok || !bytes.Equal(found, e.Value) {
			t.Errorf("entry %q is %q, want %q", e.Key, found, e.Value)
		}
	}
}

func testContent(t *testing.T, p Place) {
	s, _ := open(t, p)
	at := time.Date(2024, 2, 29, 23, 59, 59, 123e6, time.UTC)
	want := []*change.Record{
		{Table: parcel, Topic: p.Topic, Key: []byte("1"), Value: []byte("text"), Timestamp: at},
		{Table: parcel, Topic: p.Topic, Key: []byte("1"), Value: []byte{0, 0xff, 0}, Headers: []change.Header{{Name: "a", Value: []byte("1")}, {Name: "", Value: []byte{}}, {Name: "größe", Value: nil}}},
		{Table: parcel, Topic: p.Topic, Key: []byte("1"), Value: nil},
		{Table: parcel, Topic: p.Topic, Key: []byte("1"), Value: []byte{}},
		{Table: parcel, Topic: p.Topic, Key: nil, PartitionBy: []byte("1"), Value: []byte("no key")},
	}
	publish(t, s, want...)
	commit(t, s)
	got := read(t, p, p.Topic, len(want))
	if len(got) != len(want) {
		t.Fatalf("readers see %d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if !same(g.Key, w.Key) || !same(g.Value, w.Value) || fmt.Sprintf("%q", g.Headers) != fmt.Sprintf("%q", w.Headers) || g.Partition != got[0].Partition {
			t.Errorf("record %d: readers see %+v, want %+v", i, g, *w)
		}
	}
	if !got[0].Timestamp.Equal(at) {
		t.Errorf("timestamp %v, want %v", got[0].Timestamp, at)
	}
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func testCheckpoint(t *testing.T, p Place) {
	s, entries := open(t, p)
	expectEntries(t, entries)
	publish(t, s, record(p.Topic, "k", "1"))
	commit(t, s, entry("a", "1"), entry("b", "1"), entry("c", "1"))
	publish(t, s, record(p.Topic, "k", "2"))
	commit(t, s, entry("a", "2"), checkpoint.Entry{Key: "b"})
	expectEntries(t, reopen(t, s), entry("a", "2"), entry("c", "1"))
	s.Close()
	_, entries = open(t, p)
	expectEntries(t, entries, entry("a", "2"), entry("c", "1"))
	expectValues(t, p, p.Topic, "k", "1", "2")
}

func testNothing(t *testing.T, p Place) {
	s, _ := open(t, p)
	commit(t, s)
	commit(t, s)
	publish(t, s, record(p.Topic, "k", "1"))
	commit(t, s)
	commit(t, s)
	expectValues(t, p, p.Topic, "k", "1")
}

func testOnlyEntries(t *testing.T, p Place) {
	s, _ := open(t, p)
	for i := range 5 {
		commit(t, s, entry("a", fmt.Sprint(i)))
	}
	expectEntries(t, reopen(t, s), entry("a", "4"))
}

func testHidden(t *testing.T, p Place) {
	if !p.ExactlyOnce {
		return
	}
	s, _ := open(t, p)
	publish(t, s, record(p.Topic, "k", "first"))
	commit(t, s)
	for i := range 500 {
		publish(t, s, record(p.Topic, "k", fmt.Sprint(i)))
	}
	expectValues(t, p, p.Topic, "k", "first")
	commit(t, s)
	if n := len(values(t, p, p.Topic, 501)["k"]); n != 501 {
		t.Errorf("readers see %d records, want 501", n)
	}
}

func testAbort(t *testing.T, p Place) {
	s, _ := open(t, p)
	publish(t, s, record(p.Topic, "k", "1"))
	commit(t, s, entry("a", "1"))
	publish(t, s, record(p.Topic, "k", "given up"))
	if err := s.Abort(t.Context()); err != nil {
		t.Errorf("abort: %v", err)
	}
	expectEntries(t, reopen(t, s), entry("a", "1"))
	publish(t, s, record(p.Topic, "k", "2"))
	commit(t, s, entry("a", "2"))
	expectEntries(t, reopen(t, s), entry("a", "2"))
	if p.ExactlyOnce {
		expectValues(t, p, p.Topic, "k", "1", "2")
	}
}
