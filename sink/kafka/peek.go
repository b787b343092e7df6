package kafka

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// PeekCheckpoint reads the entries of a checkpoint topic as they are now, and when each was written. It takes nothing over and fences nobody,
// so that it may be called while the task runs. A missing topic is an empty checkpoint.
func PeekCheckpoint(ctx context.Context, c Config, topic string) (entries map[string][]byte, written map[string]time.Time, err error) {
	entries, written = map[string][]byte{}, map[string]time.Time{}
	err = Tail(ctx, c, TailOptions{Topics: []string{topic}, From: FromStart, Exit: true}, func(m *Message) error {
		switch key := string(m.Key); {
		case strings.HasPrefix(key, markerPrefix), key == shardsKey:
		case m.Value == nil:
			delete(entries, key)
			delete(written, key)
		default:
			entries[key], written[key] = m.Value, m.Timestamp
		}
		return nil
	})
	if errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		err = nil
	}
	return entries, written, err
}
