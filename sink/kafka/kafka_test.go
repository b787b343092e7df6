package kafka_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/checkpointtest"
	"ctbridge/bridge/checkpoint/file"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/sink/embedded"
	"ctbridge/sink/kafka"
	"ctbridge/sink/sinktest"
)

// The client's metrics library starts one goroutine for the life of the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// broker starts a demo broker.
func broker(t *testing.T, opts ...kfake.Opt) *embedded.Servers {
	t.Helper()
	s, err := embedded.Start(embedded.Options{NoRegistry: true, Partitions: 6, Broker: opts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// eachKafka runs a test against the demo broker and, where one is named, against a real Kafka.
func eachKafka(t *testing.T, test func(t *testing.T, c kafka.Config)) {
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		test(t, kafka.Config{Brokers: broker(t).Brokers()})
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		address := os.Getenv("CTBRIDGE_TEST_KAFKA")
		if address == "" {
			t.Skip("CTBRIDGE_TEST_KAFKA is not set")
		}
		test(t, kafka.Config{Brokers: strings.Split(address, ","), Data: kafka.TopicSettings{Partitions: 6}})
	})
}

// name makes up a name that is free.
func name(prefix string) string { return fmt.Sprintf("%s-%d", prefix, rand.Uint64()) }

// await gives the committed records of a topic, waiting for n of them: brokers answer a commit before they have told every partition.
func await(t *testing.T, c kafka.Config, topic string, n int) []sinktest.Record {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(10 * time.Second); ; <-ticker.C {
		if got := tail(t, c, topic); len(got) >= n || time.Now().After(end) {
			return got
		}
	}
}

// tail gives the committed records of a topic as of now.
func tail(t *testing.T, c kafka.Config, topic string) []sinktest.Record {
	t.Helper()
	var records []sinktest.Record
	err := kafka.Tail(t.Context(), c, kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		records = append(records, sinktest.Record{Partition: m.Partition, Key: m.Key, Value: m.Value, Headers: m.Headers, Timestamp: m.Timestamp})
		return nil
	})
	if err != nil {
		t.Fatalf("tail %s: %v", topic, err)
	}
	return records
}

func transactional(t *testing.T, c kafka.Config, id, topic string) *kafka.Transactional {
	t.Helper()
	s, err := kafka.NewTransactional(c, id, topic)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func idempotent(t *testing.T, c kafka.Config, store checkpoint.Store) *kafka.Idempotent {
	t.Helper()
	s, err := kafka.NewIdempotent(c, store)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kafkaStore(t *testing.T, c kafka.Config, id, topic string) *kafka.Store {
	t.Helper()
	s, err := kafka.NewStore(c, id, topic)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTransactionalConformance(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		sinktest.Run(t, func(t *testing.T) sinktest.Place {
			topic, task := name("parcel"), name("task")
			return sinktest.Place{
				Topic:       topic,
				New:         func(t *testing.T) sinktest.Sink { return transactional(t, c, task+".0", task) },
				Read:        func(t *testing.T, topic string) []sinktest.Record { return tail(t, c, topic) },
				ExactlyOnce: true, Exclusive: true, MaxBytes: 1 << 20,
			}
		})
	})
}

func TestIdempotentConformance(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		stores := map[string]func(t *testing.T) (func(t *testing.T) checkpoint.Store, bool){
			"memory": func(*testing.T) (func(*testing.T) checkpoint.Store, bool) {
				var store memory.Store
				return func(*testing.T) checkpoint.Store { return &store }, false
			},
			"file": func(t *testing.T) (func(*testing.T) checkpoint.Store, bool) {
				path := filepath.Join(t.TempDir(), "checkpoint.json")
				return func(*testing.T) checkpoint.Store { return file.New(path) }, false
			},
			"kafka": func(*testing.T) (func(*testing.T) checkpoint.Store, bool) {
				task := name("task")
				return func(t *testing.T) checkpoint.Store { return kafkaStore(t, c, task+".0", task) }, false
			},
		}
		for kind, place := range stores {
			t.Run(kind, func(t *testing.T) {
				sinktest.Run(t, func(t *testing.T) sinktest.Place {
					store, exclusive := place(t)
					return sinktest.Place{
						Topic:     name("parcel"),
						New:       func(t *testing.T) sinktest.Sink { return idempotent(t, c, store(t)) },
						Read:      func(t *testing.T, topic string) []sinktest.Record { return tail(t, c, topic) },
						Exclusive: exclusive, MaxBytes: 1 << 20,
					}
				})
			})
		}
	})
}

func TestStoreConformance(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		checkpointtest.Run(t, func(*testing.T) checkpointtest.Place {
			task := name("task")
			return checkpointtest.Place{Shared: true, Open: func(t *testing.T) checkpoint.Store { return kafkaStore(t, c, task+".0", task) }}
		})
	})
}

// open opens a sink and closes it with the test.
func open(t *testing.T, s sinktest.Sink) map[string][]byte {
	t.Helper()
	t.Cleanup(func() { s.Close() })
	entries, err := s.Open(t.Context())
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return entries
}
