package wiring

import (
	"context"
	"log/slog"

	"ctbridge/bridge"
	"ctbridge/bridge/config"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/metrics"
	"ctbridge/schema"
	"ctbridge/schema/registry"
)

// messages is how events become bytes.
type messages struct {
	outputs  []bridge.Output
	registry *registry.Client // nil without one
	asked    func(err error)  // hears what became of each question to the registry
}

// probe asks the registry, where there is one.
func (m *messages) probe() func(ctx context.Context) error {
	if m.registry == nil {
		return nil
	}
	return func(ctx context.Context) error {
		err := m.registry.Ping(ctx)
		m.asked(err)
		return err
	}
}

// watched tells whether the registry answered. One that refuses a schema did.
type watched struct {
	registry schema.Registry
	asked    func(err error)
}

// Register asks and tells.
func (w watched) Register(ctx context.Context, subject, text string) (int, error) {
	id, err := w.registry.Register(ctx, subject, text)
	if class := fault.ClassOf(err); err == nil || class == fault.Table || class == fault.Config {
		w.asked(nil)
	} else {
		w.asked(err)
	}
	return id, err
}

func (m *messages) Close() error {
	if m.registry == nil {
		return nil
	}
	return m.registry.Close()
}

func newMessages(t *config.Task, m *metrics.Metrics, log *slog.Logger) (*messages, error) {
	out := &messages{}
	var schemas schema.Registry
	for i := range t.Envelopes {
		if t.UsesRegistry(&t.Envelopes[i]) && out.registry == nil {
			client, err := NewRegistry(&t.SchemaRegistry, m.SchemaRegistered, log)
			if err != nil {
				return nil, err
			}
			out.registry, out.asked, schemas = client, m.RegistryReachable, watched{client, m.RegistryReachable}
		}
	}
	var err error
	out.outputs, err = Outputs(t, schemas)
	return out, err
}

// Outputs builds what a task publishes. The registry keeps the schemas of outputs that use one; nothing is asked of it yet.
func Outputs(t *config.Task, r schema.Registry) ([]bridge.Output, error) {
	outputs := make([]bridge.Output, len(t.Envelopes))
	for i := range t.Envelopes {
		var err error
		if outputs[i], err = newOutput(t, &t.Envelopes[i], r); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

func newOutput(t *config.Task, o *config.Output, r schema.Registry) (out bridge.Output, err error) {
	out = bridge.Output{
		Name: o.Name, Format: formatOf(t, o, r), Topic: o.TopicFor, SharedTopics: o.SharedTopic(),
		KeyMode: envelope.KeyMode(o.Key.Mode), KeyColumns: o.Key.ColumnsOf, Tombstones: o.Tombstones == "true",
	}
	if o.HasMetadataTopic() {
		out.MetadataTopic, out.MetadataFormat, out.Notices = o.MetadataTopic, o.Format, out.Format
	}
	switch o.Key.Format {
	case config.FormatAvro:
		out.KeyFormat = out.Format
	case config.FormatJSON:
		out.KeyFormat = schema.JSON{}
	}
	if out.BoundsTopic = t.TransactionTopic(o); out.BoundsTopic != "" {
		if out.Bounds, err = newBounds(t, o); err != nil {
			return out, err
		}
	}
	out.Envelope, err = newEnvelope(t, o)
	return out, err
}

// formatOf is JSON, Avro through the registry, or plain Avro where there is none.
func formatOf(t *config.Task, o *config.Output, r schema.Registry) bridge.Format {
	switch {
	case o.Format != config.FormatAvro:
		return schema.JSON{}
	case t.UsesRegistry(o):
		return schema.NewRegistered(r, schema.Strategy(o.SubjectStrategy))
	}
	return schema.Avro{}
}

// NewRegistry builds the client of the schema_registry section; registered hears of every new schema.
func NewRegistry(r *config.SchemaRegistry, registered func(), log *slog.Logger) (*registry.Client, error) {
	tls, err := tlsConfig("schema_registry.tls", &r.TLS)
	if err != nil {
		return nil, err
	}
	return registry.New(registry.Config{
		URL: r.URL, Username: r.Username, Password: r.Password.Reveal(), Bearer: r.Bearer.Reveal(), TLS: tls, Timeout: r.Timeout,
		Compatibility: r.Compatibility, Registered: registered, Log: log,
	})
}
