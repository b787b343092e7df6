package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/config"
	"ctbridge/sink/kafka"
)

// request is a record of the control topic.
type request struct {
	V      int           `json:"v"`
	ID     string        `json:"id"`
	Schema string        `json:"schema,omitempty"`
	Table  string        `json:"table"`
	Action bridge.Action `json:"action"`
	Where  string        `json:"where,omitempty"`

	Reset *checkpoint.Reset `json:"reset,omitempty"`
}

const requestVersion = 1

// control reads the control topic of a task.
type control struct {
	kafka    kafka.Config
	topic    string
	requests chan bridge.Request
	log      *slog.Logger

	complained bool // of a missing right
}

// controlPause is how long the control topic may be unreadable before it is tried again: it is made by the first request.
const controlPause = 5 * time.Second

func newControl(t *config.Task, log *slog.Logger) (*control, error) {
	c, err := KafkaConfig(&t.Kafka)
	return &control{kafka: c, topic: t.Kafka.ControlTopic, requests: make(chan bridge.Request, 16), log: log}, err
}

// run hands requests on until ctx ends. A task streams on where the topic cannot be read.
func (c *control) run(ctx context.Context) {
	from := kafka.FromStart
	for ctx.Err() == nil {
		err := kafka.Tail(ctx, c.kafka, kafka.TailOptions{Topics: []string{c.topic}, From: from}, func(m *kafka.Message) error {
			from = m.Offset + 1
			return c.take(ctx, m)
		})
		if ctx.Err() == nil {
			c.complain(ctx, err)
			wait(ctx, controlPause)
		}
	}
}

// complain tells why no requests can be read. That the topic is not there is no news; a missing right is, once.
func (c *control) complain(ctx context.Context, err error) {
	level := slog.LevelDebug
	if kafka.Denied(err) && !c.complained {
		level, c.complained = slog.LevelWarn, true
	}
	c.log.Log(ctx, level, "no requests can be read", "topic", c.topic, "error", err)
}

func (c *control) take(ctx context.Context, m *kafka.Message) error {
	var q request
	if err := json.Unmarshal(m.Value, &q); err != nil || q.V != requestVersion {
		c.log.Warn("a record of the control topic is no request", "topic", c.topic, "offset", m.Offset)
		return nil
	}
	out := bridge.Request{Number: m.Offset, ID: q.ID, Table: change.TableID{Schema: q.Schema, Name: q.Table}, Action: q.Action, Where: q.Where, Reset: q.Reset}
	select {
	case c.requests <- out:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Ask writes a request to the control topic of a task, which is made where it is missing.
func Ask(ctx context.Context, t *config.Task, q bridge.Request) (err error) {
	c, err := KafkaConfig(&t.Kafka)
	if err != nil {
		return err
	}
	sink, err := kafka.NewIdempotent(c, &memory.Store{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	if _, err := sink.Open(ctx); err != nil {
		return err
	}
	if err := sink.EnsureTopic(ctx, t.Kafka.ControlTopic, change.CheckpointTopic); err != nil {
		return err
	}
	value, err := json.Marshal(request{V: requestVersion, ID: q.ID, Schema: q.Table.Schema, Table: q.Table.Name, Action: q.Action, Where: q.Where, Reset: q.Reset})
	if err != nil {
		return err
	}
	if err := sink.Publish(ctx, &change.Record{Topic: t.Kafka.ControlTopic, Key: []byte(q.ID), Value: value}); err != nil {
		return err
	}
	return sink.Commit(ctx, nil)
}

// errAnswered ends the wait for an answer.
var errAnswered = errors.New("answered")

// Answer waits until the task has answered a request: its checkpoint names the request.
func Answer(ctx context.Context, t *config.Task, id string) (*checkpoint.Load, error) {
	c, err := KafkaConfig(&t.Kafka)
	if err != nil {
		return nil, err
	}
	var answer checkpoint.Load
	err = kafka.Tail(ctx, c, kafka.TailOptions{Topics: []string{t.Checkpoint.Topic}, From: kafka.FromStart}, func(m *kafka.Message) error {
		var load checkpoint.Load
		if json.Unmarshal(m.Value, &load) == nil && load.Request == id {
			answer = load
			return errAnswered
		}
		return nil
	})
	if errors.Is(err, errAnswered) {
		return &answer, nil
	}
	return nil, fmt.Errorf("no answer: does the task run, and does it read the table? %w", errors.Join(err, ctx.Err()))
}
