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
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
	"ctbridge/sink/sinktest"
)

var parcel = change.TableID{Schema: "shop", Name: "parcel"}

func record(topic, key, value string) *change.Record {
	return &change.Record{Table: parcel, Topic: topic, Key: []byte(key), Value: []byte(value)}
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

// A leader that refuses a batch as too large: the error names the row among its neighbours, and nothing is tried again.
func TestCase71_BrokerRefusesLargeBatch(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		topic := name("note")
		c.Data.Config = map[string]string{"max.message.bytes": "20000"}
		s := transactional(t, c, name("task"), name("checkpoint"))
		open(t, s)
		before, big, after := record(topic, "k", "before"), record(topic, "k", ""), record(topic, "k", "after")
		before.Origin, big.Origin, after.Origin = "1", "2", "3"
		big.Value = noise(100_000)
		var err error
		for _, r := range []*change.Record{before, big, after} {
			err = errors.Join(err, s.Publish(t.Context(), r))
		}
		if err == nil {
			err = s.Commit(t.Context(), nil)
		}
		var table *change.TableError
		if !errors.As(err, &table) || table.Table != parcel || table.Origin != "2" || fault.ClassOf(err) != fault.Poison || !strings.Contains(fault.HintOf(err), "max.message.bytes") {
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
