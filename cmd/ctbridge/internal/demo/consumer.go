package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ctbridge/cmd/ctbridge/internal/show"
	"ctbridge/sink/kafka"
)

// consumer reads the topics back, as any other Kafka client would.
type consumer struct {
	kafka   kafka.Config
	history map[string]int64 // by topic: the first offset that is new
	decoder *show.Decoder
	each    func(ctx context.Context, a *arrival, m *show.Message) error
}

// received is a message and when it came.
type received struct {
	message *kafka.Message
	at      time.Time
}

// run reads until ctx ends. Every topic is read by itself, so that none waits for another; what they bring is handled in turn.
func (c *consumer) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan received)
	for _, t := range tables() {
		group.Go(func() error {
			err := kafka.Tail(ctx, c.kafka, kafka.TailOptions{Topics: []string{t.name}, From: kafka.FromStart}, func(m *kafka.Message) error {
				select {
				case queue <- received{m, time.Now()}:
				case <-ctx.Done():
				}
				return nil
			})
			return unlessStopped(ctx, err)
		})
	}
	group.Go(func() error { return unlessStopped(ctx, c.handleAll(ctx, queue)) })
	return group.Wait()
}

func (c *consumer) handleAll(ctx context.Context, queue <-chan received) error {
	for {
		select {
		case r := <-queue:
			if err := c.handle(ctx, r); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *consumer) handle(ctx context.Context, r received) error {
	m := r.message
	a := &arrival{table: m.Topic, at: r.at, history: m.Offset < c.history[m.Topic]}
	text, err := c.decoder.Decode(ctx, m.Value)
	if err == nil {
		err = a.read(text)
	}
	if err != nil {
		return fmt.Errorf("message %s[%d]@%d: %w", m.Topic, m.Partition, m.Offset, err)
	}
	return c.each(ctx, a, &show.Message{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Timestamp: m.Timestamp})
}

// document is the part of a message that the accounts need, with or without its envelope.
type document struct {
	Message *document `json:"message"`
	Headers *struct {
		Operation string `json:"operation"`
		Sequence  string `json:"changeSequence"`
		Timestamp string `json:"timestamp"`
		Tx        string `json:"transactionId"`
		Counter   int64  `json:"transactionEventCounter"`
		Last      bool   `json:"transactionLastEvent"`
	} `json:"headers"`
}

// read takes the headers out of a decoded message.
func (a *arrival) read(text []byte) error {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	h := cmp.Or(d.Message, &d).Headers
	if h == nil {
		return errors.New("it has no headers")
	}
	changed, err := time.Parse("2006-01-02T15:04:05.000", h.Timestamp)
	if err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	a.sequence, a.operation, a.tx, a.counter, a.last, a.changed = h.Sequence, h.Operation, h.Tx, h.Counter, h.Last, changed
	return nil
}
