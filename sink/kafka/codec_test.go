package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"ctbridge/bridge/change"
	"ctbridge/sink/kafka"
)

// Whatever the codec, the broker takes the records, and both the library that sends them and another one read what was published: small batches, full
// ones, records larger than a batch is otherwise.
func TestEveryCodecIsRead(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
			t.Run(codec, func(t *testing.T) {
				c := c
				c.Compression = codec
				topic := name("codec")
				s := transactional(t, c, name("task"), name("checkpoint"))
				open(t, s)
				if err := s.EnsureTopic(t.Context(), topic, change.DataTopic); err != nil {
					t.Fatal(err)
				}
				want := publishSizes(t, s, topic)
				for reader, got := range map[string]map[string]string{"the client": readByTail(t, c, topic, len(want)), "another client": readByAnother(t, c, topic, len(want))} {
					for key, value := range want {
						if got[key] != value {
							t.Errorf("%s reads %.60s of %s, want %.60s", reader, got[key], key, value)
						}
					}
					if len(got) != len(want) {
						t.Errorf("%s reads %d records, want %d", reader, len(got), len(want))
					}
				}
			})
		}
	})
}

func publishSizes(t *testing.T, s *kafka.Transactional, topic string) map[string]string {
	t.Helper()
	want := map[string]string{}
	publish := func(key, value []byte) {
		r := &change.Record{Table: parcel, Topic: topic, Key: key, Value: value, Headers: []change.Header{{Name: "h", Value: key}, {Name: "nil"}}, Timestamp: time.UnixMilli(1_700_000_000_000)}
		if err := s.Publish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want[string(key)] = shownRecord(value, key, 1_700_000_000_000)
	}
	for i, size := range []int{0, 1, 100, 100_000, 700_000} {
		publish(fmt.Append(nil, "size ", i), bytes.Repeat([]byte("abcdefghij"), size/10))
	}
	publish([]byte("tombstone"), nil)
	for i := range 4000 { // of full batches, by and by
		publish(fmt.Append(nil, "many ", i), fmt.Appendf(nil, "%0*d", 1000, i*i))
	}
	if err := s.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return want
}

func shownRecord(value, header []byte, at int64) string {
	return fmt.Sprintf("%s nil=%t %s %d", value, value == nil, header, at)
}

func readByTail(t *testing.T, c kafka.Config, topic string, n int) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, r := range await(t, c, topic, n) {
		got[string(r.Key)] = shownRecord(r.Value, r.Headers[0].Value, r.Timestamp.UnixMilli())
	}
	return got
}

func readByAnother(t *testing.T, c kafka.Config, topic string, n int) map[string]string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Brokers...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	got := map[string]string{}
	for len(got) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			got[string(r.Key)] = shownRecord(r.Value, r.Headers[0].Value, r.Timestamp.UnixMilli())
		})
	}
	return got
}
