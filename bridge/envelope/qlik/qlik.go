package qlik

import (
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Envelope declares Qlik's messages.
type Envelope struct {
	opts Options
}

var _ envelope.Envelope = (*Envelope)(nil)

// New checks the options; every problem is in the error, class Config.
func New(opts Options) (*Envelope, error) {
	opts.fill()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	return &Envelope{opts: opts}, nil
}

// Declare builds the trees of one table version. SchemaID is 32 upper-case hex digits, the same for the same structure, task and version.
// Errors have class Table and name table and column.
func (e *Envelope) Declare(t *change.Table) (*envelope.Declaration, error) {
	v, err := newVersion(&e.opts, t)
	if err != nil {
		return nil, fault.New(fault.Table, "qlik envelope: table "+t.ID.String(), err, "rename or leave out the column")
	}
	record := v.dataRecord()
	schema, err := e.opts.SchemaText(record)
	if err != nil {
		return nil, fault.New(fault.Table, "qlik envelope: schema of table "+t.ID.String(), err, "")
	}
	v.identify(schema)
	d := &envelope.Declaration{Value: v.message("DT", nil, record), Key: v.keyRecord(), SchemaID: string(v.id.Raw)}
	if !e.opts.Metadata {
		return d, nil
	}
	notice, err := v.notice(schema)
	if err != nil {
		return nil, fault.New(fault.Table, "qlik envelope: metadata of table "+t.ID.String(), err, "")
	}
	d.Metadata = []envelope.Notice{notice}
	return d, nil
}

// version is what the trees of one table version are built from.
type version struct {
	opts      *Options
	table     *change.Table
	columns   []column
	namespace string        // of the table's own records
	id        *change.Value // the schema id as text; set by identify, before anything reads it
}

// column is one data column with its adjusted name and the leaf that all its images share.
type column struct {
	*change.Column
	avroName string
	typ      columnType
	node     *envelope.Node
}

func newVersion(opts *Options, t *change.Table) (*version, error) {
	columns, err := declareColumns(t, opts.LogicalTypes && opts.Format != JSON)
	_, missing := envelope.MessageKey(t, opts.KeyColumns)
	if err := errors.Join(err, missing); err != nil {
		return nil, err
	}
	id := change.TextValue(nil)
	return &version{opts: opts, table: t, columns: columns, namespace: opts.namespace(t.ID), id: &id}, nil
}

// message wraps the inner record where the options ask for the envelope. schema is the text of messageSchema, nil for null.
func (v *version) message(kind string, schema *string, inner *envelope.Node) *envelope.Node {
	if v.opts.Format == AvroRegistry || !v.opts.Envelope {
		return inner
	}
	magic := text("atMSG")
	magic.Name = "Magic"
	magic.Avro = envelope.Form{Kind: envelope.FormFixed, Scale: len("atMSG")}
	headers := nullText(nil)
	headers.Avro = envelope.Form{Kind: envelope.FormMap}
	var id *string
	if v.opts.Metadata {
		known := string(v.id.Raw)
		id = &known
	}
	return &envelope.Node{Shape: envelope.Record, Name: "MessageEnvelope", Fields: []envelope.Field{
		{Name: "magic", Node: magic},
		{Name: "type", Node: text(kind)},
		{Name: "headers", Node: headers},
		{Name: "messageSchemaId", Node: nullText(id).As(envelope.RoleSchema)},
		{Name: "messageSchema", Node: nullText(schema)},
		{Name: "message", Node: &envelope.Node{Shape: envelope.Embedded, Inner: inner}},
	}}
}

// sourceName is the pair of members that names the table as the catalog spells it.
func (v *version) sourceName() []envelope.Field {
	return []envelope.Field{
		{Name: "schema", Node: text(v.table.ID.Schema)},
		{Name: "table", Node: text(v.table.ID.Name)},
	}
}

func constant(value *change.Value, kind envelope.FormKind) *envelope.Node {
	form := envelope.Form{Kind: kind}
	return &envelope.Node{Constant: value, Avro: form, JSON: form}
}

func text(s string) *envelope.Node {
	value := change.TextValue([]byte(s))
	return constant(&value, envelope.FormText)
}

func nullText(s *string) *envelope.Node {
	value := change.Null
	if s != nil {
		value = change.TextValue([]byte(*s))
	}
	n := constant(&value, envelope.FormText)
	n.Nullable = true
	return n
}

func number(n int64, kind envelope.FormKind) *envelope.Node {
	value := change.IntValue(n)
	return constant(&value, kind)
}

func columnError(c *change.Column, err error) error {
	return fmt.Errorf("column %q (%s): %w", c.Name, c.Native, err)
}
