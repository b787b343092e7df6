package qlik

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/avro"

	"ctbridge/test/golden"
	oracle "github.com/twmb/avro"
)

// avroOf encodes an event by our encoder.
func avroOf(t testing.TB, n *envelope.Node, ev *change.Event) []byte {
	t.Helper()
	encoder, err := avro.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	text, err := encoder.Append(nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decode reads Avro binary by another implementation and refuses left-over bytes.
func decode(t testing.TB, schema string, binary []byte) map[string]any {
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
	return value.(map[string]any)
}

func schemaOf(t testing.TB, n *envelope.Node) string {
	t.Helper()
	text, err := avro.SchemaText(n)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// at follows member names down a decoded message.
func at(value any, path ...string) any {
	for _, name := range path {
		value = value.(map[string]any)[name]
	}
	return value
}

func TestGoldenSchemas(t *testing.T) {
	t.Parallel()
	plain := declare(t, tracker(), withAvro, withMetadata)
	registry := declare(t, tracker(), withRegistry)
	for name, n := range map[string]*envelope.Node{
		"envelope.avsc":   plain.Value,
		"metadata.avsc":   find(t, plain.Metadata[0].Value, "message"),
		"registry.avsc":   registry.Value,
		"key.avsc":        registry.Key,
		"everything.avsc": declare(t, tracker(), withRegistry, withExternalID, namesIn(NameInMessage), deletedIn(InBeforeData)).Value,
		"ampersand.avsc":  declare(t, ampersand(), withRegistry, withLogical).Value,
		"types.avsc":      declare(t, everyType(), withRegistry).Value,
		"logical.avsc":    declare(t, everyType(), withRegistry, withLogical).Value,
	} {
		text := schemaOf(t, n)
		if _, err := oracle.Parse(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden.JSON(t, name, []byte(text))
	}
}

// headersOfTracker is what the real message carries, as Avro.
func checkTrackerHeaders(t *testing.T, headers any) {
	t.Helper()
	for member, want := range map[string]any{
		"operation":               "UPDATE",
		"changeSequence":          "20230911032325000000000000000000005",
		"timestamp":               "2023-09-11T03:23:25.000",
		"streamPosition":          "00000000.00bb2531.00000001.0000.02.0000:154.6963.16",
		"transactionId":           "00000000000000000000000000060008",
		"changeMask":              []byte{0x02},
		"columnMask":              []byte{0x07},
		"transactionEventCounter": int64(1),
		"transactionLastEvent":    true,
	} {
		if got := at(headers, member); !reflect.DeepEqual(got, want) {
			t.Errorf("headers.%s is %#v, want %#v", member, got, want)
		}
	}
}

func TestPlainAvro(t *testing.T) {
	t.Parallel()
	table := tracker()
	d := declare(t, table, withAvro, withMetadata)
	message := decode(t, schemaOf(t, d.Value), avroOf(t, d.Value, trackerUpdate(table)))
	if string(message["magic"].([]byte)) != "atMSG" || message["type"] != "DT" || message["headers"] != nil ||
		message["messageSchemaId"] != d.SchemaID || message["messageSchema"] != nil {
		t.Errorf("%v", message)
	}
	// A consumer finds the schema of the inner record in the metadata message, and that one's in its own envelope.
	notice := decode(t, schemaOf(t, d.Metadata[0].Value), avroOf(t, d.Metadata[0].Value, nil))
	if notice["type"] != "MD" || notice["messageSchemaId"] != d.SchemaID {
		t.Errorf("%v", notice)
	}
	metadata := decode(t, notice["messageSchema"].(string), notice["message"].([]byte))
	if metadata["schemaId"] != d.SchemaID || at(metadata, "lineage", "timestamp") != "2018-04-13T18:13:58.289" {
		t.Errorf("%v", metadata)
	}
	inner := decode(t, metadata["dataSchema"].(string), message["message"].([]byte))
	checkTrackerHeaders(t, inner["headers"])
	if want := map[string]any{"ID": "2", "NAME": "zwei", "tableName": "source"}; !reflect.DeepEqual(inner["data"], any(want)) {
		t.Errorf("data %v", inner["data"])
	}
	if want := map[string]any{"ID": "2", "NAME": "two", "tableName": "source"}; !reflect.DeepEqual(inner["beforeData"], any(want)) {
		t.Errorf("beforeData %v", inner["beforeData"])
	}
}

func TestRegistryAvro(t *testing.T) {
	t.Parallel()
	table := tracker()
	d := declare(t, table, withRegistry)
	message := decode(t, schemaOf(t, d.Value), avroOf(t, d.Value, trackerUpdate(table)))
	checkTrackerHeaders(t, message["headers"])
	if at(message, "data", "ID") != "2" || at(message, "beforeData", "NAME") != "two" {
		t.Errorf("%v", message)
	}
	if key := decode(t, schemaOf(t, d.Key), avroOf(t, d.Key, trackerUpdate(table))); !reflect.DeepEqual(key, map[string]any{"ID": "2"}) {
		t.Errorf("key %v", key)
	}
}

// The operations of section 3 of the specification, in the binary form.
func TestAvroOperations(t *testing.T) {
	t.Parallel()
	table := tracker()
	d := declare(t, table, withRegistry)
	schema := schemaOf(t, d.Value)
	row, old := trackerRow("2", "new", "x"), trackerRow("2", "old", "x")
	for _, c := range []struct {
		ev                    change.Event
		data, before          any
		changeMask, lastEvent any
	}{
		{change.Event{Op: change.OpRefresh, After: row}, "new", nil, nil, nil},
		{change.Event{Op: change.OpInsert, After: row, Changed: marked(3, 1, 2, 3), HasChanged: true, Counter: 1}, "new", nil, []byte{7}, false},
		{change.Event{Op: change.OpUpdate, After: row, Before: old, Counter: 2}, "new", "old", []byte{2}, false},
		{change.Event{Op: change.OpDelete, Before: old, Counter: 3, Last: true}, "old", nil, []byte{1}, true},
	} {
		c.ev.Table = table
		message := decode(t, schema, avroOf(t, d.Value, &c.ev))
		if got := at(message, "headers", "operation"); got != c.ev.Op.String() {
			t.Errorf("%v: operation %v", c.ev.Op, got)
		}
		before := message["beforeData"]
		if before != nil {
			before = at(before, "NAME")
		}
		if at(message, "data", "NAME") != c.data || before != c.before {
			t.Errorf("%v: %v", c.ev.Op, message)
		}
		if got := at(message, "headers", "changeMask"); !reflect.DeepEqual(got, c.changeMask) {
			t.Errorf("%v: changeMask %v", c.ev.Op, got)
		}
		if got := at(message, "headers", "transactionLastEvent"); got != c.lastEvent {
			t.Errorf("%v: transactionLastEvent %v", c.ev.Op, got)
		}
	}
	truncate := &change.Event{Table: table, Op: change.OpTruncate, After: row}
	encoder, err := avro.Compile(d.Value)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.Append(nil, truncate); fault.ClassOf(err) != fault.Poison {
		t.Errorf("TRUNCATE has no symbol, but: %v", err)
	}
}

// A value that a logical type cannot hold is refused by column, not cut (I6); as text it passes.
func TestLogicalTypesRefuseWhatTheyCannotHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typ    change.Type
		native string
		value  change.Value
	}{
		"time beyond the day":  {change.Type{Kind: change.Time}, "time", change.TimeValue(838*3600, 0)},
		"negative time":        {change.Type{Kind: change.Time}, "time", change.TimeValue(-1, 0)},
		"seventh digit":        {change.Type{Kind: change.DateTime, Scale: 7}, "datetime2(7)", change.DateTimeValue(0, 100)},
		"seventh digit of day": {change.Type{Kind: change.Time, Scale: 7}, "time(7)", change.TimeValue(86399, 999_999_900)},
	} {
		table := change.NewTable(change.TableID{Schema: "s", Name: "t"}, 1, []change.Column{{Name: "moment", Type: c.typ, Native: c.native}})
		ev := &change.Event{Table: table, Op: change.OpInsert, After: []change.Value{c.value}}
		avroOf(t, declare(t, table, withRegistry).Value, ev)
		encoder, err := avro.Compile(declare(t, table, withRegistry, withLogical).Value)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := encoder.Append(nil, ev); fault.ClassOf(err) != fault.Poison || !strings.Contains(fmt.Sprint(err), "data.moment") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A key column that was not captured makes no key.
func TestAvroKeyRefusesAbsentColumn(t *testing.T) {
	t.Parallel()
	table := tracker()
	encoder, err := avro.Compile(declare(t, table, withRegistry).Key)
	if err != nil {
		t.Fatal(err)
	}
	absent := trackerRow("2", "a", "b")
	absent[0] = change.Absent
	if _, err := encoder.Append(nil, &change.Event{Table: table, Op: change.OpInsert, After: absent}); fault.ClassOf(err) != fault.Poison {
		t.Errorf("%v", err)
	}
}
