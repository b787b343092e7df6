package wiring

import (
	"context"
	"log/slog"

	"ctbridge/bridge"
	"ctbridge/bridge/config"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/envelope/qlik"
	"ctbridge/metrics"
	"ctbridge/schema"
	"ctbridge/schema/avro"
	"ctbridge/schema/registry"
)

// messages is how events become bytes.
type messages struct {
	envelope envelope.Envelope
	format   bridge.Format
	notices  bridge.Format    // of metadata messages
	registry *registry.Client // nil without one
}

// probe asks the registry, where there is one.
func (m *messages) probe() func(ctx context.Context) error {
	if m.registry == nil {
		return nil
	}
	return m.registry.Ping
}

func (m *messages) Close() error {
	if m.registry == nil {
		return nil
	}
	return m.registry.Close()
}

// envelopes builds each output format family.
var envelopes = map[string]func(t *config.Task, f qlik.Format) (envelope.Envelope, error){
	"qlik": newQlik,
}

func newMessages(t *config.Task, m *metrics.Metrics, log *slog.Logger) (*messages, error) {
	out := &messages{format: schema.JSON{}, notices: schema.JSON{}}
	kind := qlik.JSON
	switch {
	case t.Format == config.FormatAvro && t.SchemaRegistry.Enabled():
		client, err := NewRegistry(&t.SchemaRegistry, m.SchemaRegistered, log)
		if err != nil {
			return nil, err
		}
		out.registry = client
		out.format, kind = schema.NewRegistered(client, schema.Strategy(t.SchemaRegistry.SubjectStrategy)), qlik.AvroRegistry
	case t.Format == config.FormatAvro:
		out.format, out.notices, kind = schema.Avro{}, schema.Avro{}, qlik.Avro
	}
	var err error
	out.envelope, err = envelopes[t.Envelope](t, kind)
	return out, err
}

func newQlik(t *config.Task, format qlik.Format) (envelope.Envelope, error) {
	q, n := &t.Qlik, &t.Qlik.Names
	return qlik.New(qlik.Options{
		Task: t.Name, Server: t.Server, Format: format, Envelope: q.Envelope, LogicalTypes: q.LogicalTypes, BeforeImage: q.BeforeImage,
		DeleteRowIn: qlik.Place(q.DeleteRowIn), KeyChange: qlik.KeyChange(q.KeyChange), IncludeSourceName: qlik.SourceName(q.IncludeSourceName),
		ExternalSchemaID: q.ExternalSchemaID, Metadata: q.Metadata == config.MetadataTopic, MetadataKey: qlik.MetadataKey(q.MetadataKey),
		Names: qlik.Names{
			Data: n.Data, BeforeData: n.BeforeData, Headers: n.Headers, DataRecord: n.DataRecord, Row: n.Row, KeyRecord: n.KeyRecord,
			HeadersRecord: n.HeadersRecord, Namespace: n.Namespace, TableNamespace: n.TableNamespace,
		},
		SchemaText: avro.SchemaText,
	})
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
