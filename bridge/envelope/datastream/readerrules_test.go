package datastream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"
	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

// The rules that real readers of Datastream's files go by, one test for each; every one looks at every golden event.

// forEvery runs a check over all golden events, as JSON and as Avro decoded by a library that is not ours.
func forEvery(t *testing.T, check func(t *testing.T, g goldenEvent, event map[string]any, text []byte)) {
	t.Helper()
	for _, g := range goldenEvents(t) {
		t.Run(g.source.name+"-"+g.name, func(t *testing.T) {
			text := jsonOf(t, g.node, g.ev)
			check(t, g, parse(t, text), text)
		})
	}
}

func forEveryAvro(t *testing.T, check func(t *testing.T, g goldenEvent, native map[string]any, schema map[string]any)) {
	t.Helper()
	for _, g := range goldenEvents(t) {
		t.Run(g.source.name+"-"+g.name, func(t *testing.T) {
			text, body := avroOf(t, g.node, g.ev)
			codec, err := goavro.NewCodec(text)
			if err != nil {
				t.Fatal(err)
			}
			native, rest, err := codec.NativeFromBinary(body)
			if err != nil || len(rest) != 0 {
				t.Fatalf("%v, %d bytes left", err, len(rest))
			}
			check(t, g, native.(map[string]any), parse(t, []byte(text)))
		})
	}
}

func parse(t testing.TB, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value map[string]any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return value
}

var members = strings.Fields("uuid read_timestamp source_timestamp object read_method stream_name schema_key sort_keys source_metadata payload")

func TestRule_OneObjectPerLine(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, _ goldenEvent, _ map[string]any, text []byte) {
		if text[0] != '{' || bytes.ContainsAny(text, "\n\r") || !json.Valid(text) {
			t.Errorf("%s", text)
		}
	})
}

// What readers ask for is there, and everything in the documented order.
func TestRule_RequiredMembers(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, _ goldenEvent, event map[string]any, text []byte) {
		at := 0
		for _, name := range members {
			i := bytes.Index(text, fmt.Appendf(nil, "%q:", name))
			if i < at || event[name] == nil || event[name] == "" {
				t.Errorf("%s is missing, empty or out of order", name)
			}
			at = i
		}
		if len(event) != len(members) {
			t.Errorf("%d members", len(event))
		}
	})
	forEveryAvro(t, func(t *testing.T, _ goldenEvent, _, schema map[string]any) {
		var names []string
		for _, f := range schema["fields"].([]any) {
			names = append(names, f.(map[string]any)["name"].(string))
		}
		if fmt.Sprint(names) != fmt.Sprint(members) {
			t.Errorf("%v", names)
		}
	})
}

// Timestamps parse only with a Z or without zone: an offset, even +00:00, would make them 0.
func TestRule_TimestampsEndInZ(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, g goldenEvent, event map[string]any, _ []byte) {
		for _, name := range []string{"read_timestamp", "source_timestamp"} {
			if _, err := time.Parse("2006-01-02T15:04:05.000Z", event[name].(string)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		payload := event["payload"].(map[string]any)
		for _, c := range declaredColumns(t, g) {
			text, ok := payload[c.Name].(string)
			if !ok {
				continue
			}
			if utc := strings.HasSuffix(text, "Z"); c.name == "TIMESTAMP" && !utc || c.name == "DATETIME" && (utc || zone.MatchString(text)) {
				t.Errorf("%s: %s is %s", c.Name, c.name, text)
			}
			if c.name == "TIMESTAMP_WITH_TIME_ZONE" {
				if _, err := time.Parse(time.RFC3339Nano, text); err != nil || strings.HasSuffix(text, "+00:00") {
					t.Errorf("%s: %s, %v", c.Name, text, err)
				}
			}
		}
	})
}

var zone = regexp.MustCompile(`[+-]\d\d:\d\d$`)

func declaredColumns(t testing.TB, g goldenEvent) []column {
	t.Helper()
	columns, err := newEnvelope(t, g.engine, g.set...).opts.columnsOf(g.ev.Table)
	if err != nil {
		t.Fatal(err)
	}
	return columns
}

// Avro timestamps are longs, in milliseconds.
func TestRule_AvroTimestampsAreLongs(t *testing.T) {
	t.Parallel()
	forEveryAvro(t, func(t *testing.T, _ goldenEvent, native, schema map[string]any) {
		for _, f := range schema["fields"].([]any) {
			f := f.(map[string]any)
			if name := f["name"].(string); strings.HasSuffix(name, "_timestamp") {
				if got := fmt.Sprint(f["type"]); got != "map[logicalType:timestamp-millis type:long]" {
					t.Errorf("%s is %s", name, got)
				}
				if _, ok := native[name].(time.Time); !ok {
					t.Errorf("%s is %T", name, native[name])
				}
			}
		}
	})
}

// payload is there in every event, of deletes too: readers drop events without it.
func TestRule_PayloadIsAlwaysThere(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, g goldenEvent, event map[string]any, _ []byte) {
		payload, ok := event["payload"].(map[string]any)
		if !ok || len(payload) != len(g.ev.Table.Columns) {
			t.Fatalf("payload %v", event["payload"])
		}
		if key := g.ev.Row()[0].Num; fmt.Sprint(payload["id"]) != fmt.Sprint(key) {
			t.Errorf("id %v, want %d", payload["id"], key)
		}
	})
	forEveryAvro(t, func(t *testing.T, g goldenEvent, native, _ map[string]any) {
		if payload, ok := native["payload"].(map[string]any); !ok || len(payload) != len(g.ev.Table.Columns) {
			t.Errorf("payload %v", native["payload"])
		}
	})
}

// payload and source_metadata are records, by these names; a payload union has exactly two branches, null first.
func TestRule_AvroRecordsAndUnions(t *testing.T) {
	t.Parallel()
	forEveryAvro(t, func(t *testing.T, g goldenEvent, _, schema map[string]any) {
		if schema["namespace"] != nil || schema["doc"] != nil || schema["name"] != rootName(g.objectName()) {
			t.Errorf("root %v %v %v", schema["name"], schema["namespace"], schema["doc"])
		}
		records := map[string][]any{}
		for _, f := range schema["fields"].([]any) {
			if typ, ok := f.(map[string]any)["type"].(map[string]any); ok && typ["type"] == "record" {
				records[typ["name"].(string)] = typ["fields"].([]any)
			}
		}
		if len(records) != 2 || records["source_metadata"] == nil || records["payload"] == nil {
			t.Fatalf("%v", records)
		}
		for _, f := range records["payload"] {
			f := f.(map[string]any)
			union, ok := f["type"].([]any)
			value, given := f["default"]
			if !ok || len(union) != 2 || union[0] != "null" || !given || value != nil {
				t.Errorf("payload.%s is %v with default %v", f["name"], f["type"], value)
			}
		}
	})
}

func (g goldenEvent) objectName() string { return (&version{table: g.ev.Table}).object() }

// Readers take the source from what stands before the first hyphen; plain methods have none. A full load is a backfill.
func TestRule_ReadMethods(t *testing.T) {
	t.Parallel()
	prefix := map[Engine]string{SQLServer: "sqlserver", Postgres: "postgresql", MySQL: "mysql", SQLite: "sqlite"}
	forEvery(t, func(t *testing.T, g goldenEvent, event map[string]any, _ []byte) {
		engine, rest, _ := strings.Cut(event["read_method"].(string), "-")
		want := "cdc"
		if g.name == "refresh" {
			want = "backfill"
		}
		if engine != prefix[g.engine] || rest != want {
			t.Errorf("%s", event["read_method"])
		}
	})
	for _, engine := range []Engine{SQLServer, Postgres, MySQL, SQLite} {
		e := newEnvelope(t, engine, plain)
		if e.opts.CDC != "cdc" || e.opts.Backfill != "backfill" {
			t.Errorf("%s: %s, %s", engine, e.opts.CDC, e.opts.Backfill)
		}
	}
}

// Change types are of the documented set, never READ, and a deleted row says so twice.
func TestRule_ChangeTypes(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"insert": "INSERT", "update": "UPDATE", "delete": "DELETE", "refresh": "INSERT", "update_delete": "UPDATE-DELETE", "update_insert": "UPDATE-INSERT",
	}
	forEvery(t, func(t *testing.T, g goldenEvent, event map[string]any, _ []byte) {
		metadata := event["source_metadata"].(map[string]any)
		if metadata["change_type"] != want[g.name] || metadata["is_deleted"] != strings.HasSuffix(want[g.name], "DELETE") {
			t.Errorf("%v %v", metadata["change_type"], metadata["is_deleted"])
		}
	})
}

// The members of source_metadata stand in the documented order, null ones too.
func TestRule_SourceMetadata(t *testing.T) {
	t.Parallel()
	want := map[Engine]string{
		MySQL:     `table string database string primary_keys array log_file [null string] log_position [null long] change_type [null string] is_deleted [null boolean]`,
		Postgres:  `schema string table string is_deleted [null boolean] change_type [null string] tx_id [null long] lsn [null string] primary_keys [null array]`,
		SQLServer: `table [null string] change_type [null string] database [null string] schema [null string] lsn [null string] tx_id [null string] is_deleted [null boolean] physical_location array replication_index array`,
		SQLite:    `table string database string is_deleted [null boolean] change_type [null string] tx_id [null string] lsn [null string] primary_keys array`,
	}
	items := map[string]string{"primary_keys": "string", "physical_location": "[null int]", "replication_index": "[string null]"}
	forEveryAvro(t, func(t *testing.T, g goldenEvent, _, schema map[string]any) {
		var got []string
		for _, f := range schema["fields"].([]any)[8].(map[string]any)["type"].(map[string]any)["fields"].([]any) {
			f := f.(map[string]any)
			name, typ := f["name"].(string), f["type"]
			if union, ok := typ.([]any); ok {
				got = append(got, fmt.Sprintf("%s [null %s]", name, short(union[1])))
				typ = union[1]
			} else {
				got = append(got, name+" "+short(typ))
			}
			if array, ok := typ.(map[string]any); ok && fmt.Sprint(array["items"]) != items[name] {
				t.Errorf("items of %s: %v", name, array["items"])
			}
		}
		if strings.Join(got, " ") != want[g.engine] {
			t.Errorf("%s", got)
		}
	})
}

func short(typ any) string {
	if complex, ok := typ.(map[string]any); ok {
		return complex["type"].(string)
	}
	return typ.(string)
}

// In JSON lsn and tx_id are strings, log_position a number.
func TestRule_KindsOfMetadata(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, g goldenEvent, event map[string]any, _ []byte) {
		metadata := event["source_metadata"].(map[string]any)
		for name, value := range metadata {
			switch value := value.(type) {
			case string:
				if name == "log_position" {
					t.Errorf("%s is %q", name, value)
				}
			case json.Number:
				if name != "log_position" {
					t.Errorf("%s is the number %s", name, value)
				}
			case nil:
				if g.name != "refresh" {
					t.Errorf("%s is null", name)
				}
			}
		}
	})
}

// uuid differs between any two golden events of a source, and is the same for the same event.
func TestRule_UUIDs(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]string{}
	for _, g := range goldenEvents(t) {
		id := parse(t, jsonOf(t, g.node, g.ev))["uuid"].(string)
		if again := parse(t, jsonOf(t, g.node, g.ev))["uuid"]; id != again || !form.MatchString(id) {
			t.Errorf("%s, then %s", id, again)
		}
		name := g.source.name + "-" + g.name
		if other, taken := seen[id]; taken && other != "sqlserver-refresh" { // the row is the same, whatever the layout
			t.Errorf("%s and %s share %s", name, other, id)
		}
		seen[id] = name
	}
}

// Sort keys order events elementwise, texts as text: as the positions are.
func TestRule_SortKeysOrderAsTextDoes(t *testing.T) {
	t.Parallel()
	table := tableOf(SQLServer)
	cdc := declare(t, newEnvelope(t, SQLServer, withCDC), table).Value
	rapid.Check(t, func(rt *rapid.T) {
		position := func() change.Position {
			small := rapid.IntRange(0, 20)
			return change.Position(fmt.Sprintf("%08x%08x%04x:%08x:%08x%08x%04x:%d", small.Draw(rt, "vlf"), small.Draw(rt, "block"), small.Draw(rt, "slot"),
				small.Draw(rt, "command"), small.Draw(rt, "vlf"), small.Draw(rt, "block"), small.Draw(rt, "slot"), rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "op")))
		}
		first, second := position(), position()
		a, b := sortKeysAt(t, cdc, table, first), sortKeysAt(t, cdc, table, second)
		if strings.Compare(a, b) != strings.Compare(string(first), string(second)) {
			rt.Fatalf("%s gives %s, %s gives %s", first, a, second, b)
		}
	})
}

// A row that changed twice in one transaction has two different pairs of source_timestamp and position.
func TestRule_TwoChangesOfOneTransaction(t *testing.T) {
	t.Parallel()
	for _, s := range sources {
		table := tableOf(s.engine)
		node := declare(t, newEnvelope(t, s.engine, append([]func(*Options){fromSequence}, s.set...)...), table).Value
		streams := declare(t, newEnvelope(t, s.engine, s.set...), table).Value
		first, second := eventOf(s, table, "update"), eventOf(s, table, "update")
		second.ChangeSequence, second.Position = []byte("20310510160001600000000000000000006"), "20310510160001600000000000000000006"
		if s.name == "sqlserver-cdc" {
			second.Position = strings4(first.Position)
			if place(t, streams, first) == place(t, streams, second) {
				t.Errorf("%s: the sequence value does not tell changes apart", s.name)
			}
		}
		if place(t, node, first) == place(t, node, second) {
			t.Errorf("%s: both are %s", s.name, place(t, node, first))
		}
	}
}
