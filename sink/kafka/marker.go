package kafka

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
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

// loadCheckpoint reads the entries up to and including the record at offset last. Deleted keys and markers are left out.
func (s *session) loadCheckpoint(ctx context.Context, topic string, last int64) (map[string][]byte, error) {
	entries := map[string][]byte{}
	err := s.readCheckpoint(ctx, topic, last, func(key string, value []byte) {
		switch {
		case strings.HasPrefix(key, markerPrefix):
		case value == nil:
			delete(entries, key)
		default:
			entries[key] = value
		}
	})
	return entries, err
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
	var unreadable error
	err = s.readCheckpoint(ctx, topic, end-1, func(k string, value []byte) {
		if k == key && value != nil {
			unreadable = json.Unmarshal(value, &last)
		}
	})
	return last, errors.Join(err, unreadable)
}

// readCheckpoint hands over every committed record of the checkpoint topic from the start to offset last. An open transaction of another
// shard holds the reading up until it ends.
func (s *session) readCheckpoint(ctx context.Context, topic string, last int64, each func(key string, value []byte)) error {
	r, err := s.newReader(ctx, topic, 0, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	for r.next <= last {
		err := r.read(ctx, func(_ *sarama.RecordBatch, record *sarama.Record) error {
			each(string(record.Key), record.Value)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
