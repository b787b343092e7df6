package qlik

import (
	"errors"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// declareColumns maps every column; each one that cannot be carried is in the error. Two names that Avro could not tell apart are an
// error too, as they would be two JSON members of one name.
func declareColumns(t *change.Table, logical bool) ([]column, error) {
	avroNames, err := envelope.ColumnNames(t)
	if err != nil {
		return nil, err
	}
	columns := make([]column, len(t.Columns))
	var problems []error
	for i := range t.Columns {
		c := &t.Columns[i]
		typ, err := typeOf(c, logical)
		if err != nil {
			problems = append(problems, columnError(c, err))
		}
		node := &envelope.Node{Nullable: true, Column: i, Avro: typ.avro, JSON: typ.json}
		columns[i] = column{Column: c, avroName: avroNames[i], typ: typ, node: node}
	}
	return columns, errors.Join(problems...)
}

// field is the column's member in a record; its Avro name is given only where it had to be adjusted.
func (c *column) field(node *envelope.Node) envelope.Field {
	f := envelope.Field{Name: c.Name, Node: node}
	if c.avroName != c.Name {
		f.AvroName = c.avroName
	}
	return f
}

// dataRecord is the data message proper: {data, beforeData, headers}, with schema and table before them by option. data is nullable only
// where a deleted row shows in beforeData alone.
func (v *version) dataRecord() *envelope.Node {
	row := make([]envelope.Field, len(v.columns))
	for i := range v.columns {
		row[i] = v.columns[i].field(v.columns[i].node)
	}
	image := func(nullable bool, of func(*change.Event) []change.Value) *envelope.Node {
		return &envelope.Node{
			Shape: envelope.Record, Name: v.opts.Names.Row, Namespace: v.namespace, Nullable: nullable, Fields: row, Image: of,
		}
	}
	fields := []envelope.Field{
		{Name: v.opts.Names.Data, Node: image(v.opts.DeleteRowIn == InBeforeData, v.opts.dataImage())},
		{Name: v.opts.Names.BeforeData, Node: image(true, v.opts.beforeImage())},
		{Name: v.opts.Names.Headers, Node: v.headers()},
	}
	if v.opts.IncludeSourceName == NameInMessage {
		fields = append(v.sourceName(), fields...)
	}
	return &envelope.Node{
		Shape: envelope.Record, Name: v.opts.Names.DataRecord, Namespace: v.namespace, Doc: v.adjusted(), Fields: fields,
	}
}

// messageKey gives the columns of the message key; newVersion has refused a table that lacks one.
func (o *Options) messageKey(t *change.Table) []int {
	key, _ := envelope.MessageKey(t, o.KeyColumns)
	return key
}

// rowKey gives the columns that tell rows apart: the primary key, or the columns the user chose for a table without one.
func (o *Options) rowKey(t *change.Table) []int {
	if len(t.Key) > 0 {
		return t.Key
	}
	return o.messageKey(t)
}

// keyRecord is the record of the key columns in key order; nil for a table without key. Where the base table says NOT NULL the field is
// not nullable. A key column that was not captured leaves no image: the encoder refuses the event rather than write a wrong key.
func (v *version) keyRecord() *envelope.Node {
	key := v.opts.messageKey(v.table)
	if len(key) == 0 {
		return nil
	}
	fields := make([]envelope.Field, len(key))
	for i, index := range key {
		c := &v.columns[index]
		node := *c.node
		node.Nullable = c.Nullable
		fields[i] = c.field(&node)
	}
	return &envelope.Node{
		Shape: envelope.Record, Name: v.opts.Names.KeyRecord, Namespace: v.namespace, Doc: v.adjusted(), Fields: fields,
		Image: func(ev *change.Event) []change.Value { return withKey(ev.Row(), key) },
	}
}

func withKey(row []change.Value, key []int) []change.Value {
	for _, i := range key {
		if i >= len(row) || row[i].Kind == change.KindAbsent {
			return nil
		}
	}
	return row
}

// dataImage chooses the row that data shows: the new one, or the deleted one where the options want it there.
func (o *Options) dataImage() func(*change.Event) []change.Value {
	if o.DeleteRowIn != InBeforeData {
		return (*change.Event).Row
	}
	return func(ev *change.Event) []change.Value { return ev.After }
}

// beforeImage chooses the row that beforeData shows: the old one of an UPDATE, and of a DELETE by option.
func (o *Options) beforeImage() func(*change.Event) []change.Value {
	update, deleted := o.BeforeImage, o.DeleteRowIn != InData
	return func(ev *change.Event) []change.Value {
		if update && ev.Op == change.OpUpdate || deleted && ev.Op == change.OpDelete {
			return ev.Before
		}
		return nil
	}
}

// namespace fills the template of a table's namespace. Every segment is adjusted by itself: a dot or a hyphen in a name stays inside it.
func (o *Options) namespace(id change.TableID) string {
	fill := strings.NewReplacer("{task}", o.Task, "{schema}", id.Schema, "{table}", id.Name)
	var segments []string
	for _, part := range strings.Split(o.Names.TableNamespace, ".") {
		if part == "{namespace}" {
			segments = append(segments, o.Names.Namespace)
			continue
		}
		if name := fill.Replace(part); name != "" {
			segments = append(segments, envelope.AvroName(name))
		}
	}
	return strings.Join(segments, ".")
}

// adjusted is the doc of a table's records where the namespace could not keep the table's name.
func (v *version) adjusted() string {
	id := v.table.ID
	if legal(id.Name) && (id.Schema == "" || legal(id.Schema)) {
		return ""
	}
	return id.String()
}
