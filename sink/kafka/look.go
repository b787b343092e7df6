package kafka

import (
	"context"
	"errors"
	"strings"

	"github.com/IBM/sarama"
)

// TopicLook is what a reader must know of a topic before it draws conclusions from what is not there.
type TopicLook struct {
	Missing    bool            // there is no such topic
	Partitions map[int32]int64 // the first offset that each partition still has; above 0 its older records are gone
	Compacted  bool            // of the records of one key only the newest is sure to be there
}

// Look looks at a topic.
func Look(ctx context.Context, c Config, topic string) (*TopicLook, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.close()
	found, err := s.describe(ctx, topic)
	switch {
	case err != nil:
		return nil, err
	case errors.Is(found.Err, sarama.ErrUnknownTopicOrPartition):
		return &TopicLook{Missing: true}, nil
	case noError(found.Err) != nil:
		return nil, s.fail("topic "+topic, found.Err)
	}
	out := &TopicLook{Partitions: make(map[int32]int64)}
	for _, p := range found.Partitions {
		r := &reader{s: s, topic: topic, partition: p.ID, size: fetchSize, wait: fetchWait}
		if out.Partitions[p.ID], err = r.bound(ctx, sarama.OffsetOldest); err != nil {
			return nil, err
		}
	}
	policy, err := s.cleanupPolicy(ctx, topic)
	out.Compacted = strings.Contains(policy, "compact")
	return out, err
}
