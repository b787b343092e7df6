package debezium

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// The bare message, the payload of the wrapped one and the Avro message, each read by a library that is not ours, say the same of any event; and
// what they say of presence is true of the event.
func TestFormatsAgree(t *testing.T) {
	t.Parallel()
	same := func(o *Options) { o.Decimals = DecimalString }
	encoders, schemas := map[Engine]map[Format]envelope.Encoder{}, map[Engine]string{}
	tables := map[Engine]*typed{SQLServer: sqlServerTypes(), MySQL: mySQLTypes(), Postgres: {columns: realTable().Columns, row: realRow()}}
	for engine, y := range tables {
		encoders[engine] = compiled(t, engine, y.table(), same)
		schemas[engine] = schemaOf(t, declare(t, engine, y.table(), same, in(Avro)).Value)
	}
	rapid.Check(t, func(t *rapid.T) {
		engine := rapid.SampledFrom([]Engine{SQLServer, MySQL, Postgres}).Draw(t, "engine")
		ev := drawEvent(t, tables[engine])
		var text [2]any
		for i, format := range []Format{JSON, JSONSchema} {
			b, err := encoders[engine][format].Append(nil, ev)
			if err != nil {
				t.Fatal(err)
			}
			text[i] = parse(t, b)
		}
		if a, b := asJSON(text[0]), asJSON(at(text[1], "payload")); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
		b, err := encoders[engine][Avro].Append(nil, ev)
		if err != nil {
			t.Fatal(err)
		}
		if where := disagree(text[0], decode(t, schemas[engine], b)); where != "" {
			t.Fatalf("message%s", where)
		}
		checkImages(t, text[0], ev)
	})
}

func drawEvent(t *rapid.T, y *typed) *change.Event {
	ev := &change.Event{
		Table: y.table(), Op: rapid.SampledFrom([]change.Op{change.OpInsert, change.OpUpdate, change.OpDelete, change.OpRefresh}).Draw(t, "op"),
		Timestamp: change.InstantValue(rapid.Int64Range(-1e9, 4e9).Draw(t, "seconds"), rapid.Int32Range(0, 999_999_999).Draw(t, "nanos"), 0),
	}
	image := func(name string) []change.Value {
		row := append([]change.Value(nil), y.row...)
		for i := range row {
			if !y.columns[i].Nullable || y.columns[i].KeyPosition > 0 {
				continue
			}
			switch rapid.IntRange(0, 4).Draw(t, name) {
			case 0:
				row[i] = change.Null
			case 1:
				row[i] = change.Absent
			}
		}
		return row
	}
	if ev.Op != change.OpDelete {
		ev.After = image("after")
	}
	if ev.Op == change.OpUpdate && rapid.Bool().Draw(t, "full") || ev.Op == change.OpDelete {
		ev.Before = image("before")
	}
	if rapid.Bool().Draw(t, "transaction") {
		ev.TransactionID, ev.Counter, ev.TableCounter = []byte("0A"), rapid.Int64Range(1, 1<<40).Draw(t, "order"), 1
	}
	if rapid.Bool().Draw(t, "sequence") {
		ev.ChangeSequence = []byte(rapid.StringMatching(`[0-9]{35}`).Draw(t, "digits"))
	}
	if rapid.Bool().Draw(t, "late") {
		ev.Timestamp = change.Null
	}
	return ev
}

// disagree tells where the JSON and the Avro of a message differ first.
func disagree(text, binary any) string {
	switch b := binary.(type) {
	case map[string]any:
		record, _ := text.(map[string]any)
		if len(record) != len(b) {
			return fmt.Sprintf(": %v and %v", text, binary)
		}
		for name := range record {
			if where := disagree(record[name], b[envelope.AvroName(name)]); where != "" {
				return "." + name + where
			}
		}
		return ""
	case nil:
		if text == nil {
			return ""
		}
	case []byte:
		if text == base64.StdEncoding.EncodeToString(b) {
			return ""
		}
	case float32:
		if text == numeral(b) {
			return ""
		}
	default:
		if text == binary || text == numeral(b) {
			return ""
		}
	}
	return fmt.Sprintf(": %v and %T %v", text, binary, binary)
}

func numeral(v any) json.Number { return json.Number(asJSON(v)) }

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// checkImages compares a message with its event: images, NULLs, placeholders, times and order.
func checkImages(t *rapid.T, message any, ev *change.Event) {
	for member, row := range map[string][]change.Value{"before": ev.Before, "after": ev.After} {
		image, _ := at(message, member).(map[string]any)
		if (image == nil) != (row == nil) {
			t.Fatalf("%s is %v, the row %v", member, image, row)
		}
		for i := range row {
			c := &ev.Table.Columns[i]
			text := c.Type.Kind == change.Clob || c.Type.Kind == change.NClob || c.Type.Kind == change.Blob
			shown := row[i].Kind > change.KindAbsent || row[i].Kind == change.KindAbsent && text
			if known := image[c.Name] != nil; known != shown && !(row[i].Kind == change.KindAbsent && known) {
				t.Fatalf("%s.%s is %v, the value %+v", member, c.Name, image[c.Name], row[i])
			}
		}
	}
	at1, clock := ev.Timestamp, time.Date(2031, 5, 10, 14, 0, 2, 345_678_901, time.UTC)
	if at1.HasContent() {
		clock = time.Unix(at1.Num, int64(at1.Nanos))
	}
	nanos := big.NewInt(clock.UnixNano())
	for member, unit := range map[string]int64{"ts_ms": 1e6, "ts_us": 1e3, "ts_ns": 1} {
		want := new(big.Int).Div(nanos, big.NewInt(unit)) // Euclid's: towards the past
		if got := at(message, "source", member); got != json.Number(want.String()) {
			t.Fatalf("source.%s is %v, want %s", member, got, want)
		}
	}
	if got := at(message, "transaction") != nil; got != (ev.Counter > 0) {
		t.Fatalf("transaction %v", at(message, "transaction"))
	}
	if got := at(message, "source", "sequence") != nil; got != (ev.ChangeSequence != nil) {
		t.Fatalf("sequence %v", at(message, "source", "sequence"))
	}
}
