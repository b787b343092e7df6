package wiring

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/bridge/preflight"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/metrics"
	"ctbridge/schema/registry"
	"ctbridge/sink/kafka"
	"ctbridge/source"
)

// Preflight is a task with its neighbours, to be looked at before it starts.
type Preflight struct {
	preflight.World
	close []func() error
}

// Close lets go of the neighbours.
func (p *Preflight) Close() error {
	var errs []error
	for _, f := range p.close {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// NewPreflight prepares to ask the neighbours of a task; it talks to nobody. memoryLimit is that of the container in bytes, 0 = none; limit bounds one
// question.
func NewPreflight(t *config.Task, memoryLimit int64, limit time.Duration) (_ *Preflight, err error) {
	silent := slog.New(slog.DiscardHandler)
	engine, err := openEngine(&t.Source)
	if err != nil {
		return nil, err
	}
	p := &Preflight{close: []func() error{engine.Close}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	m := metrics.New(metrics.Options{})
	book := &preflight.Book{}
	outputs, err := Outputs(t, book)
	if err != nil {
		return nil, err
	}
	rules, err := Values(t)
	if err != nil {
		return nil, err
	}
	p.World = preflight.World{
		Task: preflightTask(t, outputs), Engine: engine, Layout: layouts[t.Source.Layout](engine, t, m, silent), Outputs: outputs, Book: book, Values: rules,
		Checkpoint: func(ctx context.Context) (*preflight.Kept, error) { return keptOf(ctx, t) }, Now: time.Now, Limit: limit,
	}
	p.Task.MemoryLimit = memoryLimit
	if p.Kafka, err = surveyOf(t); err != nil {
		return nil, err
	}
	for i := range t.Envelopes {
		if t.UsesRegistry(&t.Envelopes[i]) && p.Registry == nil {
			client, err := NewRegistry(&t.SchemaRegistry, nil, silent)
			if err != nil {
				return nil, err
			}
			p.Registry, p.close = asked{client}, append(p.close, client.Close)
		}
	}
	return p, nil
}

// preflightTask takes over what checks must know.
func preflightTask(t *config.Task, outputs []bridge.Output) preflight.Task {
	o := runnerOptions(t, &messages{outputs: outputs}, nil, nil)
	h := &t.Source.Horizon
	out := preflight.Task{
		Name: t.Name, Engine: t.Source.Engine, Layout: t.Source.Layout, Unused: o.Unused,
		Horizon:  source.HorizonOptions{Policy: source.Policy(h.Policy), Settle: h.Settle, MaxWait: h.MaxWait},
		Lookback: lookback(t), Load: o.Load.Mode, OnReset: o.OnReset, Start: o.Start, OwnTopics: o.OwnTopics,
		Principal: t.Kafka.SASL.Username, Brokers: t.Kafka.Brokers,
		Kafka: preflight.KafkaTask{
			Version: t.Kafka.Version, MaxMessageBytes: int64(t.Kafka.MaxMessageBytes), MaxLetterBytes: int64(t.LetterBytes()), TransactionTimeout: t.Kafka.TransactionTimeout, CreateTopics: t.Kafka.CreateTopics,
		},
		RegistryURL: withoutUser(t.SchemaRegistry.URL), Compatibility: t.SchemaRegistry.Compatibility, MemoryBytes: int64(t.Memory.MaxBytes),
	}
	out.Topics = make(map[string]change.TopicRole)
	for i := range outputs {
		if name := outputs[i].MetadataTopic; name != "" {
			out.Topics[name] = change.MetadataTopic
		}
		if name := outputs[i].BoundsTopic; name != "" {
			out.Topics[name] = change.DataTopic
		}
	}
	if o.BadRows.Topic != "" {
		out.Topics[o.BadRows.Topic] = change.DeadLetterTopic
	}
	if t.Checkpoint.Store == config.StoreKafka {
		out.Topics[t.Checkpoint.Topic] = change.CheckpointTopic
	}
	return out
}

// surveyOf asks the brokers of a task.
func surveyOf(t *config.Task) (func(ctx context.Context, topics map[string]change.TopicRole) (*facts.Cluster, error), error) {
	c, err := KafkaConfig(&t.Kafka)
	if err != nil {
		return nil, err
	}
	c.ClientID += "-preflight"
	c.MaxLetterBytes = t.LetterBytes()
	use := kafka.Use{Task: t.Name}
	if t.Delivery == config.ExactlyOnce || t.Checkpoint.Store == config.StoreKafka {
		use.Shards = t.ShardCount()
	}
	if t.Replicated() {
		use.Group = t.HighAvailability.Group
	}
	return func(ctx context.Context, topics map[string]change.TopicRole) (*facts.Cluster, error) {
		asked := use
		asked.Topics = topics
		return kafka.Survey(ctx, c, asked)
	}, nil
}

func keptOf(ctx context.Context, t *config.Task) (*preflight.Kept, error) {
	kept, err := Peek(ctx, t)
	if err != nil {
		return nil, err
	}
	return &preflight.Kept{State: kept.State, Place: kept.Place, Saved: kept.Saved}, nil
}

// asked is the registry's client as checks ask it.
type asked struct{ *registry.Client }

// Newest gives the newest schema of a subject.
func (a asked) Newest(ctx context.Context, subject string) (id int, text string, found bool, err error) {
	s, found, err := a.Latest(ctx, subject)
	return s.ID, s.Text, found, err
}

// Compatible asks whether a schema could come next.
func (a asked) Compatible(ctx context.Context, subject, text string) (ok bool, reasons []string, err error) {
	v, err := a.Client.Compatible(ctx, subject, text)
	return v.Compatible, v.Reasons, err
}

// Level is the compatibility level in force.
func (a asked) Level(ctx context.Context, subject string) (level string, own bool, err error) {
	return a.Compatibility(ctx, subject)
}

// withoutUser is a URL without its credentials.
func withoutUser(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "schema registry"
	}
	u.User = nil
	return u.String()
}
