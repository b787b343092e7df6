package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Message is one record as a reader sees it. Its bytes belong to the receiver.
type Message struct {
	Topic     string
	Partition int32
	Offset    int64
	Key       []byte // nil = no key
	Value     []byte // nil = tombstone
	Headers   []change.Header
	Timestamp time.Time
}

// TailOptions say what Tail reads.
type TailOptions struct {
	Topics []string
	// From is FromStart, FromEnd, or an offset in every partition that is read.
	From int64
	// Partition limits the reading to one partition; nil = all of them.
	Partition *int32
	// Exit ends the reading at the end of each partition as of the start; otherwise it follows until the context ends.
	Exit bool
}

// Where Tail starts.
const (
	FromStart int64 = sarama.OffsetOldest
	FromEnd   int64 = sarama.OffsetNewest
)

// Tail hands the committed records of the topics to yield: in order within a partition, one partition after the other in turns. An error of
// yield ends it and is returned. When following, it ends without error as the context is cancelled.
func Tail(ctx context.Context, c Config, o TailOptions, yield func(*Message) error) error {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return err
	}
	s, err := connect(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	readers, err := s.tailReaders(ctx, o)
	if err != nil {
		return err
	}
	err = followAll(ctx, readers, yield)
	if !o.Exit && errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}

// tailReader reads one partition up to end; end < 0 = for ever.
type tailReader struct {
	*reader
	end int64
}

func (s *session) tailReaders(ctx context.Context, o TailOptions) ([]*tailReader, error) {
	var readers []*tailReader
	for _, topic := range o.Topics {
		partitions, err := s.partitions(ctx, topic, o.Partition)
		if err != nil {
			return nil, err
		}
		for _, partition := range partitions {
			r, err := s.newReader(ctx, topic, partition, o.From)
			if err != nil {
				return nil, err
			}
			tail := &tailReader{reader: r, end: -1}
			if o.Exit {
				if tail.end, err = r.bound(ctx, sarama.OffsetNewest); err != nil {
					return nil, err
				}
			}
			readers = append(readers, tail)
		}
	}
	return readers, nil
}

func (s *session) partitions(ctx context.Context, topic string, only *int32) ([]int32, error) {
	found, err := s.describe(ctx, topic)
	if err == nil {
		err = s.naming(onTopic(topic, "Describe", "Read"), s.fail("topic "+topic, noError(found.Err)))
	}
	if err != nil {
		return nil, err
	}
	var partitions []int32
	for _, p := range found.Partitions {
		if only == nil || *only == p.ID {
			partitions = append(partitions, p.ID)
		}
	}
	if len(partitions) == 0 {
		return nil, fault.New(fault.Config, "topic "+topic, fmt.Errorf("it has no partition %d", *only), fmt.Sprintf("it has %d partitions", len(found.Partitions)))
	}
	return partitions, nil
}

// followAll reads one fetch of each partition in turn. A partition that has caught up is asked without waiting, unless nothing is to be read
// anywhere.
func followAll(ctx context.Context, readers []*tailReader, yield func(*Message) error) error {
	for len(readers) > 0 {
		open := readers[:0]
		moved := false
		for i, r := range readers {
			if r.end >= 0 && r.next >= r.end {
				continue
			}
			r.wait = 0
			if !moved && i == len(readers)-1 {
				r.wait = fetchWait
			}
			before := r.next
			if err := r.read(ctx, r.yield(yield)); err != nil {
				return err
			}
			moved = moved || r.next != before
			open = append(open, r)
		}
		readers = open
	}
	return nil
}

func (r *tailReader) yield(yield func(*Message) error) func(*sarama.RecordBatch, *sarama.Record) error {
	return func(batch *sarama.RecordBatch, record *sarama.Record) error {
		offset := batch.FirstOffset + record.OffsetDelta
		if r.end >= 0 && offset >= r.end {
			return nil
		}
		m := &Message{
			Topic: r.topic, Partition: r.partition, Offset: offset,
			Key: record.Key, Value: record.Value,
			Timestamp: batch.FirstTimestamp.Add(record.TimestampDelta),
		}
		if batch.LogAppendTime {
			m.Timestamp = batch.MaxTimestamp
		}
		for _, h := range record.Headers {
			m.Headers = append(m.Headers, change.Header{Name: string(h.Key), Value: h.Value})
		}
		return yield(m)
	}
}
