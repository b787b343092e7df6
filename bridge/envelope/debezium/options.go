package debezium

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Format says how messages are written.
type Format string

// The formats. They decide how names are spelled: Avro's are adjusted to be legal.
const (
	JSON       Format = "json"        // the bare message
	JSONSchema Format = "json-schema" // {schema, payload}
	Avro       Format = "avro"        // of the Confluent wire format
)

// Engine is the database that the change tables lie in: it decides the source block, the names and a few types.
type Engine string

// The engines, named as the configuration does.
const (
	SQLServer Engine = "sqlserver"
	Postgres  Engine = "postgres"
	MySQL     Engine = "mysql"
	SQLite    Engine = "sqlite"
)

// Decimals is Debezium's decimal.handling.mode.
type Decimals string

// The modes.
const (
	DecimalPrecise Decimals = "precise" // the unscaled number as bytes, base64 in JSON
	DecimalDouble  Decimals = "double"  // the nearest double
	DecimalString  Decimals = "string"  // all digits as text
)

// Times is Debezium's time.precision.mode.
type Times string

// The modes. A value that is finer than its mode's unit is an error.
const (
	TimeAdaptive       Times = "adaptive"                   // milli-, micro- or nanoseconds after the column's digits
	TimeAdaptiveMicros Times = "adaptive_time_microseconds" // the same, but microseconds for every TIME, signed durations included
	TimeConnect        Times = "connect"                    // milliseconds, as Connect's own types
	TimeISO            Times = "isostring"                  // ISO 8601 in UTC
	TimeMicros         Times = "microseconds"
	TimeNanos          Times = "nanoseconds" // moments outside 1677..2262 are errors
)

// Binary is Debezium's binary.handling.mode.
type Binary string

// The modes.
const (
	BinaryBytes  Binary = "bytes" // base64 in JSON
	BinaryBase64 Binary = "base64"
	BinaryHex    Binary = "hex" // lower case
)

// Unsigned is Debezium's bigint.unsigned.handling.mode.
type Unsigned string

// The modes.
const (
	UnsignedLong    Unsigned = "long"    // a number above 2^63-1 is an error
	UnsignedPrecise Unsigned = "precise" // as a decimal of 20 digits, in the way of DecimalPrecise
)

// Required says which columns of a row are not nullable in its schema.
type Required string

// The choices.
const (
	RequiredKeys   Required = "keys"   // NOT NULL columns of the message key
	RequiredSource Required = "source" // NOT NULL columns: one that was not captured and is no text is an error
	RequiredNone   Required = "none"
)

// Placeholder is what Debezium's users know to mean "not captured".
const Placeholder = "__debezium_unavailable_value"

// Options is what a user can set. New takes an empty string for its default.
type Options struct {
	Engine   Engine // required
	LSN      bool   // the layout's stream positions are SQL Server's commit and change LSN, and go into the source block
	Prefix   string // logical name of the source, Debezium's topic.prefix: source.name and the first part of names; required
	Database string // source.db; not asked for with mysql, whose schemas are its databases
	Version  string // source.version; default "ctbridge"

	Format   Format   // default json
	Decimals Decimals // default precise, but string for bare JSON, which would not say the scale
	Times    Times    // default adaptive, with mysql adaptive_time_microseconds
	Binary   Binary   // default bytes
	Unsigned Unsigned // default long
	Required Required // default keys

	Unavailable   string   // what stands for text and bytes that were not captured; default Placeholder
	NoTransaction bool     // the transaction block is always null
	KeyColumns    []string // columns of the message key where it is not the primary key

	Now func() time.Time // clock of ts_ms, ts_us and ts_ns; default time.Now
}

func (o *Options) fill() {
	o.Version = cmp.Or(o.Version, "ctbridge")
	o.Format = cmp.Or(o.Format, JSON)
	decimals, times := DecimalPrecise, TimeAdaptive
	if o.Format == JSON {
		decimals = DecimalString
	}
	if o.Engine == MySQL {
		times = TimeAdaptiveMicros
	}
	o.Decimals = cmp.Or(o.Decimals, decimals)
	o.Times = cmp.Or(o.Times, times)
	o.Binary = cmp.Or(o.Binary, BinaryBytes)
	o.Unsigned = cmp.Or(o.Unsigned, UnsignedLong)
	o.Required = cmp.Or(o.Required, RequiredKeys)
	o.Unavailable = cmp.Or(o.Unavailable, Placeholder)
	if o.Now == nil {
		o.Now = time.Now
	}
}

// validate gives every problem at once, class Config.
func (o *Options) validate() error {
	problems := []error{
		envelope.OneOf("Engine", o.Engine, SQLServer, Postgres, MySQL, SQLite),
		envelope.OneOf("Format", o.Format, JSON, JSONSchema, Avro),
		envelope.OneOf("Decimals", o.Decimals, DecimalPrecise, DecimalDouble, DecimalString),
		envelope.OneOf("Times", o.Times, TimeAdaptive, TimeAdaptiveMicros, TimeConnect, TimeISO, TimeMicros, TimeNanos),
		envelope.OneOf("Binary", o.Binary, BinaryBytes, BinaryBase64, BinaryHex),
		envelope.OneOf("Unsigned", o.Unsigned, UnsignedLong, UnsignedPrecise),
		envelope.OneOf("Required", o.Required, RequiredKeys, RequiredSource, RequiredNone),
		envelope.Refuse(o.Prefix == "", "Prefix is empty: it names the source in every message"),
		envelope.Refuse(o.Database == "" && (o.Engine == SQLServer || o.Engine == Postgres), "Database is empty: source.db names it"),
		envelope.Refuse(o.LSN && o.Engine != SQLServer, "LSN: engine %s has none", o.Engine),
	}
	for i, name := range o.KeyColumns {
		problems = append(problems, envelope.Refuse(slices.Contains(o.KeyColumns[:i], name), "KeyColumns: %q stands there twice", name))
	}
	if err := errors.Join(problems...); err != nil {
		return fault.New(fault.Config, "debezium envelope", err, "")
	}
	return nil
}

// database is the name that source.db has for a table.
func (o *Options) database(id change.TableID) string {
	if o.Engine == MySQL {
		return id.Schema
	}
	return o.Database
}

// path is the name of a table's messages, in parts: what Debezium names the topic. It is prefix.database.schema.table for SQL Server,
// prefix.schema.table for PostgreSQL, prefix.database.table for MySQL, prefix.table for SQLite.
func (o *Options) path(id change.TableID) []string {
	parts := strings.Split(o.Prefix, ".")
	if o.Engine == SQLServer {
		parts = append(parts, o.Database)
	}
	if id.Schema != "" {
		parts = append(parts, id.Schema)
	}
	return append(parts, id.Name)
}
