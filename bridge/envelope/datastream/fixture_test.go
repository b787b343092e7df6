package datastream

import (
	"testing"
	"time"

	"ctbridge/bridge/change"
)

// readAt is the clock of the tests; finer than the milliseconds that events show.
var readAt = time.Date(2031, 5, 10, 16, 0, 2, 408_999_000, time.UTC)

// options are those of one engine, with what a test changes.
func options(engine Engine, set ...func(*Options)) Options {
	o := Options{
		Stream: "projects/1/locations/eu/streams/" + string(engine), Engine: engine, Database: "warehouse", Now: func() time.Time { return readAt },
	}
	for _, f := range set {
		f(&o)
	}
	return o
}

func withCDC(o *Options)       { o.Layout = SQLServerCDC }
func withNull(o *Options)      { o.Absent = AbsentNull }
func withFineText(o *Options)  { o.FineTimes = FineText }
func fromSequence(o *Options)  { o.PositionFrom = FromSequence }
func plain(o *Options)         { o.ReadMethod = Plain }
func updateInsert(o *Options)  { o.UpdateType = AsUpdateInsert }
func noTransaction(o *Options) { o.OmitTransactionID = true }
func keys(names ...string) func(*Options) {
	return func(o *Options) { o.KeyColumns = names }
}

func newEnvelope(t testing.TB, engine Engine, set ...func(*Options)) *Envelope {
	t.Helper()
	e, err := New(options(engine, set...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// sample is one column with a value, and what the event must hold.
type sample struct {
	name   string
	typ    change.Type
	native string
	value  change.Value
	json   string // exactly
}

func textOf(s string) change.Value    { return change.TextValue([]byte(s)) }
func decimalOf(s string) change.Value { return change.DecimalValue([]byte(s)) }
func kindOf(k change.Kind) change.Type {
	return change.Type{Kind: k}
}
func scaled(k change.Kind, scale int) change.Type { return change.Type{Kind: k, Scale: scale} }

const (
	second = 1936195201 // 2031-05-10T16:00:01Z
	day    = 22409      // 2031-05-10
	zoned3 = 1936184401 // 2031-05-10T16:00:01+03:00
)

// samples has every type of an engine.
func samples(engine Engine) []sample {
	switch engine {
	case SQLServer:
		return sqlServerSamples()
	case Postgres:
		return postgresSamples()
	case MySQL:
		return mysqlSamples()
	case SQLite:
	}
	return sqliteSamples()
}

func sqlServerSamples() []sample {
	return []sample{
		{"id", kindOf(change.Int8), "bigint", change.IntValue(31), `31`},
		{"Unit, Price", change.Type{Kind: change.Numeric, Precision: 38, Scale: 10}, "decimal(38,10)", decimalOf("9999999999999999999999999999.9999999999"), `9999999999999999999999999999.9999999999`},
		{"qty", kindOf(change.Int4), "int", change.IntValue(-5), `-5`},
		{"small", kindOf(change.Int2), "smallint", change.IntValue(-32768), `-32768`},
		{"tiny", kindOf(change.Uint1), "tinyint", change.IntValue(255), `255`},
		{"active", kindOf(change.Bool), "bit", change.BoolValue(true), `true`},
		{"price", change.Type{Kind: change.Numeric, Precision: 19, Scale: 4}, "money", decimalOf("922337203685477.5807"), `922337203685477.5807`},
		{"ratio", kindOf(change.Real8), "float", change.Float64Value(0.1), `0.1`},
		{"weight", kindOf(change.Real4), "real", change.Float32Value(2.75), `2.75`},
		{"name", kindOf(change.WString), "nvarchar(50)", textOf("größe \"名前\""), `"größe \"名前\""`},
		{"doc", kindOf(change.NClob), "xml", textOf("<a/>"), `"<a/>"`},
		{"guid", kindOf(change.UUID), "uniqueidentifier", textOf("00112233-4455-6677-8899-aabbccddeeff"), `"00112233-4455-6677-8899-aabbccddeeff"`},
		{"photo", kindOf(change.Blob), "varbinary(max)", change.BytesValue([]byte{0xde, 0xad, 0xbe, 0xef}), `"3q2+7w=="`},
		{"version", kindOf(change.Bytes), "rowversion", change.BytesValue([]byte{0, 0, 0, 0, 0, 0, 7, 0xdf}), `"AAAAAAAAB98="`},
		{"due", kindOf(change.Date), "date", change.DateValue(day), `"2031-05-10"`},
		{"made", scaled(change.DateTime, 3), "datetime", change.DateTimeValue(second, 603_000_000), `"2031-05-10T16:00:01.603"`},
		{"seen", scaled(change.DateTime, 7), "datetime2(7)", change.DateTimeValue(second, 604_805_000), `"2031-05-10T16:00:01.6048050"`},
		{"shut", scaled(change.DateTime, 0), "smalldatetime", change.DateTimeValue(-60, 0), `"1969-12-31T23:59:00"`},
		{"at", scaled(change.Time, 7), "time(7)", change.TimeValue(86399, 999_999_000), `"23:59:59.9999990"`},
		{"zoned", scaled(change.DateTimeTZ, 7), "datetimeoffset(7)", change.InstantValue(zoned3, 604_805_000, 180), `"2031-05-10T16:00:01.6048050+03:00"`},
		{"utc", scaled(change.DateTimeTZ, 3), "datetimeoffset(3)", change.InstantValue(second, 0, 0), `"2031-05-10T16:00:01.000Z"`},
		{"gone", kindOf(change.Int4), "int", change.Null, `null`},
	}
}

func postgresSamples() []sample {
	return []sample{
		{"id", kindOf(change.Int8), "bigint", change.IntValue(31), `31`},
		{"qty", kindOf(change.Int4), "integer", change.IntValue(-5), `-5`},
		{"small", kindOf(change.Int2), "smallint", change.IntValue(7), `7`},
		{"object", kindOf(change.Uint4), "oid", change.IntValue(4294967295), `4294967295`},
		{"price", change.Type{Kind: change.Numeric, Precision: 12, Scale: 2}, "numeric(12,2)", decimalOf("-1234.50"), `"-1234.50"`},
		{"any", kindOf(change.Numeric), "numeric", decimalOf("12345678901234567890123.000000000000000000001"), `"12345678901234567890123.000000000000000000001"`},
		{"ratio", kindOf(change.Real8), "double precision", change.Float64Value(1e300), `1e+300`},
		{"weight", kindOf(change.Real4), "real", change.Float32Value(0.1), `0.1`},
		{"active", kindOf(change.Bool), "boolean", change.BoolValue(false), `false`},
		{"name", kindOf(change.Clob), "text", textOf("a\nb"), `"a\nb"`},
		{"raw", kindOf(change.Blob), "bytea", change.BytesValue([]byte{0, 255}), `"AP8="`},
		{"guid", kindOf(change.UUID), "uuid", textOf("00112233-4455-6677-8899-aabbccddeeff"), `"00112233-4455-6677-8899-aabbccddeeff"`},
		{"doc", kindOf(change.JSON), "jsonb", textOf(`{"a": [1, null]}`), `{"a": [1, null]}`},
		{"due", kindOf(change.Date), "date", change.DateValue(-1), `"1969-12-31"`},
		{"at", scaled(change.Time, 6), "time without time zone", change.TimeValue(57601, 604_805_000), `"16:00:01.604805"`},
		{"at_zone", kindOf(change.String), "time with time zone", textOf("04:05:06.7+05:45"), `"04:05:06.7+05:45"`},
		{"at_utc", kindOf(change.String), "time(0) with time zone", textOf("04:05:06+00"), `"04:05:06Z"`},
		{"seen", scaled(change.DateTime, 6), "timestamp without time zone", change.DateTimeValue(second, 604_805_000), `"2031-05-10T16:00:01.604805Z"`},
		{"zoned", scaled(change.DateTimeTZ, 6), "timestamp with time zone", change.InstantValue(second, 604_805_000, 0), `"2031-05-10T16:00:01.604805Z"`},
		{"span", kindOf(change.String), "interval", textOf("1 year 2 mons -3 days 04:05:06.7"), `"P1Y2M-3DT4H5M6.7S"`},
		{"spans", kindOf(change.String), "interval[]", textOf(`{"1 day"}`), `"{\"1 day\"}"`},
		{"net", kindOf(change.String), "inet", textOf("10.0.0.1/8"), `"10.0.0.1/8"`},
		{"gone", kindOf(change.Clob), "text", change.Null, `null`},
	}
}

func mysqlSamples() []sample {
	return []sample{
		{"id", kindOf(change.Int8), "bigint", change.IntValue(31), `31`},
		{"tiny", kindOf(change.Int1), "tinyint", change.IntValue(-128), `-128`},
		{"utiny", kindOf(change.Uint1), "tinyint unsigned", change.IntValue(255), `255`},
		{"small", kindOf(change.Uint2), "smallint unsigned", change.IntValue(65535), `65535`},
		{"qty", kindOf(change.Int4), "int", change.IntValue(-5), `-5`},
		{"made", kindOf(change.Int2), "year", change.IntValue(2031), `2031`},
		{"medium", kindOf(change.Uint4), "mediumint unsigned", change.IntValue(16777215), `16777215`},
		{"uqty", kindOf(change.Uint4), "int unsigned", change.IntValue(4294967295), `4294967295`},
		{"huge", kindOf(change.Uint8), "bigint unsigned", change.UintValue(18446744073709551615), `"18446744073709551615"`},
		{"flag", kindOf(change.Bool), "bit(1)", change.BoolValue(true), `1`},
		{"flags", change.Type{Kind: change.Bytes, Length: 2}, "bit(9)", change.BytesValue([]byte{1, 2}), `258`},
		{"price", change.Type{Kind: change.Numeric, Precision: 4, Scale: 4}, "decimal(4,4)", decimalOf("0.2346"), `0.2346`},
		{"ratio", kindOf(change.Real8), "double", change.Float64Value(-0.5), `-0.5`},
		{"weight", kindOf(change.Real4), "float", change.Float32Value(1.5), `1.5`},
		{"name", kindOf(change.String), "varchar(20)", textOf("x"), `"x"`},
		{"state", kindOf(change.String), "enum('a','b')", textOf("b"), `"b"`},
		{"raw", kindOf(change.Blob), "blob", change.BytesValue([]byte{0xab, 1}), `"ab01"`},
		{"fix", change.Type{Kind: change.Bytes, Length: 2}, "binary(2)", change.BytesValue([]byte{0xff, 0}), `"ff00"`},
		{"doc", kindOf(change.JSON), "json", textOf(`[1]`), `[1]`},
		{"due", kindOf(change.Date), "date", change.DateValue(day), `"2031-05-10T00:00:00Z"`},
		{"seen", scaled(change.DateTime, 6), "datetime(6)", change.DateTimeValue(second, 604_805_000), `"2031-05-10T16:00:01.604805Z"`},
		{"stamp", scaled(change.DateTimeTZ, 0), "timestamp", change.InstantValue(second, 0, 0), `"2031-05-10T16:00:01Z"`},
		{"span", scaled(change.Time, 6), "time(6)", change.TimeValue(-(838*3600 + 59*60 + 59), -1000), `-3020399000001`},
		{"gone", kindOf(change.Date), "date", change.Null, `null`},
	}
}

func sqliteSamples() []sample {
	return []sample{
		{"id", kindOf(change.Int8), "INTEGER", change.IntValue(31), `31`},
		{"small", kindOf(change.Int2), "SMALLINT", change.IntValue(7), `7`},
		{"huge", kindOf(change.Uint8), "UNSIGNED BIG INT", change.UintValue(18446744073709551615), `"18446744073709551615"`},
		{"active", kindOf(change.Bool), "BOOLEAN", change.BoolValue(true), `true`},
		{"price", change.Type{Kind: change.Numeric, Precision: 12, Scale: 2}, "DECIMAL(12,2)", decimalOf("1234.5"), `1234.5`},
		{"any", kindOf(change.Numeric), "NUMERIC", decimalOf("0.30"), `"0.30"`},
		{"ratio", kindOf(change.Real8), "REAL", change.Float64Value(0.25), `0.25`},
		{"name", kindOf(change.String), "TEXT", textOf("x"), `"x"`},
		{"raw", kindOf(change.Blob), "BLOB", change.BytesValue([]byte{1}), `"AQ=="`},
		{"due", kindOf(change.Date), "DATE", change.DateValue(day), `"2031-05-10"`},
		{"at", scaled(change.Time, 6), "TIME", change.TimeValue(57601, 0), `"16:00:01.000000"`},
		{"seen", scaled(change.DateTime, 6), "DATETIME", change.DateTimeValue(second, 604_805_000), `"2031-05-10T16:00:01.604805"`},
		{"zoned", scaled(change.DateTimeTZ, 6), "TIMESTAMPTZ", change.InstantValue(zoned3, 604_805_000, 180), `"2031-05-10T16:00:01.604805+03:00"`},
		{"doc", kindOf(change.JSON), "JSON", textOf(`{}`), `{}`},
		{"gone", kindOf(change.String), "TEXT", change.Null, `null`},
	}
}

// tableOf is a table of samples; its first column is the key.
func tableOf(engine Engine) *change.Table {
	list := samples(engine)
	columns := make([]change.Column, len(list))
	for i, s := range list {
		columns[i] = change.Column{Name: s.name, Type: s.typ, Native: s.native, Nullable: i > 0}
	}
	columns[0].KeyPosition = 1
	id := change.TableID{Schema: "shop", Name: "Order Items"}
	if engine == SQLite {
		id = change.TableID{Name: "orders"}
	}
	return change.NewTable(id, 1, columns)
}

func rowOf(engine Engine) []change.Value {
	list := samples(engine)
	row := make([]change.Value, len(list))
	for i, s := range list {
		row[i] = s.value
	}
	return row
}

// source is an engine with its layout.
type source struct {
	name   string
	engine Engine
	set    []func(*Options)
}

var sources = []source{
	{"sqlserver", SQLServer, nil},
	{"sqlserver-cdc", SQLServer, []func(*Options){withCDC}},
	{"postgres", Postgres, nil},
	{"mysql", MySQL, nil},
	{"sqlite", SQLite, nil},
}

const (
	changeSequence = "20310510160001600000000000000000005"
	cdcPosition    = "00000027000001300001:00000001:00000027000001300003:2"
)

// eventOf is an event of the source: insert, update, delete, refresh or key_change.
func eventOf(s source, table *change.Table, operation string) *change.Event {
	row := rowOf(s.engine)
	ev := &change.Event{
		Table: table, ChangeSequence: []byte(changeSequence), Position: changeSequence, TransactionID: []byte("00000000000000000000000000060008"),
		StreamPosition: []byte(streamPositions[s.engine]), Timestamp: change.InstantValue(second, 604_805_000, 0), After: row,
	}
	if s.name == "sqlserver-cdc" {
		ev.Position, ev.StreamPosition = cdcPosition, []byte("00000027000001300001:00000027000001300003")
	}
	old := rowOf(s.engine)
	old[1] = change.Null
	switch operation {
	case "insert":
		ev.Op = change.OpInsert
	case "update":
		ev.Op, ev.Before = change.OpUpdate, old
	case "key_change":
		old[0] = change.IntValue(30)
		ev.Op, ev.Before = change.OpUpdate, old
	case "delete":
		ev.Op, ev.Before, ev.After = change.OpDelete, old, nil
	case "refresh":
		load := &change.Load{Begin: change.InstantValue(second-60, 1, 0), Fence: "20310510155900500000000000000000009", Row: 1}
		ev = &change.Event{Table: table, Op: change.OpRefresh, After: row, Load: load}
	}
	return ev
}

var streamPositions = map[Engine]string{
	SQLServer: "00000000.00bb2531.00000001.0000.02.0000:154.6963.16", Postgres: "16/CB002DB0", MySQL: "mysql-bin.000012:154", SQLite: "",
}

var operations = []string{"insert", "update", "delete", "refresh", "key_change"}

// strings4 is the same position with another sequence value.
func strings4(p change.Position) change.Position {
	return p[:len(p)-3] + "4" + p[len(p)-2:]
}
