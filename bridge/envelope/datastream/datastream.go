package datastream

import (
	"errors"
	"fmt"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Envelope declares Datastream's events.
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

// Declare builds the trees of one table version. SchemaID is the schema_key: 40 lower-case hex digits, the same for the same columns, key and
// engine. Errors have class Table and name table and column.
func (e *Envelope) Declare(t *change.Table) (*envelope.Declaration, error) {
	v, err := newVersion(&e.opts, t)
	if err != nil {
		return nil, fault.New(fault.Table, "datastream envelope: table "+t.ID.String(), err, "rename or leave out the column")
	}
	return &envelope.Declaration{Value: v.event(), Key: v.keyRecord(), SchemaID: v.schemaKey()}, nil
}

// version is what the trees of one table version are built from.
type version struct {
	opts    *Options
	table   *change.Table
	key     []int // of the chosen columns, or the primary key
	columns []column
}

// column is one data column with its adjusted name and its type.
type column struct {
	*change.Column
	avroName string
	unified
}

func newVersion(opts *Options, t *change.Table) (*version, error) {
	v := &version{opts: opts, table: t}
	var problems [2]error
	v.key, problems[0] = envelope.MessageKey(t, opts.KeyColumns)
	v.columns, problems[1] = opts.columnsOf(t)
	return v, errors.Join(problems[:]...)
}

// columnsOf maps every column; each one that cannot be carried is in the error, and so are two names that Avro could not tell apart.
func (o *Options) columnsOf(t *change.Table) ([]column, error) {
	avroNames, err := envelope.ColumnNames(t)
	if err != nil {
		return nil, err
	}
	columns := make([]column, len(t.Columns))
	var problems []error
	for i := range t.Columns {
		c := &t.Columns[i]
		typ, err := o.typeOf(c)
		if err != nil {
			problems = append(problems, fmt.Errorf("column %q (%s): %w", c.Name, c.Native, err))
		}
		columns[i] = column{Column: c, avroName: avroNames[i], unified: typ}
	}
	return columns, errors.Join(problems...)
}

// object names what events are grouped by: schema_table, with the characters of the source.
func (v *version) object() string {
	id := v.table.ID
	if id.Schema == "" {
		return id.Name
	}
	return id.Schema + "_" + id.Name
}

// event is the whole message in the documented order.
func (v *version) event() *envelope.Node {
	n := recordOf(rootName(v.object()),
		field("uuid", text(v.uuid())),
		field("read_timestamp", moment(v.readTimestamp()).As(envelope.RoleRun)),
		field("source_timestamp", moment(v.sourceTimestamp()).As(envelope.RoleMoment)),
		field("object", constant(v.object())),
		field("read_method", text(v.readMethod())),
		field("stream_name", constant(v.opts.Stream)),
		field("schema_key", constant(v.schemaKey()).As(envelope.RoleSchema)),
		field("sort_keys", v.sortKeys()),
		field("source_metadata", recordOf("source_metadata", v.sourceMetadata()...)),
		field("payload", v.payload()))
	return n
}

// payload is the row that stands for the event: the new one, or the deleted one. It is never null.
func (v *version) payload() *envelope.Node {
	fields := make([]envelope.Field, len(v.columns))
	for i := range v.columns {
		fields[i] = v.columns[i].field(i)
	}
	n := recordOf("payload", fields...)
	n.Image = (*change.Event).Row
	n.Check = v.check
	return n
}

// field is the column's member in a record: nullable, whatever the database says, because consumers expect unions of two branches.
func (c *column) field(i int) envelope.Field {
	f := field(c.Name, c.node(i))
	if c.avroName != c.Name {
		f.AvroName = c.avroName
	}
	return f
}

// keyRecord is the record of the key columns in key order; nil for a table without key. A key column that was not captured is an error.
func (v *version) keyRecord() *envelope.Node {
	if len(v.key) == 0 {
		return nil
	}
	fields := make([]envelope.Field, len(v.key))
	for n, i := range v.key {
		fields[n] = v.columns[i].field(i)
		fields[n].Node.Nullable = v.columns[i].Nullable
	}
	n := recordOf(rootName(v.object())+"_key", fields...)
	n.Image = (*change.Event).Row
	n.Check = v.checkKey
	return n
}

// reserved are the names of the records below the root.
var reserved = []string{"source_metadata", "payload", "datetime", "timestampTz", "timeTz", "interval"}

// rootName replaces what Avro refuses in a name by underscores, as the original does. One more is added to a name that a record below has.
func rootName(object string) string {
	var b strings.Builder
	for i, r := range object {
		switch {
		case r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
			b.WriteRune(r)
		case '0' <= r && r <= '9':
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	for _, name := range reserved {
		if b.String() == name {
			return name + "_"
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

func recordOf(name string, fields ...envelope.Field) *envelope.Node {
	return &envelope.Node{Shape: envelope.Record, Name: name, Fields: fields}
}

func field(name string, n *envelope.Node) envelope.Field { return envelope.Field{Name: name, Node: n} }

// leaf is a value of the event, written alike in both formats.
func leaf(get envelope.Getter, kind envelope.FormKind) *envelope.Node {
	form := envelope.Form{Kind: kind}
	return &envelope.Node{Get: get, Avro: form, JSON: form}
}

func text(get envelope.Getter) *envelope.Node { return leaf(get, envelope.FormText) }

// moment is a time in milliseconds: 2021-12-25T05:42:04.408Z.
func moment(get envelope.Getter) *envelope.Node {
	n := leaf(get, envelope.FormTimestampMillis)
	n.JSON = envelope.Form{Kind: envelope.FormISOInstant, Scale: 3}
	return n
}

func constant(s string) *envelope.Node {
	value, form := change.TextValue([]byte(s)), envelope.Form{Kind: envelope.FormText}
	return &envelope.Node{Constant: &value, Avro: form, JSON: form}
}

func nullable(n *envelope.Node) *envelope.Node {
	n.Nullable = true
	return n
}
