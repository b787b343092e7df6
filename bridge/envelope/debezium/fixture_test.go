package debezium

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/avro"
	"ctbridge/schema/jsonenc"

	oracle "github.com/twmb/avro"
	"pgregory.net/rapid"
)

// options are those of an engine with a still clock and the given changes.
func options(engine Engine, set ...func(*Options)) Options {
	o := Options{Engine: engine, Prefix: "srv", Database: "ops", Version: "1.0", Now: func() time.Time {
		return time.Date(2031, 5, 10, 16, 0, 2, 345_678_901, time.FixedZone("", 2*3600))
	}}
	for _, f := range set {
		f(&o)
	}
	return o
}

func open(t testing.TB, engine Engine, set ...func(*Options)) *Envelope {
	t.Helper()
	e, err := New(options(engine, set...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func declare(t testing.TB, engine Engine, table *change.Table, set ...func(*Options)) *envelope.Declaration {
	t.Helper()
	d, err := open(t, engine, set...).Declare(table)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func in(f Format) func(*Options) { return func(o *Options) { o.Format = f } }

func jsonOf(t testing.TB, n *envelope.Node, ev *change.Event) []byte {
	t.Helper()
	encoder, err := jsonenc.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, encoder, ev)
}

func avroOf(t testing.TB, n *envelope.Node, ev *change.Event) []byte {
	t.Helper()
	encoder, err := avro.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, encoder, ev)
}

func encoded(t testing.TB, encoder envelope.Encoder, ev *change.Event) []byte {
	t.Helper()
	text, err := encoder.Append(nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func schemaOf(t testing.TB, n *envelope.Node) string {
	t.Helper()
	text, err := avro.SchemaText(n)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decode reads Avro binary by another implementation and refuses left-over bytes.
func decode(t rapid.TB, schema string, binary []byte) any {
	t.Helper()
	parsed, err := oracle.Parse(schema)
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	var value any
	rest, err := parsed.Decode(binary, &value)
	if err != nil || len(rest) != 0 {
		t.Fatalf("%v, %d bytes left", err, len(rest))
	}
	return value
}

// parse reads JSON with every digit of its numbers.
func parse(t rapid.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return value
}

func asText(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// at follows member names down a message.
func at(value any, path ...string) any {
	for _, name := range path {
		value = value.(map[string]any)[name]
	}
	return value
}

// parcel is a small table with a key of one column.
func parcel() *change.Table {
	return change.NewTable(change.TableID{Schema: "shop", Name: "parcel"}, 1, []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}, Native: "int", KeyPosition: 1},
		{Name: "zone", Type: change.Type{Kind: change.String, Length: 20}, Native: "varchar(20)"},
		{Name: "price", Type: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}, Native: "decimal(10,2)", Nullable: true},
		{Name: "photo", Type: change.Type{Kind: change.Blob}, Native: "varbinary(max)", Nullable: true},
	})
}

func parcelRow(id int64, zone string) []change.Value {
	return []change.Value{change.IntValue(id), letter(zone), change.DecimalValue([]byte("-12.5")), change.BytesValue([]byte{0, 0xff, 16})}
}

// updated is an UPDATE of parcel in a transaction.
func updated(table *change.Table) *change.Event {
	return &change.Event{
		Table: table, Op: change.OpUpdate, Position: "20310510160001000000000000000000005",
		ChangeSequence: []byte("20310510160001000000000000000000005"),
		StreamPosition: []byte("0000002700000ac00003:0000002700000ac00002"),
		TransactionID:  []byte("00000000000000000000000000060008"),
		Timestamp:      change.InstantValue(1935504001, 123_456_000, 0),
		Before:         parcelRow(31, "a"), After: parcelRow(31, "b"),
		Counter: 7, TableCounter: 3,
	}
}

func with(ev *change.Event, set func(*change.Event)) *change.Event {
	n := *ev
	set(&n)
	return &n
}
