package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
)

// collect gives the offsets and values that Tail hands over.
func collect(t *testing.T, c kafka.Config, o kafka.TailOptions) []string {
	t.Helper()
	var got []string
	err := kafka.Tail(t.Context(), c, o, func(m *kafka.Message) error {
		got = append(got, fmt.Sprintf("%d:%s", m.Offset, m.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Committed and aborted transactions lie side by side, with their markers, also of two producers at once.
func TestTailSeesCommittedOnly(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		c.Data.Partitions = 1
		topic, checkpoints := name("parcel"), name("checkpoint")
		a, b := transactional(t, c, name("a"), checkpoints), transactional(t, c, name("b"), checkpoints)
		open(t, a)
		open(t, b)
		for round := range 4 {
			for i := range 3 {
				for sink, s := range map[string]*kafka.Transactional{"a": a, "b": b} {
					if err := s.Publish(t.Context(), record(topic, "k", fmt.Sprintf("%s%d.%d", sink, round, i))); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := a.Commit(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if round%2 == 0 {
				if err := b.Commit(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				continue
			}
			b.Abort(t.Context())
			if _, err := b.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		count := map[byte]int{}
		for _, r := range await(t, c, topic, 18) {
			count[r.Value[0]]++
			if r.Value[0] == 'b' && (r.Value[1] == '1' || r.Value[1] == '3') {
				t.Errorf("readers see %s, which was aborted", r.Value)
			}
		}
		if count['a'] != 12 || count['b'] != 6 {
			t.Errorf("readers see %v, want 12 of a and 6 of b", count)
		}
	})
}

func TestTailStartsAndEnds(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		c.Data.Partitions = 1
		topic := name("parcel")
		s := idempotent(t, c, &memory.Store{})
		open(t, s)
		for i := range 5 {
			commit(t, s, record(topic, "k", fmt.Sprint(i)))
		}
		zero, one := int32(0), int32(1)
		for _, tt := range []struct {
			o    kafka.TailOptions
			want string
		}{
			{kafka.TailOptions{From: kafka.FromStart}, "[0:0 1:1 2:2 3:3 4:4]"},
			{kafka.TailOptions{From: 3}, "[3:3 4:4]"},
			{kafka.TailOptions{From: 5}, "[]"},
			{kafka.TailOptions{From: kafka.FromEnd}, "[]"},
			{kafka.TailOptions{From: 2, Partition: &zero}, "[2:2 3:3 4:4]"},
		} {
			tt.o.Topics, tt.o.Exit = []string{topic}, true
			if got := fmt.Sprint(collect(t, c, tt.o)); got != tt.want {
				t.Errorf("from %d: %s, want %s", tt.o.From, got, tt.want)
			}
		}
		none := func(*kafka.Message) error { return nil }
		if err := kafka.Tail(t.Context(), c, kafka.TailOptions{Topics: []string{topic}, Partition: &one, Exit: true}, none); fault.ClassOf(err) != fault.Config {
			t.Errorf("missing partition: %v", err)
		}
		if err := kafka.Tail(t.Context(), c, kafka.TailOptions{Topics: []string{name("missing")}, Exit: true}, none); fault.ClassOf(err) == fault.Fatal || err == nil {
			t.Errorf("missing topic: %v", err)
		}
		stop := errors.New("enough")
		if err := kafka.Tail(t.Context(), c, kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart}, func(*kafka.Message) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("error of yield: %v", err)
		}
	})
}

// Peeking at a checkpoint sees what is committed, with its times, and leaves the owner alone.
func TestPeekCheckpoint(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		topic := name("checkpoint")
		if entries, written, err := kafka.PeekCheckpoint(t.Context(), c, topic); err != nil || len(entries)+len(written) > 0 {
			t.Errorf("a missing topic: %v, %v, %v", entries, written, err)
		}
		owner := transactional(t, c, name("task"), topic)
		open(t, owner)
		before := time.Now().Add(-time.Minute)
		save := func(entries ...checkpoint.Entry) {
			t.Helper()
			if err := owner.Commit(t.Context(), entries); err != nil {
				t.Fatal(err)
			}
		}
		save(checkpoint.Entry{Key: "a", Value: []byte("1")}, checkpoint.Entry{Key: "b", Value: []byte("1")})
		for range 2 {
			entries, written, err := kafka.PeekCheckpoint(t.Context(), c, topic)
			if err != nil || len(entries) != 2 || string(entries["a"]) != "1" || len(written) != 2 || written["b"].Before(before) {
				t.Errorf("%q, %v, %v", entries, written, err)
			}
		}
		save(checkpoint.Entry{Key: "a", Value: []byte("2")}, checkpoint.Entry{Key: "b"})
		if entries, written, err := kafka.PeekCheckpoint(t.Context(), c, topic); err != nil || len(entries) != 1 || string(entries["a"]) != "2" || len(written) != 1 {
			t.Errorf("%q, %v, %v", entries, written, err)
		}
	})
}

// Following over several topics, records come as they are committed, until the context is cancelled.
func TestTailFollows(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		topics := []string{name("a"), name("b")}
		s := transactional(t, c, name("task"), name("checkpoint"))
		open(t, s)
		for _, topic := range topics {
			commit(t, s, record(topic, "k", "old"))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := make(chan string, 100)
		ended := make(chan error, 1)
		go func() {
			ended <- kafka.Tail(ctx, c, kafka.TailOptions{Topics: topics, From: kafka.FromStart}, func(m *kafka.Message) error {
				seen <- string(m.Value)
				return nil
			})
		}()
		next := func(want string) {
			t.Helper()
			select {
			case got := <-seen:
				if got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			case err := <-ended:
				t.Fatalf("ended: %v", err)
			case <-time.After(20 * time.Second):
				t.Fatalf("%q did not come", want)
			}
		}
		next("old")
		next("old")
		for i := range 6 {
			value := fmt.Sprint("new ", i)
			commit(t, s, record(topics[i%2], "k", value))
			next(value)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

// A long checkpoint topic that was compacted, with batches that compaction emptied, loads as it should.
func TestCheckpointAfterCompaction(t *testing.T) {
	t.Parallel()
	servers := broker(t)
	c := kafka.Config{Brokers: servers.Brokers(), Checkpoint: kafka.TopicSettings{Config: map[string]string{"segment.bytes": "1048576"}}}
	s := transactional(t, c, "task.0", "checkpoint")
	open(t, s)
	want := map[string]string{}
	for i := range 3000 {
		key := fmt.Sprintf("table/%d", i%50)
		entry := checkpoint.Entry{Key: key, Value: fmt.Appendf(nil, "%0500d", i)}
		want[key] = string(entry.Value)
		if i%50 == 7 {
			entry.Value = nil
			delete(want, key)
		}
		if err := s.Commit(t.Context(), []checkpoint.Entry{entry}); err != nil {
			t.Fatal(err)
		}
	}
	before := servers.Cluster().PartitionInfo("checkpoint", 0).NumBytes
	servers.Cluster().Compact()
	after := servers.Cluster().PartitionInfo("checkpoint", 0).NumBytes
	if after >= before {
		t.Errorf("nothing was compacted: %d bytes, then %d", before, after)
	}
	entries, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("%d entries, want %d", len(entries), len(want))
	}
	for key, value := range want {
		if string(entries[key]) != value {
			t.Errorf("%s is wrong", key)
		}
	}
}

// Compaction can empty a whole batch and keep its shell, and a fetch may return nothing but shells. The reader walks over them.
func TestReaderWalksOverEmptiedBatches(t *testing.T) {
	t.Parallel()
	servers := broker(t)
	if err := servers.Cluster().CreateTopic("parcel", 1, nil); err != nil {
		t.Fatal(err)
	}
	c := kafka.Config{Brokers: servers.Brokers()}
	s := idempotent(t, c, &memory.Store{})
	open(t, s)
	for i := range 8 {
		commit(t, s, record("parcel", "k", fmt.Sprint(i)))
	}
	info := servers.Cluster().TopicInfo("parcel")
	servers.Cluster().ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		servers.Cluster().KeepControl()
		request := r.(*kmsg.FetchRequest)
		if len(request.Topics) != 1 || request.Topics[0].Partitions[0].FetchOffset >= 5 {
			return nil, nil, false
		}
		return emptied(request, info.TopicID, 5), nil, true
	})
	if got := fmt.Sprint(collect(t, c, kafka.TailOptions{Topics: []string{"parcel"}, From: kafka.FromStart, Exit: true})); got != "[5:5 6:6 7:7]" {
		t.Errorf("got %s", got)
	}
}

// emptied answers a fetch with the shell of a batch over the offsets 0 to n-1.
func emptied(request *kmsg.FetchRequest, id [16]byte, n int32) kmsg.Response {
	batch := kmsg.RecordBatch{Magic: 2, LastOffsetDelta: n - 1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, PartitionLeaderEpoch: -1}
	raw := batch.AppendTo(nil)
	batch.Length = int32(len(raw) - 12)
	raw = batch.AppendTo(nil)
	batch.CRC = int32(crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	resp := request.ResponseKind().(*kmsg.FetchResponse)
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID = request.Topics[0].Topic, id
	partition := kmsg.NewFetchResponseTopicPartition()
	partition.HighWatermark, partition.LastStableOffset = 8, 8
	partition.RecordBatches = batch.AppendTo(nil)
	topic.Partitions = append(topic.Partitions, partition)
	resp.Topics = append(resp.Topics, topic)
	return resp
}
