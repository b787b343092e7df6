package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/fault"
	"ctbridge/sink/embedded"
	"ctbridge/sink/kafka"
	"ctbridge/sink/sinktest"
)

var parcel = change.TableID{Schema: "shop", Name: "parcel"}

func record(topic, key, value string) *change.Record {
	return &change.Record{Table: parcel, Topic: topic, Key: []byte(key), Value: []byte(value)}
}

// history publishes numbered records of several keys as the runner does: after an error it aborts, opens and goes on behind the checkpoint.
type history struct {
	sink  sinktest.Sink
	topic string
	next  int // number of the next record
	falls int // how often it started again
}

const historyKeys = 7

func (h *history) round(ctx context.Context, records int) error {
	for range records {
		if err := h.sink.Publish(ctx, record(h.topic, fmt.Sprint(h.next%historyKeys), fmt.Sprint(h.next))); err != nil {
			return err
		}
		h.next++
	}
	return h.sink.Commit(ctx, []checkpoint.Entry{{Key: "next", Value: []byte(fmt.Sprint(h.next))}})
}

// publish brings out all records up to total.
func (h *history) publish(t *testing.T, total, perRound int) {
	t.Helper()
	for h.next < total {
		err := h.round(t.Context(), min(perRound, total-h.next))
		if err == nil {
			continue
		}
		if class := fault.ClassOf(err); class != fault.Retry {
			t.Fatalf("class %v: %v", class, err)
		}
		t.Logf("record %d: %v", h.next, err)
		h.falls++
		h.reopen(t)
	}
}

func (h *history) reopen(t *testing.T) {
	t.Helper()
	for {
		if err := h.sink.Abort(t.Context()); err != nil {
			t.Fatalf("abort: %v", err)
		}
		entries, err := h.sink.Open(t.Context())
		if err == nil {
			h.next = 0
			fmt.Sscan(string(entries["next"]), &h.next)
			return
		}
		if t.Context().Err() != nil || fault.ClassOf(err) != fault.Retry {
			t.Fatalf("open: %v", err)
		}
	}
}

// check reads the topic and compares it with what was published: per key in order, complete, and once (or at least once).
func (h *history) check(t *testing.T, c kafka.Config, total int, once bool) {
	t.Helper()
	seen := map[string][]int{}
	for _, r := range await(t, c, h.topic, total) {
		var n int
		fmt.Sscan(string(r.Value), &n)
		seen[string(r.Key)] = append(seen[string(r.Key)], n)
	}
	for key := range historyKeys {
		got := seen[fmt.Sprint(key)]
		if !once {
			got = firsts(got)
		}
		var want []int
		for n := key; n < total; n += historyKeys {
			want = append(want, n)
		}
		if !slices.Equal(got, want) {
			t.Errorf("key %d: %d records seen, %d expected; first difference at %d", key, len(got), len(want), difference(got, want))
		}
	}
}

// firsts leaves out what is seen again: after a new start records appear twice, in order.
func firsts(numbers []int) []int {
	var out []int
	seen := map[int]bool{}
	for _, n := range numbers {
		if !seen[n] {
			out = append(out, n)
		}
		seen[n] = true
	}
	return out
}

func difference(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// Connections break at any moment, with requests done whose answers are lost: nothing is lost, doubled or out of order.
func TestConnectionsCutAtRandom(t *testing.T) {
	sinks := map[string]func(t *testing.T, c kafka.Config) sinktest.Sink{
		"transactional": func(t *testing.T, c kafka.Config) sinktest.Sink { return transactional(t, c, "task.0", "checkpoint") },
		"idempotent":    func(t *testing.T, c kafka.Config) sinktest.Sink { return idempotent(t, c, &memory.Store{}) },
	}
	for kind, sink := range sinks {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var cut cutter
			c := kafka.Config{Brokers: broker(t, cut.option()).Brokers()}
			h := &history{sink: sink(t, c), topic: "parcel"}
			open(t, h.sink)
			if err := h.sink.EnsureTopic(t.Context(), h.topic, change.DataTopic); err != nil {
				t.Fatal(err)
			}
			const total = 200_000
			stop := cut.keepCutting(3 * time.Millisecond)
			h.publish(t, total, 3000)
			stop()
			h.check(t, c, total, kind == "transactional" || h.falls == 0)
			t.Logf("%d cuts, %d new starts", cut.cuts.Load(), h.falls)
			if cut.cuts.Load() < 5 {
				t.Errorf("only %d connections were cut", cut.cuts.Load())
			}
			if kind == "idempotent" && h.falls > 0 {
				t.Errorf("the idempotent sink gave up %d times", h.falls)
			}
		})
	}
}

// Leaders move and brokers answer with errors that pass.
func TestPassingErrors(t *testing.T) {
	faults := map[string]*kerr.Error{
		"not leader":                       kerr.NotLeaderForPartition,
		"timed out after append":           kerr.RequestTimedOut,
		"not enough replicas after append": kerr.NotEnoughReplicasAfterAppend,
	}
	for name, code := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := broker(t, kfake.NumBrokers(3))
			c := kafka.Config{Brokers: servers.Brokers()}
			h := &history{sink: transactional(t, c, "task.0", "checkpoint"), topic: "parcel"}
			open(t, h.sink)
			n := 0
			handle := servers.Cluster().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "parcel", Err: code, Count: -1, When: func(kmsg.Request) bool {
				n++
				return n%5 == 0
			}})
			h.publish(t, 20_000, 2000)
			servers.Cluster().ShufflePartitionLeaders()
			servers.Cluster().RehashCoordinators()
			h.publish(t, 30_000, 2000)
			handle.Remove()
			h.check(t, c, 30_000, true)
			if h.falls > 0 {
				t.Errorf("started again %d times", h.falls)
			}
			if handle.Hits() == 0 {
				t.Error("no fault was injected")
			}
		})
	}
}

// The broker is away for longer than one request: the position stands still and nothing is lost (short version: seconds).
func TestCase73_BrokerUnreachableForAWhile(t *testing.T) {
	for _, kind := range []string{"transactional", "idempotent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			servers := startIn(t, folder, 0)
			c := kafka.Config{Brokers: servers.Brokers(), TransactionTimeout: 20 * time.Second, MaxInFlightBytes: 1 << 20}
			h := &history{sink: transactional(t, c, "task.0", "checkpoint"), topic: "parcel"}
			if kind == "idempotent" {
				h.sink = idempotent(t, c, &memory.Store{})
			}
			open(t, h.sink)
			h.publish(t, 5000, 1000)
			servers.Close()
			if err := kafka.Ping(t.Context(), c); err == nil || fault.ClassOf(err) != fault.Retry {
				t.Errorf("ping while the broker is away: %v", err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.publish(t, 20_000, 1000)
			}()
			select {
			case <-done:
				t.Error("published without a broker")
			case <-time.After(3 * time.Second):
			}
			startIn(t, folder, port(t, c.Brokers[0]))
			<-done
			if err := kafka.Ping(t.Context(), c); err != nil {
				t.Errorf("ping after the broker came back: %v", err)
			}
			h.check(t, c, 20_000, kind == "transactional")
			t.Logf("%d new starts", h.falls)
		})
	}
}

func startIn(t *testing.T, folder string, port int) *embedded.Servers {
	t.Helper()
	s, err := embedded.Start(embedded.Options{NoRegistry: true, DataDir: folder, KafkaPort: port, Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func port(t *testing.T, address string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}

// One broker of the list is enough; without any the error names each with its own reason.
func TestSomeBrokersAway(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := ln.Addr().String()
	ln.Close()
	alive := broker(t).Brokers()[0]
	for range 5 {
		open(t, transactional(t, kafka.Config{Brokers: []string{dead, alive}}, "task.0", "checkpoint"))
		open(t, idempotent(t, kafka.Config{Brokers: []string{dead, alive}}, &memory.Store{}))
	}
	s := transactional(t, kafka.Config{Brokers: []string{dead, "no-such-host.invalid:9092"}}, "task.0", "checkpoint")
	defer s.Close()
	_, err = s.Open(t.Context())
	if err == nil || fault.ClassOf(err) != fault.Retry || !strings.Contains(err.Error(), dead) || !strings.Contains(err.Error(), "no-such-host.invalid") {
		t.Errorf("got class %v: %v", fault.ClassOf(err), err)
	}
}

// A broker that says nothing more holds nobody longer than the context: not Open, not Publish, not Commit, not Close.
func TestCase89_SilentBroker(t *testing.T) {
	t.Parallel()
	var cut cutter
	c := kafka.Config{Brokers: broker(t, cut.option()).Brokers(), MaxInFlightBytes: 1 << 20}
	s := transactional(t, c, "task.0", "checkpoint")
	open(t, s)
	commit(t, s, record("parcel", "k", "1"))
	release := cut.holdAnswers(t)

	within(t, "publish", func(ctx context.Context) error {
		for i := 0; ; i++ {
			if err := s.Publish(ctx, record("parcel", "k", strings.Repeat("x", 1000))); err != nil {
				if i < 100 || i > 2000 {
					t.Errorf("%d records of 1 kB went into a window of 1 MiB", i)
				}
				return err
			}
		}
	})
	within(t, "open", func(ctx context.Context) error {
		s.Abort(ctx)
		_, err := s.Open(ctx)
		return err
	})
	within(t, "ping", s.Ping)
	release()
	if _, err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit(t, s, record("parcel", "k", "2"))
	if got := len(await(t, c, "parcel", 2)); got != 2 {
		t.Errorf("readers see %d records, want 2", got)
	}
}

// within expects an error soon after the context's deadline.
func within(t *testing.T, what string, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := f(ctx)
	if err == nil {
		t.Errorf("%s succeeded", what)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%s came back after %v: %v", what, took, err)
	}
	t.Logf("%s: %v after %v", what, err, time.Since(began).Round(time.Millisecond))
}

func commit(t *testing.T, s sinktest.Sink, records ...*change.Record) {
	t.Helper()
	for _, r := range records {
		if err := s.Publish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// More partitions than the limit holds batches for: small batches make room (I10), and nothing waits for ever.
func TestManyPartitionsSmallLimit(t *testing.T) {
	t.Parallel()
	c := kafka.Config{Brokers: broker(t).Brokers(), MaxInFlightBytes: 20_000}
	s := transactional(t, c, "task.0", "checkpoint")
	open(t, s)
	for i := range 5000 {
		topic := fmt.Sprintf("topic%d", i%50)
		if err := s.Publish(t.Context(), record(topic, fmt.Sprint(i), strings.Repeat("x", 100))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if n := len(await(t, c, fmt.Sprintf("topic%d", i), 100)); n != 100 {
			t.Errorf("topic%d has %d records", i, n)
		}
	}
}

// Whatever the sizes, topics and limits, a commit ends and leaves every record where it belongs.
func TestRandomLoads(t *testing.T) {
	t.Parallel()
	servers := broker(t, kfake.NumBrokers(2))
	for load := range 60 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		c := kafka.Config{Brokers: servers.Brokers(), MaxInFlightBytes: 500 + random.Int64N(60_000), MaxMessageBytes: 5000 + random.IntN(100_000)}
		s := transactional(t, c, "task.0", "checkpoint")
		open(t, s)
		want := map[string]int{}
		for range 1 + random.IntN(3) {
			for range random.IntN(400) {
				topic := fmt.Sprintf("load%d.%d", load, random.IntN(1+random.IntN(20)))
				r := record(topic, fmt.Sprint(random.IntN(9)), strings.Repeat("x", random.IntN(1+random.IntN(4000))))
				if err := s.Publish(ctx, r); err != nil {
					t.Fatalf("seed %d: publish: %v", seed, err)
				}
				want[topic]++
			}
			if err := s.Commit(ctx, nil); err != nil {
				t.Fatalf("seed %d: commit: %v", seed, err)
			}
		}
		for topic, n := range want {
			if got := len(await(t, c, topic, n)); got != n {
				t.Errorf("seed %d: %s has %d records, want %d", seed, topic, got, n)
			}
		}
		s.Close()
		cancel()
	}
}

// A batch of many small records that the topic takes for too large goes in pieces.
func TestLargeBatchIsSplit(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		topic := name("parcel")
		c.Data.Config = map[string]string{"max.message.bytes": "3000"}
		s := transactional(t, c, name("task"), name("checkpoint"))
		open(t, s)
		var want []string
		for i := range 300 {
			r := record(topic, "k", "")
			r.Value = fmt.Appendf(nil, "%d %x", i, noise(200+i))
			want = append(want, string(r.Value))
			if err := s.Publish(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range await(t, c, topic, len(want)) {
			got = append(got, string(r.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d records arrived, first difference at %d", len(got), slices.IndexFunc(got, func(v string) bool { return !slices.Contains(want, v) }))
		}
		// The sequence numbers go on behind the pieces.
		commit(t, s, record(topic, "k", "after"))
	})
}

// A transaction that takes too long is given up, and the cycle starts again.
func TestTransactionTimeout(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		id, topic, checkpoint := name("task"), name("parcel"), name("checkpoint")
		c.TransactionTimeout = time.Second
		s := transactional(t, c, id, checkpoint)
		open(t, s)
		deadline := time.After(30 * time.Second)
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for published := 0; ; published++ {
			r := record(topic, "k", "")
			r.Value = noise(70_000) // enough to be sent at once
			if err := s.Publish(t.Context(), r); err != nil {
				if fault.ClassOf(err) != fault.Retry || published < 5 {
					t.Errorf("after %d records class %v: %v", published, fault.ClassOf(err), err)
				}
				break
			}
			select {
			case <-ticker.C:
			case <-deadline:
				t.Fatal("the transaction never ended")
			}
		}
		s.Abort(t.Context())
		if _, err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		commit(t, s, record(topic, "k", "2"))
		if got := await(t, c, topic, 1); len(got) != 1 || string(got[0].Value) != "2" {
			t.Errorf("readers see %d records", len(got))
		}
	})
}

// When the brokers end a transaction themselves the producer looks fenced, but no other instance has started: the cycle starts again.
func TestMovedEpochIsNotATakeover(t *testing.T) {
	t.Parallel()
	for _, key := range []kmsg.Key{kmsg.AddPartitionsToTxn, kmsg.Produce, kmsg.EndTxn} {
		for _, code := range []*kerr.Error{kerr.InvalidProducerEpoch, kerr.ProducerFenced} {
			t.Run(fmt.Sprint(key.Name(), " ", code.Message), func(t *testing.T) {
				t.Parallel()
				servers := broker(t)
				s := transactional(t, kafka.Config{Brokers: servers.Brokers()}, "task.0", "checkpoint")
				open(t, s)
				servers.Cluster().Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: code})
				err := s.Publish(t.Context(), record("parcel", "k", "1"))
				if err == nil {
					err = s.Commit(t.Context(), nil)
				}
				if err == nil || fault.ClassOf(err) != fault.Retry || !strings.Contains(fault.HintOf(err), "transaction timeout") {
					t.Errorf("class %v: %v", fault.ClassOf(err), err)
				}
				s.Abort(t.Context())
				if _, err := s.Open(t.Context()); err != nil {
					t.Fatal(err)
				}
				commit(t, s, record("parcel", "k", "2"))
			})
		}
	}
}

// A leader that refuses a batch as too large: only that table stops, and nothing is tried again.
func TestCase71_BrokerRefusesLargeBatch(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		topic := name("note")
		c.Data.Config = map[string]string{"max.message.bytes": "20000"}
		s := transactional(t, c, name("task"), name("checkpoint"))
		open(t, s)
		big := record(topic, "k", "")
		big.Value = noise(100_000)
		err := s.Publish(t.Context(), big)
		if err == nil {
			err = s.Commit(t.Context(), nil)
		}
		var table *change.TableError
		if !errors.As(err, &table) || table.Table != parcel || fault.ClassOf(err) != fault.Table || !strings.Contains(fault.HintOf(err), "max.message.bytes") {
			t.Errorf("want an error of table shop.parcel with a hint, got %v", err)
		}
		s.Abort(t.Context())
		if _, err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		commit(t, s, record(topic, "k", "small"))
	})
}

// noise is text that no codec shortens.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}
