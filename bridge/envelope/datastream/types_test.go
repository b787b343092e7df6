package datastream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/schema/jsonenc"
)

// Every type of every engine, written out: case 57 is among them.
func TestCase57_ValuesInJSON(t *testing.T) {
	t.Parallel()
	for _, s := range sources {
		table := tableOf(s.engine)
		text := jsonOf(t, declare(t, newEnvelope(t, s.engine, s.set...), table).Value, eventOf(s, table, "insert"))
		var event struct{ Payload map[string]json.RawMessage }
		if err := json.Unmarshal(text, &event); err != nil {
			t.Fatal(err)
		}
		for _, c := range samples(s.engine) {
			if got := string(event.Payload[c.name]); got != c.json {
				t.Errorf("%s: %s (%s): %s, want %s", s.name, c.name, c.native, got, c.json)
			}
		}
	}
}

// The unified types, as the specification's tables have them.
func TestUnifiedTypes(t *testing.T) {
	t.Parallel()
	want := map[Engine]string{
		SQLServer: "LONG DECIMAL INTEGER INTEGER INTEGER BOOLEAN DECIMAL DOUBLE FLOAT STRING STRING STRING BYTES BYTES DATE DATETIME DATETIME DATETIME TIME " +
			"TIMESTAMP_WITH_TIME_ZONE TIMESTAMP_WITH_TIME_ZONE INTEGER",
		Postgres: "LONG INTEGER INTEGER LONG NUMBER NUMBER DOUBLE FLOAT BOOLEAN STRING BYTES STRING JSON DATE TIME TIME_WITH_TIME_ZONE TIME_WITH_TIME_ZONE " +
			"TIMESTAMP TIMESTAMP_WITH_TIME_ZONE INTERVAL STRING STRING STRING",
		MySQL: "LONG INTEGER INTEGER INTEGER INTEGER INTEGER INTEGER LONG NUMBER LONG LONG DECIMAL DOUBLE FLOAT STRING STRING STRING STRING JSON TIMESTAMP TIMESTAMP " +
			"TIMESTAMP TIME_INTERVAL TIMESTAMP",
		SQLite: "LONG INTEGER NUMBER BOOLEAN DECIMAL NUMBER DOUBLE STRING BYTES DATE TIME DATETIME TIMESTAMP_WITH_TIME_ZONE JSON STRING",
	}
	for engine, names := range want {
		var got []string
		for _, c := range declaredColumns(t, goldenEvent{source: source{engine: engine}, ev: &change.Event{Table: tableOf(engine)}}) {
			got = append(got, c.name)
		}
		if strings.Join(got, " ") != names {
			t.Errorf("%s: %s", engine, got)
		}
	}
}

// insertOf is an event with one value in a table of one column.
func insertOf(c change.Column, v change.Value) *change.Event {
	table := change.NewTable(change.TableID{Schema: "s", Name: "t"}, 1, []change.Column{c})
	return &change.Event{Table: table, Op: change.OpInsert, ChangeSequence: []byte(changeSequence), Position: changeSequence, After: []change.Value{v}}
}

// A value that its unified type cannot hold is refused by name, not cut (I6).
func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	infinite := change.Float64Value(0)
	infinite.Num = 0x7ff0000000000000
	for name, c := range map[string]struct {
		engine Engine
		column change.Column
		value  change.Value
		json   bool // JSON refuses it, too
	}{
		"seventh digit":          {SQLServer, change.Column{Type: scaled(change.DateTime, 7), Native: "datetime2(7)"}, change.DateTimeValue(0, 100), false},
		"seventh digit of day":   {SQLServer, change.Column{Type: scaled(change.Time, 7), Native: "time(7)"}, change.TimeValue(86399, 999_999_900), false},
		"seventh digit zoned":    {SQLServer, change.Column{Type: scaled(change.DateTimeTZ, 7), Native: "datetimeoffset(7)"}, change.InstantValue(0, 100, 60), false},
		"decimal over precision": {SQLServer, change.Column{Type: change.Type{Kind: change.Numeric, Precision: 4, Scale: 2}}, decimalOf("123.45"), false},
		"decimal over scale":     {SQLServer, change.Column{Type: change.Type{Kind: change.Numeric, Precision: 4, Scale: 2}}, decimalOf("1.234"), false},
		"end of the day":         {Postgres, change.Column{Type: scaled(change.Time, 6)}, change.TimeValue(86400, 0), false},
		"infinity":               {Postgres, change.Column{Type: kindOf(change.Real8)}, infinite, true},
		"interval":               {Postgres, change.Column{Type: kindOf(change.String), Native: "interval"}, textOf("infinity"), true},
		"many days":              {Postgres, change.Column{Type: kindOf(change.String), Native: "interval day"}, textOf("100000000 days"), false},
		"no time with zone":      {Postgres, change.Column{Type: kindOf(change.String), Native: "time(3) with time zone"}, textOf("noon"), true},
		"64 bits":                {MySQL, change.Column{Type: kindOf(change.Bytes), Native: "bit(64)"}, change.BytesValue([]byte{255, 0, 0, 0, 0, 0, 0, 0}), true},
		"broken document":        {MySQL, change.Column{Type: kindOf(change.JSON)}, textOf(`{"a"`), true},
		"text that is not UTF-8": {MySQL, change.Column{Type: kindOf(change.String)}, textOf("\xff"), true},
		"year 10000":             {MySQL, change.Column{Type: kindOf(change.Date)}, change.DateValue(2932897), true},
	} {
		c.column.Name, c.column.Nullable = "moment", true
		ev := insertOf(c.column, c.value)
		n := declare(t, newEnvelope(t, c.engine), ev.Table).Value
		_, inAvro := avroAppend(t, n, ev)
		if name != "infinity" && name != "broken document" && name != "year 10000" { // these Avro can say
			checkRefused(t, name+" in Avro", inAvro)
		}
		encoder, err := jsonenc.Compile(n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := encoder.Append(nil, ev); c.json {
			checkRefused(t, name+" in JSON", err)
		} else if err != nil {
			t.Errorf("%s in JSON: %v", name, err)
		}
	}
}

func checkRefused(t *testing.T, name string, err error) {
	t.Helper()
	if fault.ClassOf(err) != fault.Poison || !strings.Contains(fmt.Sprint(err), "payload.moment") {
		t.Errorf("%s: %v", name, err)
	}
}

// With fine_times: text seven digits pass, in both formats.
func TestCase50_FineTimesAsText(t *testing.T) {
	t.Parallel()
	for native, c := range map[string]struct {
		typ   change.Type
		value change.Value
		want  string
	}{
		"datetime2(7)":      {scaled(change.DateTime, 7), change.DateTimeValue(second, 604_805_100), "2031-05-10T16:00:01.6048051"},
		"time(7)":           {scaled(change.Time, 7), change.TimeValue(86399, 999_999_900), "23:59:59.9999999"},
		"datetimeoffset(7)": {scaled(change.DateTimeTZ, 7), change.InstantValue(zoned3, 604_805_000, 180), "2031-05-10T16:00:01.6048050+03:00"},
	} {
		ev := insertOf(change.Column{Name: "moment", Type: c.typ, Native: native, Nullable: true}, c.value)
		n := declare(t, newEnvelope(t, SQLServer, withFineText), ev.Table).Value
		schema, body := avroOf(t, n, ev)
		inAvro := decode(t, schema, body)["payload"].(map[string]any)["moment"]
		inJSON := parse(t, jsonOf(t, n, ev))["payload"].(map[string]any)["moment"]
		if inAvro != c.want || inJSON != c.want {
			t.Errorf("%s: %v and %v, want %s", native, inAvro, inJSON, c.want)
		}
	}
	fine := change.Column{Name: "moment", Type: scaled(change.DateTime, 6), Native: "datetime2(6)"}
	e := newEnvelope(t, SQLServer, withFineText)
	if typ, err := e.opts.typeOf(&fine); err != nil || typ.name != "DATETIME" {
		t.Errorf("six digits: %s, %v", typ.name, err)
	}
}

// The offset as a plain int, for libraries that take time-millis for a time of day.
func TestPlainOffsets(t *testing.T) {
	t.Parallel()
	ev := insertOf(change.Column{Name: "moment", Type: scaled(change.DateTimeTZ, 0), Native: "datetimeoffset(0)"}, change.InstantValue(0, 0, -480))
	n := declare(t, newEnvelope(t, SQLServer, func(o *Options) { o.PlainOffset = true }), ev.Table).Value
	schema, body := avroOf(t, n, ev)
	got := decode(t, schema, body)["payload"].(map[string]any)["moment"].(map[string]any)["offset"]
	if got != int32(-28_800_000) || strings.Contains(schema, "time-millis") {
		t.Errorf("%#v\n%s", got, schema)
	}
}

func TestTypesThatHaveNoCounterpart(t *testing.T) {
	t.Parallel()
	table := change.NewTable(change.TableID{Schema: "s", Name: "t"}, 1, []change.Column{
		{Name: "a", Type: kindOf(change.Int4)}, {Name: "spot", Native: "geography"}, {Name: "any", Native: "sql_variant"},
	})
	_, err := newEnvelope(t, SQLServer).Declare(table)
	if fault.ClassOf(err) != fault.Table {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{"s.t", `"spot" (geography)`, `"any" (sql_variant)`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
}

// Case 62: names that Avro refuses are adjusted, with the source's name as doc; names that would become one are refused together.
func TestCase62_Names(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		"shop_orders": "shop_orders", "Acme Ltd$Item": "Acme_Ltd_Item", "3alpha": "_3alpha", "größe": "gr__e", "名前": "__", "payload": "payload_",
		"source_metadata": "source_metadata_", "": "_", "a.b": "a_b", "datetime": "datetime_",
	} {
		if got := rootName(object); got != want {
			t.Errorf("%q: %s, want %s", object, got, want)
		}
	}
	table := change.NewTable(change.TableID{Name: "payload"}, 1, []change.Column{{Name: "a-b"}, {Name: "a_u002Db"}})
	for i := range table.Columns {
		table.Columns[i].Type = kindOf(change.Int4)
	}
	d := declare(t, newEnvelope(t, SQLite), table)
	avroOf(t, d.Value, &change.Event{Table: table, Op: change.OpInsert, ChangeSequence: []byte(changeSequence), After: []change.Value{change.IntValue(1), change.IntValue(2)}})
}
