package qlik

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Format says how messages are written.
type Format string

// The formats.
const (
	JSON         Format = "json"          // DT and MD as JSON
	Avro         Format = "avro"          // the inner record as Avro binary inside the MessageEnvelope, itself plain Avro binary
	AvroRegistry Format = "avro-registry" // the bare DataRecord, for the Confluent wire format
)

// Place says which member shows the row of a DELETE.
type Place string

// The places.
const (
	InData       Place = "data"
	InBeforeData Place = "beforeData"
	InBoth       Place = "both"
)

// KeyChange says what an UPDATE that changes a key column becomes.
type KeyChange string

// The two ways.
const (
	AsUpdate       KeyChange = "update"        // one UPDATE, the old key in beforeData
	AsDeleteInsert KeyChange = "delete_insert" // a DELETE of the old row, then an INSERT of the new one
)

// SourceName says where messages name their table.
type SourceName string

// The choices.
const (
	NameOff       SourceName = "off"
	NameInHeaders SourceName = "headers" // schema and table as last members of headers
	NameInMessage SourceName = "message" // schema and table as first members of the data message
)

// MetadataKey says what the record key of a metadata message is.
type MetadataKey string

// The choices.
const (
	KeyBySchemaID MetadataKey = "schema_id" // a compacted topic keeps every version: old data messages stay readable
	KeyByTable    MetadataKey = "table"     // a compacted topic keeps the newest version of each table
)

// Options is what a user can set. Defaults gives every default; New also takes an empty string for its default.
type Options struct {
	Task   string // task name in lineage and namespaces; required
	Server string // server name in lineage; required with Metadata

	Format   Format // default json
	Envelope bool   // JSON: wrap messages in {magic, type, …, message}; always on for avro, never for avro-registry; default true

	// LogicalTypes writes DATE, TIME, DATETIME, NUMERIC and UINT8 as Avro logical types instead of text; JSON has none and ignores it.
	// Values that the logical type cannot hold (a seventh fractional digit, a MySQL TIME beyond the day) are errors (I6). Default false.
	LogicalTypes bool

	BeforeImage       bool       // false: beforeData is always null; default true
	DeleteRowIn       Place      // default data
	KeyChange         KeyChange  // default update
	KeyColumns        []string   // columns of the message key where it is not the primary key; default none
	IncludeSourceName SourceName // default off
	ExternalSchemaID  bool       // headers.externalSchemaId carries the schema id; default false

	// Metadata publishes an MD for each table version and fills messageSchemaId; not with avro-registry, where the registry holds the
	// schemas. Default false.
	Metadata    bool
	MetadataKey MetadataKey // default schema_id

	Names Names

	SchemaText func(*envelope.Node) (string, error) // Avro schema text of a tree; required
	Now        func() time.Time                     // clock of lineage.timestamp; default time.Now
}

// Names are the names of sections and records.
type Names struct {
	Data       string // default data
	BeforeData string // default beforeData
	Headers    string // default headers

	DataRecord    string // Avro record of the whole message; default DataRecord
	Row           string // Avro record of one row image; default Data
	KeyRecord     string // Avro record of the key; default KeyRecord
	HeadersRecord string // Avro record of the headers; default Headers

	Namespace string // Avro namespace of what all tables share; default com.attunity.queue.msg
	// TableNamespace is the namespace of one table's records, a template over {namespace}, {task}, {schema} and {table}, each adjusted
	// to a legal name; a segment that comes out empty is left out. Default {namespace}.{task}.{schema}.{table}
	TableNamespace string
}

// Defaults gives the options that New would take for a task whose user set nothing. SchemaText is still to be filled in.
func Defaults(task, server string) Options {
	o := Options{Task: task, Server: server, Envelope: true, BeforeImage: true}
	o.fill()
	return o
}

// fill puts the default where a string or the clock is empty.
func (o *Options) fill() {
	o.Format = cmp.Or(o.Format, JSON)
	o.DeleteRowIn = cmp.Or(o.DeleteRowIn, InData)
	o.KeyChange = cmp.Or(o.KeyChange, AsUpdate)
	o.IncludeSourceName = cmp.Or(o.IncludeSourceName, NameOff)
	o.MetadataKey = cmp.Or(o.MetadataKey, KeyBySchemaID)
	n := &o.Names
	n.Data = cmp.Or(n.Data, "data")
	n.BeforeData = cmp.Or(n.BeforeData, "beforeData")
	n.Headers = cmp.Or(n.Headers, "headers")
	n.DataRecord = cmp.Or(n.DataRecord, "DataRecord")
	n.Row = cmp.Or(n.Row, "Data")
	n.KeyRecord = cmp.Or(n.KeyRecord, "KeyRecord")
	n.HeadersRecord = cmp.Or(n.HeadersRecord, "Headers")
	n.Namespace = cmp.Or(n.Namespace, "com.attunity.queue.msg")
	n.TableNamespace = cmp.Or(n.TableNamespace, "{namespace}.{task}.{schema}.{table}")
	if o.Now == nil {
		o.Now = time.Now
	}
}

// validate gives every problem at once, class Config.
func (o *Options) validate() error {
	problems := []error{
		envelope.OneOf("Format", o.Format, JSON, Avro, AvroRegistry),
		envelope.OneOf("DeleteRowIn", o.DeleteRowIn, InData, InBeforeData, InBoth),
		envelope.OneOf("KeyChange", o.KeyChange, AsUpdate, AsDeleteInsert),
		envelope.OneOf("IncludeSourceName", o.IncludeSourceName, NameOff, NameInHeaders, NameInMessage),
		envelope.OneOf("MetadataKey", o.MetadataKey, KeyBySchemaID, KeyByTable),
		envelope.Refuse(o.Task == "", "Task is empty: namespaces and lineage need it"),
		envelope.Refuse(o.Server == "" && o.Metadata, "Server is empty: metadata messages name it"),
		envelope.Refuse(o.SchemaText == nil, "SchemaText is missing"),
		envelope.Refuse(o.Format == Avro && !o.Envelope, "Envelope off with format avro: nothing would name the schema of a message (use avro-registry or json)"),
		envelope.Refuse(o.Format == AvroRegistry && o.Metadata, "Metadata with format avro-registry: the registry holds the schemas (use json or avro)"),
		envelope.Distinct("KeyColumns", o.KeyColumns...),
		envelope.Refuse(!o.BeforeImage && o.DeleteRowIn != InData, "DeleteRowIn %s with BeforeImage off: beforeData would always be null", o.DeleteRowIn),
	}
	if err := errors.Join(append(problems, o.Names.problems()...)...); err != nil {
		return fault.New(fault.Config, "qlik envelope", err, "")
	}
	return nil
}

func (n *Names) problems() []error {
	var problems []error
	for _, part := range []struct{ option, name string }{
		{"Data", n.Data}, {"BeforeData", n.BeforeData}, {"Headers", n.Headers}, {"DataRecord", n.DataRecord},
		{"Row", n.Row}, {"KeyRecord", n.KeyRecord}, {"HeadersRecord", n.HeadersRecord},
	} {
		problems = append(problems, envelope.Refuse(!legal(part.name), "Names.%s: %q is not an Avro name", part.option, part.name))
	}
	for _, segment := range strings.Split(n.Namespace, ".") {
		problems = append(problems, envelope.Refuse(!legal(segment), "Names.Namespace: %q is not an Avro name", segment))
	}
	sample := strings.NewReplacer("{task}", "t", "{schema}", "s", "{table}", "t")
	for _, segment := range strings.Split(n.TableNamespace, ".") {
		bad := segment != "{namespace}" && !legal(sample.Replace(segment))
		problems = append(problems, envelope.Refuse(bad, "Names.TableNamespace: %q is neither a placeholder nor an Avro name", segment))
	}
	return append(problems,
		envelope.Refuse(!strings.Contains(n.TableNamespace, "{table}"), "Names.TableNamespace: without {table} the records of all tables would share one name"),
		envelope.Distinct("Names of sections", n.Data, n.BeforeData, n.Headers, "schema", "table"),
		envelope.Distinct("Names of records", n.DataRecord, n.Row, n.KeyRecord, n.HeadersRecord, operationName))
}

func legal(name string) bool { return name != "" && envelope.AvroName(name) == name }
