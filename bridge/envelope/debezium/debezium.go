package debezium

import (
	"errors"
	"fmt"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Envelope declares Debezium's messages.
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

// Declare builds the trees of one table version. Errors have class Table and name table and column.
func (e *Envelope) Declare(t *change.Table) (*envelope.Declaration, error) {
	v, err := newVersion(&e.opts, t)
	if err != nil {
		return nil, fault.New(fault.Table, "debezium envelope: table "+t.ID.String(), err, "correct or leave out the column")
	}
	d := &envelope.Declaration{Value: v.message()}
	if key := v.keyRecord(); key != nil {
		d.Key, d.Headers = key, v.keyHeaders()
	}
	if e.opts.Format != JSONSchema {
		return d, nil
	}
	d.Value = wrapped(d.Value)
	if d.Key != nil {
		d.Key = wrapped(d.Key)
	}
	return d, nil
}

// Expand gives the event itself, or for an UPDATE that changes the message key the DELETE of the old key and the INSERT of the new one.
func (e *Envelope) Expand(dst []*change.Event, ev *change.Event) []*change.Event {
	if !envelope.KeyChanged(ev, e.opts.KeyColumns) {
		return append(dst, ev)
	}
	gone, come := *ev, *ev
	gone.Op, gone.After, gone.Half, gone.Counterpart = change.OpDelete, nil, change.OldKey, ev.After
	come.Op, come.Before, come.Half, come.Counterpart = change.OpInsert, nil, change.NewKey, ev.Before
	for _, half := range []*change.Event{&gone, &come} {
		half.Changed, half.HasChanged = nil, false
	}
	return append(dst, &gone, &come)
}

// version is what the trees of one table version are built from.
type version struct {
	opts      *Options
	table     *change.Table
	columns   []column
	key       []int
	namespace string // of the table's own records
}

// column is one column with its adjusted name and its type.
type column struct {
	*change.Column
	avroName string
	typ      columnType
	required bool
}

func newVersion(opts *Options, t *change.Table) (*version, error) {
	avroNames, err := envelope.ColumnNames(t)
	if err != nil {
		return nil, err
	}
	key, err := envelope.MessageKey(t, opts.KeyColumns)
	v, problems := &version{opts: opts, table: t, key: key, columns: make([]column, len(t.Columns))}, []error{err}
	for i := range t.Columns {
		c := &t.Columns[i]
		typ, err := opts.typeOf(c)
		if err != nil {
			problems = append(problems, fmt.Errorf("column %q (%s): %w", c.Name, c.Native, err))
		}
		v.columns[i] = column{Column: c, avroName: avroNames[i], typ: typ, required: opts.Required == RequiredSource && !c.Nullable}
	}
	for _, i := range v.key {
		v.columns[i].required = opts.Required != RequiredNone && !t.Columns[i].Nullable
	}
	v.namespace = v.name()
	return v, errors.Join(problems...)
}

// name is the common part of the names of the table's records.
func (v *version) name() string {
	if v.opts.Format == Avro {
		return envelope.AvroNamespace(v.opts.path(v.table.ID)...)
	}
	return strings.Join(v.opts.path(v.table.ID), ".")
}

// record is a record of the table's own; its full name is its Connect name.
func (v *version) record(name string, fields []envelope.Field) *envelope.Node {
	return &envelope.Node{
		Shape: envelope.Record, Name: name, Namespace: v.namespace, Fields: fields, Props: semantic(v.namespace+"."+name, 0),
	}
}

// message is the value of a record.
func (v *version) message() *envelope.Node {
	row := make([]envelope.Field, len(v.columns))
	for i := range v.columns {
		row[i] = v.columns[i].field(v.columns[i].node(i, !v.columns[i].required))
	}
	image := func(of func(*change.Event) []change.Value) *envelope.Node {
		n := v.record("Value", row)
		n.Nullable, n.Image = true, of
		return n
	}
	c := clock{of: v.opts.processed}
	root := v.record("Envelope", []envelope.Field{
		{Name: "before", Node: image(before)},
		{Name: "after", Node: image(func(ev *change.Event) []change.Value { return ev.After })},
		{Name: "source", Node: v.source()},
		{Name: "transaction", Node: v.transaction()},
		{Name: "op", Node: text(operation)},
		{Name: "ts_ms", Node: optional(long(c.millis)).As(envelope.RoleRun)},
		{Name: "ts_us", Node: optional(long(c.micros)).As(envelope.RoleRun)},
		{Name: "ts_ns", Node: optional(long(c.nanos)).As(envelope.RoleRun)},
	})
	root.Props = semantic(v.namespace+".Envelope", envelopeVersion)
	return root
}

// before is the old row of an UPDATE or DELETE.
func before(ev *change.Event) []change.Value {
	if ev.Op == change.OpUpdate || ev.Op == change.OpDelete {
		return ev.Before
	}
	return nil
}

var operations = [...]change.Value{
	change.OpInsert: letter("c"), change.OpUpdate: letter("u"), change.OpDelete: letter("d"), change.OpRefresh: letter("r"),
	change.OpTruncate: letter("t"),
}

func letter(s string) change.Value { return change.TextValue([]byte(s)) }

func operation(ev *change.Event, _ *envelope.Scratch) change.Value {
	if int(ev.Op) >= len(operations) {
		return change.Null
	}
	return operations[ev.Op]
}

// keyRecord is the record of the key columns; nil for a table without key.
func (v *version) keyRecord() *envelope.Node {
	if len(v.key) == 0 {
		return nil
	}
	n := v.record("Key", v.keyFields())
	n.Image = func(ev *change.Event) []change.Value { return withKey(ev.Row(), v.key) }
	return n
}

func (v *version) keyFields() []envelope.Field {
	fields := make([]envelope.Field, len(v.key))
	for i, index := range v.key {
		c := &v.columns[index]
		node := c.node(index, c.Nullable)
		node.Absent = nil
		fields[i] = c.field(node)
	}
	return fields
}

// withKey gives no image where a key column was not captured: the encoder refuses the event rather than write a wrong key.
func withKey(row []change.Value, key []int) []change.Value {
	for _, i := range key {
		if i >= len(row) || row[i].Kind == change.KindAbsent {
			return nil
		}
	}
	return row
}

// keyHeaders tell each half of a changed key the other half's key.
func (v *version) keyHeaders() []envelope.Header {
	other := v.record("Key", v.keyFields())
	other.Image = func(ev *change.Event) []change.Value { return withKey(ev.Counterpart, v.key) }
	when := func(half change.Half) func(*change.Event) bool {
		return func(ev *change.Event) bool { return ev.Half == half }
	}
	return []envelope.Header{
		{Name: "__debezium.newkey", Value: other, When: when(change.OldKey)},
		{Name: "__debezium.oldkey", Value: other, When: when(change.NewKey)},
	}
}

// field is the column's member in a record; its Avro name is given only where it had to be adjusted.
func (c *column) field(node *envelope.Node) envelope.Field {
	f := envelope.Field{Name: c.Name, Node: node}
	if c.avroName != c.Name {
		f.AvroName = c.avroName
	}
	return f
}
