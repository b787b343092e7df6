package debezium

import (
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

var _ envelope.Bounds = (*Envelope)(nil)

const metadataNamespace = "io.debezium.connector.common"

// DeclareBound declares the messages of the transaction topic: BEGIN with the id alone, END with the number of events, in all and by table.
func (e *Envelope) DeclareBound(tables int) *envelope.Declaration {
	id := envelope.Field{Name: "id", Node: text(transactionID)}
	c := clock{of: e.opts.changed}
	count := optional(long(func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if !ev.Last {
			return change.Null
		}
		return change.IntValue(ev.Counter)
	}))
	d := &envelope.Declaration{
		Key: metadata("TransactionMetadataKey", id),
		Value: metadata("TransactionMetadataValue",
			envelope.Field{Name: "status", Node: text(status)}, id,
			envelope.Field{Name: "event_count", Node: count},
			envelope.Field{Name: "data_collections", Node: collections(tables), Props: []envelope.Prop{{Name: "default", Value: "null"}}},
			envelope.Field{Name: "ts_ms", Node: long(c.millis)}),
	}
	if e.opts.Format == JSONSchema {
		d.Key, d.Value = wrapped(d.Key), wrapped(d.Value)
	}
	return d
}

// Collection names a table by its path without the prefix.
func (e *Envelope) Collection(id change.TableID) string {
	return strings.Join(e.opts.path(id)[strings.Count(e.opts.Prefix, ".")+1:], ".")
}

func metadata(name string, fields ...envelope.Field) *envelope.Node {
	return &envelope.Node{
		Shape: envelope.Record, Name: name, Namespace: metadataNamespace, Fields: fields, Props: semantic(metadataNamespace+"."+name, 1),
		Image: func(ev *change.Event) []change.Value { return ev.After },
	}
}

func transactionID(ev *change.Event, _ *envelope.Scratch) change.Value {
	return change.TextValue(ev.TransactionID)
}

var begun, ended = letter("BEGIN"), letter("END")

func status(ev *change.Event, _ *envelope.Scratch) change.Value {
	if ev.Last {
		return ended
	}
	return begun
}

// collections is an array with an item for each table, or null for none.
func collections(tables int) *envelope.Node {
	items := make([]*envelope.Node, tables)
	for i := range items {
		items[i] = collection(i)
	}
	null := envelope.Form{Kind: envelope.FormNull}
	n := &envelope.Node{Shape: envelope.Union, Branches: []*envelope.Node{
		{Avro: null, JSON: null}, {Shape: envelope.Array, Item: collection(0), Items: items},
	}}
	if tables > 0 {
		n.Branch = 1
	}
	return n
}

func collection(i int) *envelope.Node {
	leaf := func(column int, kind envelope.FormKind) *envelope.Node {
		form := envelope.Form{Kind: kind}
		return &envelope.Node{Column: column, Avro: form, JSON: form}
	}
	return &envelope.Node{
		Shape: envelope.Record, Name: "collection", Namespace: "event", Nullable: true, Props: semantic("event.collection", 1),
		Fields: []envelope.Field{
			{Name: "data_collection", Node: leaf(2*i, envelope.FormText)},
			{Name: "event_count", Node: leaf(2*i+1, envelope.FormLong)},
		},
	}
}
