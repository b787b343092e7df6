package debezium

import (
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/avro"
	"ctbridge/schema/jsonenc"
)

func TestNewTellsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := New(Options{
		Engine: "db2", Format: "xml", Decimals: "exact", Times: "structured", Binary: "octal", Unsigned: "short", Required: "some",
		LSN: true, KeyColumns: []string{"a", "b", "a"},
	})
	if fault.ClassOf(err) != fault.Config {
		t.Fatal(err)
	}
	for _, part := range []string{"Engine", "Format", "Decimals", "Times", "Binary", "Unsigned", "Required", "LSN", "KeyColumns", "Prefix"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
	if _, err := New(Options{Engine: Postgres, Prefix: "p"}); err == nil || !strings.Contains(err.Error(), "Database") {
		t.Errorf("no database: %v", err)
	}
	for _, engine := range []Engine{MySQL, SQLite} {
		if _, err := New(Options{Engine: engine, Prefix: "p"}); err != nil {
			t.Errorf("%s: %v", engine, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine   Engine
		format   Format
		decimals Decimals
		times    Times
	}{
		{SQLServer, JSON, DecimalString, TimeAdaptive},
		{Postgres, JSONSchema, DecimalPrecise, TimeAdaptive},
		{MySQL, Avro, DecimalPrecise, TimeAdaptiveMicros},
	} {
		o := open(t, c.engine, in(c.format)).opts
		if o.Decimals != c.decimals || o.Times != c.times || o.Binary != BinaryBytes || o.Unavailable != Placeholder {
			t.Errorf("%s, %s: %+v", c.engine, c.format, o)
		}
	}
}

func TestDeclareRefuses(t *testing.T) {
	t.Parallel()
	queer := parcel()
	queer.Columns[1].Type.Kind = change.Unsupported
	twice := parcel()
	twice.Columns[1].Name = "id"
	for name, c := range map[string]struct {
		table *change.Table
		set   func(*Options)
		says  string
	}{
		"unsupported": {queer, func(*Options) {}, `column "zone" (varchar(20))`},
		"names clash": {twice, func(*Options) {}, `"id" and "id"`},
		"no such key": {parcel(), func(o *Options) { o.KeyColumns = []string{"Zone"} }, `key column "Zone"`},
	} {
		_, err := open(t, SQLServer, c.set).Declare(c.table)
		if fault.ClassOf(err) != fault.Table || !strings.Contains(err.Error(), "shop.parcel") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A value that its mode cannot hold is refused by column, in both formats (I6).
func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		engine Engine
		set    func(*Options)
		typ    change.Type
		value  change.Value
	}{
		"seventh digit in microseconds": {SQLServer, func(o *Options) { o.Times = TimeMicros }, change.Type{Kind: change.DateTime, Scale: 7}, change.DateTimeValue(0, 100)},
		"microseconds in connect":       {Postgres, func(o *Options) { o.Times = TimeConnect }, change.Type{Kind: change.Time, Scale: 6}, change.TimeValue(0, 1000)},
		"year 9999 in nanoseconds":      {SQLServer, func(*Options) {}, change.Type{Kind: change.DateTime, Scale: 7}, change.DateTimeValue(253402300799, 0)},
		"duration in nanoseconds":       {MySQL, func(o *Options) { o.Times = TimeNanos }, change.Type{Kind: change.Time}, change.TimeValue(-1, 0)},
		"duration as ISO":               {MySQL, func(o *Options) { o.Times = TimeISO }, change.Type{Kind: change.Time}, change.TimeValue(24*3600, 0)},
		"unsigned beyond long":          {MySQL, func(*Options) {}, change.Type{Kind: change.Uint8}, change.UintValue(1 << 63)},
		"too many digits":               {MySQL, func(o *Options) { o.Decimals = DecimalPrecise }, change.Type{Kind: change.Numeric, Precision: 3, Scale: 1}, change.DecimalValue([]byte("1.23"))},
		"too many digits of text":       {MySQL, func(*Options) {}, change.Type{Kind: change.Numeric, Precision: 3, Scale: 1}, change.DecimalValue([]byte("123.4"))},
		"broken text":                   {SQLite, func(*Options) {}, change.Type{Kind: change.String}, letter("\xff")},
	} {
		table := change.NewTable(change.TableID{Name: "t"}, 1, []change.Column{{Name: "moment", Type: c.typ, Nullable: true}})
		ev := &change.Event{Table: table, Op: change.OpInsert, After: []change.Value{c.value}}
		for format, encoder := range compiled(t, c.engine, table, c.set) {
			if _, err := encoder.Append(nil, ev); fault.ClassOf(err) != fault.Poison || !strings.Contains(err.Error(), "after.moment") {
				t.Errorf("%s in %s: %v", name, format, err)
			}
		}
	}
}

func compiled(t testing.TB, engine Engine, table *change.Table, set ...func(*Options)) map[Format]envelope.Encoder {
	t.Helper()
	out := map[Format]envelope.Encoder{}
	var errs [3]error
	out[JSON], errs[0] = jsonenc.Compile(declare(t, engine, table, set...).Value)
	out[JSONSchema], errs[1] = jsonenc.Compile(declare(t, engine, table, append(set, in(JSONSchema))...).Value)
	out[Avro], errs[2] = avro.Compile(declare(t, engine, table, append(set, in(Avro))...).Value)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Case 44: text that a delete does not carry is the placeholder; what has no room for one is null, or refused where null is not allowed.
func TestCase44_AbsentValues(t *testing.T) {
	t.Parallel()
	table := parcel()
	row := parcelRow(1, "a")
	row[1], row[2], row[3] = change.Absent, change.Absent, change.Absent
	ev := &change.Event{Table: table, Op: change.OpDelete, Before: row}
	before := at(parse(t, jsonOf(t, declare(t, SQLServer, table).Value, ev)), "before")
	if at(before, "zone") != Placeholder || at(before, "price") != nil || at(before, "photo") != "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==" {
		t.Errorf("%v", before)
	}
	other := func(o *Options) { o.Unavailable, o.Binary = "gone", BinaryHex }
	before = at(parse(t, jsonOf(t, declare(t, SQLServer, table, other).Value, ev)), "before")
	if at(before, "zone") != "gone" || at(before, "photo") != "676f6e65" {
		t.Errorf("%v", before)
	}
	table.Columns[2].Nullable = false
	for _, encoder := range compiled(t, SQLServer, table, func(o *Options) { o.Required = RequiredSource }) {
		if _, err := encoder.Append(nil, ev); err == nil || !strings.Contains(err.Error(), "before.price") {
			t.Errorf("absent number in a required field: %v", err)
		}
	}
}

// A key column that was not captured makes no key.
func TestKeyRefusesAbsentColumn(t *testing.T) {
	t.Parallel()
	table := parcel()
	row := parcelRow(1, "a")
	row[0] = change.Absent
	encoder, err := jsonenc.Compile(declare(t, SQLServer, table).Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.Append(nil, &change.Event{Table: table, Op: change.OpInsert, After: row}); fault.ClassOf(err) != fault.Poison {
		t.Error(err)
	}
}
