package wiring

import (
	"context"
	"errors"
	"time"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/file"
	"ctbridge/bridge/config"
	"ctbridge/sink/kafka"
)

// Kept is the checkpoint of a task, read beside whoever may be running it.
type Kept struct {
	State *checkpoint.State
	Place string               // where it is kept, for people
	Saved time.Time            // when it was written last; zero where the store does not know
	Times map[string]time.Time // when each entry was written; nil where the store does not know
}

// Peek reads the checkpoint of a task. It claims nothing and fences nobody.
func Peek(ctx context.Context, t *config.Task) (*Kept, error) {
	store := t.Checkpoint.Store
	if t.Delivery == config.ExactlyOnce {
		store = config.StoreKafka
	}
	out := &Kept{}
	entries, err := peeks[store](ctx, t, out)
	if err != nil {
		return nil, err
	}
	out.State, err = checkpoint.Decode(entries, checkpoint.Shard{}, time.Now())
	return out, err
}

// peeks reads each checkpoint store.
var peeks = map[string]func(ctx context.Context, t *config.Task, out *Kept) (map[string][]byte, error){
	config.StoreKafka: func(ctx context.Context, t *config.Task, out *Kept) (entries map[string][]byte, err error) {
		c, err := KafkaConfig(&t.Kafka)
		if err != nil {
			return nil, err
		}
		out.Place = "Kafka topic " + t.Checkpoint.Topic
		entries, out.Times, err = kafka.PeekCheckpoint(ctx, c, t.Checkpoint.Topic)
		for _, at := range out.Times {
			if at.After(out.Saved) {
				out.Saved = at
			}
		}
		return entries, err
	},
	config.StoreFile: func(_ context.Context, t *config.Task, out *Kept) (entries map[string][]byte, err error) {
		out.Place = "file " + t.Checkpoint.Path
		entries, out.Saved, err = file.New(t.Checkpoint.Path).Peek()
		return entries, err
	},
	config.StoreSQL: func(ctx context.Context, t *config.Task, out *Kept) (entries map[string][]byte, err error) {
		out.Place = "table " + t.Checkpoint.Table
		store, err := sqlStore(t)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		return store.Peek(ctx)
	},
}
