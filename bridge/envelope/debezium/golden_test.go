package debezium

import (
	"encoding/json"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/test/golden"
)

var engines = []Engine{SQLServer, Postgres, MySQL, SQLite}

// operations are one event of each kind, an update of the key as the two that it becomes.
func eachOperation(t testing.TB, engine Engine, table *change.Table) []*change.Event {
	t.Helper()
	update := updated(table)
	events := []*change.Event{
		with(update, func(ev *change.Event) { ev.Op, ev.Before = change.OpInsert, nil }),
		update,
		with(update, func(ev *change.Event) { ev.Before = nil }), // no before-image
		with(update, func(ev *change.Event) { ev.Op, ev.After = change.OpDelete, nil }),
		{Table: table, Op: change.OpRefresh, After: parcelRow(31, "a")},
		with(update, func(ev *change.Event) {
			ev.Op, ev.Before, ev.After, ev.TransactionID, ev.Counter = change.OpTruncate, nil, nil, nil, 0
		}),
	}
	rekeyed := with(update, func(ev *change.Event) { ev.After = parcelRow(32, "b") })
	return open(t, engine).Expand(events, rekeyed)
}

// record is a Kafka record as people read it.
type record struct {
	Headers map[string]json.RawMessage `json:"headers,omitempty"`
	Key     json.RawMessage            `json:"key,omitempty"`
	Value   json.RawMessage            `json:"value"`
}

func rendered(t testing.TB, d *envelope.Declaration, ev *change.Event) []byte {
	t.Helper()
	r := record{Value: jsonOf(t, d.Value, ev), Headers: map[string]json.RawMessage{}}
	if ev.Row() != nil {
		r.Key = jsonOf(t, d.Key, ev)
	}
	for _, h := range d.Headers {
		if h.When(ev) {
			r.Headers[h.Name] = jsonOf(t, h.Value, ev)
		}
	}
	return asText(t, r)
}

func TestGoldenOperations(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		table := parcel()
		if engine == SQLite {
			table.ID.Schema = ""
		}
		bare, wrapped, binary := declare(t, engine, table), declare(t, engine, table, in(JSONSchema)), declare(t, engine, table, in(Avro))
		var texts, decoded [][]byte
		for _, ev := range eachOperation(t, engine, table) {
			texts = append(texts, rendered(t, bare, ev))
			decoded = append(decoded, asText(t, decode(t, schemaOf(t, binary.Value), avroOf(t, binary.Value, ev))))
		}
		golden.JSON(t, string(engine)+".json", texts...)
		golden.JSON(t, string(engine)+"-schema.json", rendered(t, wrapped, updated(table)))
		golden.JSON(t, string(engine)+"-avro.json", decoded...)
		golden.JSON(t, string(engine)+".avsc", []byte(schemaOf(t, binary.Value)), []byte(schemaOf(t, binary.Key)))
	}
}

// SQL Server's own change tables give the LSNs.
func TestGoldenLSN(t *testing.T) {
	t.Parallel()
	table := parcel()
	d := declare(t, SQLServer, table, func(o *Options) { o.LSN = true })
	var texts [][]byte
	for _, ev := range eachOperation(t, SQLServer, table) {
		texts = append(texts, asText(t, at(parse(t, jsonOf(t, d.Value, ev)), "source")))
	}
	golden.JSON(t, "sqlserver-lsn.json", texts...)
}

// typed is a table with every type of an engine, and a row of it.
type typed struct {
	columns []change.Column
	row     []change.Value
}

func (y *typed) add(native string, typ change.Type, v change.Value) {
	name := "c_" + native
	y.columns = append(y.columns, change.Column{Name: name, Native: native, Type: typ, Nullable: true})
	y.row = append(y.row, v)
}

func (y *typed) kind(native string, kind change.Kind, v change.Value) {
	y.add(native, change.Type{Kind: kind}, v)
}

func (y *typed) digits(native string, kind change.Kind, precision, scale int, v change.Value) {
	y.add(native, change.Type{Kind: kind, Precision: precision, Scale: scale}, v)
}

func (y *typed) table() *change.Table {
	return change.NewTable(change.TableID{Schema: "shop", Name: "all types"}, 1, y.columns)
}

func sqlServerTypes() *typed {
	y := &typed{}
	y.kind("bit", change.Bool, change.BoolValue(true))
	y.kind("tinyint", change.Uint1, change.IntValue(255))
	y.kind("smallint", change.Int2, change.IntValue(-32768))
	y.kind("bigint", change.Int8, change.IntValue(-1<<63))
	y.kind("real", change.Real4, change.Float32Value(0.1))
	y.kind("float", change.Real8, change.Float64Value(0.1))
	y.digits("decimal(38,10)", change.Numeric, 38, 10, change.DecimalValue([]byte("-9999999999999999999999999999.9999999999")))
	y.digits("money", change.Numeric, 19, 4, change.DecimalValue([]byte("922337203685477.5807")))
	y.digits("decimal(4,4)", change.Numeric, 4, 4, change.DecimalValue([]byte("0.2346")))
	y.kind("date", change.Date, change.DateValue(2932896))
	y.digits("time(0)", change.Time, 0, 0, change.TimeValue(86399, 0))
	y.digits("time(7)", change.Time, 0, 7, change.TimeValue(86399, 999_999_000))
	y.digits("datetime", change.DateTime, 0, 3, change.DateTimeValue(-1, 997_000_000))
	y.digits("datetime2(7)", change.DateTime, 0, 7, change.DateTimeValue(1935504001, 604_805_000))
	y.digits("datetimeoffset(7)", change.DateTimeTZ, 0, 7, change.InstantValue(1935504001, 604_805_000, 180))
	y.kind("uniqueidentifier", change.UUID, letter("00112233-4455-6677-8899-aabbccddeeff"))
	y.kind("xml", change.NClob, letter("<a/>"))
	y.kind("nvarchar(max)", change.NClob, letter("größe\n"))
	y.kind("rowversion", change.Bytes, change.BytesValue([]byte{0, 0, 0, 0, 0, 0, 7, 0xdf}))
	y.kind("varbinary(max)", change.Blob, change.Absent)
	y.kind("text", change.Clob, change.Absent)
	y.kind("int", change.Int4, change.Absent)
	y.kind("nchar(3)", change.WString, change.Null)
	return y
}

func mySQLTypes() *typed {
	y := &typed{}
	y.kind("bit(1)", change.Bool, change.BoolValue(false))
	y.kind("bit(10)", change.Bytes, change.BytesValue([]byte{2, 1}))
	y.kind("tinyint(4)", change.Int1, change.IntValue(-128))
	y.kind("year(4)", change.Int2, change.IntValue(1901))
	y.kind("smallint unsigned", change.Uint2, change.IntValue(65535))
	y.kind("int unsigned", change.Uint4, change.IntValue(1<<32-1))
	y.kind("bigint unsigned", change.Uint8, change.UintValue(1<<63-1))
	y.digits("decimal(10,0)", change.Numeric, 10, 0, change.DecimalValue([]byte("-7")))
	y.kind("enum('a','b''c')", change.String, letter("b'c"))
	y.kind("set('x','y')", change.String, letter("x,y"))
	y.digits("time(6)", change.Time, 0, 6, change.TimeValue(45296, 123_456_000))
	y.digits("datetime(3)", change.DateTime, 0, 3, change.DateTimeValue(1935504001, 500_000_000))
	y.digits("timestamp(3)", change.DateTimeTZ, 0, 3, change.InstantValue(1935504001, 500_000_000, 0))
	y.digits("timestamp", change.DateTimeTZ, 0, 0, change.InstantValue(1935504001, 0, 0))
	y.kind("json", change.JSON, letter(`{"a":1}`))
	y.kind("uuid", change.UUID, letter("00112233-4455-6677-8899-aabbccddeeff"))
	y.kind("blob", change.Blob, change.BytesValue(nil))
	return y
}

// PostgreSQL's other types are in testdata/real.
func postgresTypes() *typed {
	y := &typed{}
	y.kind("interval", change.String, letter("1 year 2 mons -3 days +04:05:06.7"))
	y.kind("interval[]", change.String, letter("{1 day}"))
	y.kind("time(1) with time zone", change.String, letter("04:05:06.7+05:45"))
	y.digits("timestamp(0) with time zone", change.DateTimeTZ, 0, 0, change.InstantValue(1935504001, 0, 0))
	y.kind("int4range", change.String, letter("[1,5)"))
	y.kind("oid", change.Uint4, change.IntValue(1<<32-1))
	y.digits("numeric", change.Numeric, 0, 0, change.DecimalValue([]byte("-0.00123")))
	return y
}

func TestGoldenModes(t *testing.T) {
	t.Parallel()
	modes := map[string]func(*Options){
		"default": func(*Options) {},
		"precise": func(o *Options) {
			o.Decimals, o.Unsigned, o.Times, o.Binary = DecimalPrecise, UnsignedPrecise, TimeNanos, BinaryBase64
		},
		"text":   func(o *Options) { o.Decimals, o.Times, o.Binary = DecimalString, TimeISO, BinaryHex },
		"double": func(o *Options) { o.Decimals, o.Times = DecimalDouble, TimeMicros },
	}
	for engine, y := range map[Engine]*typed{SQLServer: sqlServerTypes(), MySQL: mySQLTypes(), Postgres: postgresTypes()} {
		table := y.table()
		ev := &change.Event{Table: table, Op: change.OpInsert, After: y.row}
		for mode, set := range modes {
			name := string(engine) + "-" + mode
			golden.JSON(t, "modes-"+name+".json", asText(t, at(parse(t, jsonOf(t, declare(t, engine, table, set).Value, ev)), "after")))
			d := declare(t, engine, table, set, in(Avro))
			row := at(parse(t, []byte(schemaOf(t, d.Value))), "fields").([]any)[0]
			golden.JSON(t, "modes-"+name+".avsc", asText(t, at(row, "type").([]any)[1]))
			decode(t, schemaOf(t, d.Value), avroOf(t, d.Value, ev))
		}
	}
}
