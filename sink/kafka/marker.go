package kafka

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// Markers share the checkpoint topic with the entries. Each start of an instance leaves one, under a key of its transactional id: reading up
// to one's own marker means having seen every entry committed before, and the last marker tells whose turn it is.
const markerPrefix = "instance/"

type marker struct {
	Version int       `json:"version"` // of this format
	ID      string    `json:"id"`      // of the instance: random, no host name
	Started time.Time `json:"started"`
}

// newInstance makes up the id of an instance.
func newInstance() string { return rand.Text() }

// openCheckpoint makes sure of the checkpoint topic: present and compacted.
func (s *session) openCheckpoint(ctx context.Context, topic string) error {
	err := s.ensure(ctx, topic, change.CheckpointTopic)
	if err == nil {
		err = s.verifyCompacted(ctx, topic)
	}
	var known *fault.Error
	if errors.As(err, &known) && known.Class == fault.Table {
		return fault.New(fault.Fatal, "checkpoint", err, "") // without it no table can go on
	}
	return err
}

// loadCheckpoint reads the entries up to our own marker. Deleted keys and markers are left out. An open transaction of another shard holds
// the reading up until it ends.
func (s *session) loadCheckpoint(ctx context.Context, topic string, own checkpoint.Entry) (map[string][]byte, error) {
	r, err := s.newReader(ctx, topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	entries := map[string][]byte{}
	for seen := false; !seen; {
		err := r.read(ctx, func(_ *sarama.RecordBatch, record *sarama.Record) error {
			key := string(record.Key)
			switch {
			case strings.HasPrefix(key, markerPrefix):
				seen = seen || key == own.Key && bytes.Equal(record.Value, own.Value)
			case record.Value == nil:
				delete(entries, key)
			default:
				entries[key] = record.Value
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// lastMarker reads who started last under that key.
func (s *session) lastMarker(ctx context.Context, topic, key string) (marker, error) {
	var last marker
	r, err := s.newReader(ctx, topic, 0, sarama.OffsetOldest)
	if err != nil {
		return last, err
	}
	end, err := r.bound(ctx, sarama.OffsetNewest)
	if err != nil {
		return last, err
	}
	for r.next < end && err == nil {
		err = r.read(ctx, func(_ *sarama.RecordBatch, record *sarama.Record) error {
			if string(record.Key) != key || record.Value == nil {
				return nil
			}
			return json.Unmarshal(record.Value, &last)
		})
	}
	return last, err
}
