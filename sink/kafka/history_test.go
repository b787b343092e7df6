package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
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

// While a partition takes nothing the log says so, once, and what was published arrives afterwards.
func TestRefusalIsTold(t *testing.T) {
	t.Parallel()
	servers := broker(t)
	var log bytes.Buffer // written by one goroutine, and read when that has nothing more to send
	c := kafka.Config{Brokers: servers.Brokers(), Log: slog.New(slog.NewTextHandler(&log, nil))}
	s := transactional(t, c, "task.0", "checkpoint")
	open(t, s)
	commit(t, s, record("parcel", "k", "1"))
	if log.Len() > 0 {
		t.Errorf("told without need: %s", log.String())
	}
	servers.Cluster().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "parcel", Err: kerr.NotEnoughReplicas, Count: 9})
	commit(t, s, record("parcel", "k", "2"))
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "topic=parcel") || !strings.Contains(got, "fewer in-sync replicas") {
		t.Errorf("the log says: %s", got)
	}
	if got := len(await(t, c, "parcel", 2)); got != 2 {
		t.Errorf("readers see %d records, want 2", got)
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
