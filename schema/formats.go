package schema

import (
	"context"

	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/avro"
	"ctbridge/schema/jsonenc"
)

// JSON is the format of JSON messages.
type JSON struct{}

// Value compiles the encoder of a topic's values. Errors have class Table.
func (JSON) Value(_ context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	e, err := jsonenc.Compile(n)
	if err != nil {
		return nil, uncompiled(topic, err)
	}
	return e, nil
}

// Key compiles the encoder of a topic's keys. Errors have class Table.
func (f JSON) Key(ctx context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	return f.Value(ctx, topic, n)
}

// Avro is the format of plain Avro binary: no container, nothing in front. Readers must know the schema from elsewhere.
type Avro struct{}

// Value compiles the encoder of a topic's values. Errors have class Table.
func (Avro) Value(_ context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	e, err := avro.Compile(n)
	if err != nil {
		return nil, uncompiled(topic, err)
	}
	return e, nil
}

// Key compiles the encoder of a topic's keys. Errors have class Table.
func (f Avro) Key(ctx context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	return f.Value(ctx, topic, n)
}

func uncompiled(topic string, err error) error {
	return fault.New(fault.Table, "messages for topic "+topic, err, "leave out the columns that are named, or rename them")
}
