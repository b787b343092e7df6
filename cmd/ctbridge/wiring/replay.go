package wiring

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/bridge/deadletter"
	"ctbridge/metrics"
	"ctbridge/sink/kafka"
)

// Replay reads the dead letters of a task and publishes them again.
type Replay struct {
	task     *config.Task
	kafka    kafka.Config
	sink     sink
	messages *messages
	options  bridge.ReplayOptions
	runner   bridge.Options
}

// NewReplay builds a replay; it talks to nobody yet. Whatever the delivery of the task, replays use transactions of their own, so that each letter
// is published once; a second replay fences the first.
func NewReplay(t *config.Task, o bridge.ReplayOptions, log *slog.Logger) (*Replay, error) {
	m := metrics.New(metrics.Options{})
	out := &Replay{task: t, options: o}
	var err error
	if out.kafka, err = KafkaConfig(&t.Kafka); err != nil {
		return nil, err
	}
	out.kafka.ClientID += "-replay"
	if out.sink, err = made(kafka.NewTransactional(out.kafka, "ctbridge."+t.Name+".replay", t.BadRecords.ReplayTopic)); err != nil {
		return nil, err
	}
	if out.messages, err = newMessages(t, m, log); err != nil {
		return nil, errors.Join(err, out.sink.Close())
	}
	out.runner = runnerOptions(t, out.messages, m, log)
	if out.runner.Values, err = Values(t); err != nil {
		return nil, errors.Join(err, out.sink.Close())
	}
	out.options.Topic = t.BadRecords.Topic
	out.options.Drop = func(_ change.TableID, column string) bool {
		return slices.Contains(t.Source.Qlik.IgnoreColumns, column)
	}
	return out, nil
}

// Run hands every letter up to the present end of the topic to wanted, and replays those that it wants. What is no letter goes to unread.
func (p *Replay) Run(ctx context.Context, wanted func(*bridge.Replayed) bool, unread func(*kafka.Message, error)) error {
	if p.options.DryRun {
		var err error
		if p.options.Known, err = p.known(ctx); err != nil {
			return err
		}
	}
	replayer := bridge.NewReplayer(p.sink, p.runner, p.options)
	if err := replayer.Open(ctx); err != nil {
		return err
	}
	err := kafka.Tail(ctx, p.kafka, kafka.TailOptions{Topics: []string{p.task.BadRecords.Topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		letter, err := deadletter.Decode(m.Value)
		if err != nil {
			unread(m, err)
			return nil
		}
		l := &bridge.Replayed{Letter: letter, Partition: m.Partition, Offset: m.Offset}
		if !wanted(l) {
			return nil
		}
		return replayer.Add(ctx, l)
	})
	if err != nil {
		return err
	}
	return replayer.Flush(ctx)
}

// known reads what was replayed before without touching anything. The first replay makes the topic.
func (p *Replay) known(ctx context.Context) (map[string][]byte, error) {
	entries := make(map[string][]byte)
	topic := p.task.BadRecords.ReplayTopic
	there, err := kafka.Exists(ctx, p.kafka, topic)
	if err != nil || !there {
		return entries, err
	}
	err = kafka.Tail(ctx, p.kafka, kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		entries[string(m.Key)] = m.Value
		return nil
	})
	return entries, err
}

// Close lets go of the neighbours.
func (p *Replay) Close() error { return errors.Join(p.sink.Close(), p.messages.Close()) }
