package datastream

import (
	"cmp"
	"errors"
	"time"

	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Engine is the database that events come from. It decides source_metadata and the unified types.
type Engine string

// The engines, named as source.engine is.
const (
	SQLServer Engine = "sqlserver"
	Postgres  Engine = "postgres"
	MySQL     Engine = "mysql"
	SQLite    Engine = "sqlite"
)

// Layout is the kind of change tables, named as source.layout is. It decides what positions look like.
type Layout string

// The layouts.
const (
	Qlik         Layout = "qlik"
	SQLServerCDC Layout = "sqlserver-cdc"
)

// ReadMethod says how read_method is spelled.
type ReadMethod string

// The spellings.
const (
	BySource ReadMethod = "source" // sqlserver-cdc, sqlserver-backfill; postgresql-cdc, …: readers take the source from what stands before the hyphen
	Plain    ReadMethod = "plain"  // cdc, backfill
)

// UpdateType is the change_type of an UPDATE.
type UpdateType string

// The change types.
const (
	AsUpdate       UpdateType = "UPDATE"
	AsUpdateInsert UpdateType = "UPDATE-INSERT"
)

// PositionFrom says what the position field of source_metadata (lsn; log_file and log_position) holds. Consumers drop the later of two changes of
// a row with equal source_timestamp and position, and some compare positions as text.
type PositionFrom string

// The choices.
const (
	// FromStream is the stream position of Qlik's change tables, as it is, or the change sequence where there is none; the sequence value of SQL
	// Server's, which the DELETE and the INSERT share that the server makes of some updates.
	FromStream   PositionFrom = "stream"
	FromSequence PositionFrom = "sequence" // the change sequence: fixed width, rising, another one for every change
)

// FineTimes says what becomes of times with more than six fractional digits (datetime2(7)), which no unified type holds.
type FineTimes string

// The choices.
const (
	FineRefuse FineTimes = "refuse" // Avro: a seventh digit that is not zero is an error
	FineText   FineTimes = "text"   // such columns are STRING, with all their digits
)

// Absent says what becomes of a new row with columns that were not captured (large objects that an UPDATE left alone): the format has null
// for them only, which readers write over the value they have.
type Absent string

// The choices.
const (
	AbsentRefuse Absent = "refuse" // an error
	AbsentNull   Absent = "null"
)

// Options is what a user can set. New also takes an empty string for its default.
type Options struct {
	Stream   string // stream_name, usually the task's name; required
	Engine   Engine // required
	Layout   Layout // default qlik
	Database string // database in the source_metadata of SQL Server (null where empty) and SQLite

	ReadMethod ReadMethod // default source
	CDC        string     // read_method of changes in place of ReadMethod's, e.g. postgres-cdc-wal; default none
	Backfill   string     // read_method of full loads in place of ReadMethod's; default none

	UpdateType   UpdateType   // default UPDATE
	KeyColumns   []string     // key of every table in place of the primary key: named in source_metadata, and its change makes two events; default none
	PositionFrom PositionFrom // default stream
	// OmitTransactionID leaves tx_id null. PostgreSQL's is a 64-bit number: an id that is none is an error otherwise. Default false.
	OmitTransactionID bool
	FineTimes         FineTimes // default refuse
	// PlainOffset leaves out the logical type time-millis of a zone's offset, an Avro int of milliseconds. The original has it, though some
	// libraries (fastavro) take it for a time of day and cannot read an offset west of UTC. Default false.
	PlainOffset bool
	Absent      Absent // default refuse

	Now func() time.Time // clock of read_timestamp; default time.Now
}

// fill puts the default where a string or the clock is empty.
func (o *Options) fill() {
	o.Layout = cmp.Or(o.Layout, Qlik)
	o.ReadMethod = cmp.Or(o.ReadMethod, BySource)
	o.UpdateType = cmp.Or(o.UpdateType, AsUpdate)
	o.PositionFrom = cmp.Or(o.PositionFrom, FromStream)
	o.FineTimes = cmp.Or(o.FineTimes, FineRefuse)
	o.Absent = cmp.Or(o.Absent, AbsentRefuse)
	prefix := ""
	if o.ReadMethod == BySource {
		prefix = string(o.Engine) + "-"
		if o.Engine == Postgres {
			prefix = "postgresql-"
		}
	}
	o.CDC = cmp.Or(o.CDC, prefix+"cdc")
	o.Backfill = cmp.Or(o.Backfill, prefix+"backfill")
	if o.Now == nil {
		o.Now = time.Now
	}
}

// validate gives every problem at once, class Config.
func (o *Options) validate() error {
	err := errors.Join(
		envelope.Refuse(o.Stream == "", "Stream is empty: every event names its stream"),
		envelope.OneOf("Engine", o.Engine, SQLServer, Postgres, MySQL, SQLite),
		envelope.OneOf("Layout", o.Layout, Qlik, SQLServerCDC),
		envelope.Refuse(o.Layout == SQLServerCDC && o.Engine != SQLServer, "Layout %s is one of engine %s", SQLServerCDC, SQLServer),
		envelope.OneOf("ReadMethod", o.ReadMethod, BySource, Plain),
		envelope.OneOf("UpdateType", o.UpdateType, AsUpdate, AsUpdateInsert),
		envelope.OneOf("PositionFrom", o.PositionFrom, FromStream, FromSequence),
		envelope.OneOf("FineTimes", o.FineTimes, FineRefuse, FineText),
		envelope.OneOf("Absent", o.Absent, AbsentRefuse, AbsentNull),
		envelope.Refuse(o.CDC == o.Backfill, "CDC and Backfill are both %q: readers could not tell changes from full loads", o.CDC),
		envelope.Distinct("KeyColumns", o.KeyColumns...),
	)
	if err != nil {
		return fault.New(fault.Config, "datastream envelope", err, "")
	}
	return nil
}
