package qlik

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/jsonenc"

	"ctbridge/test/golden"
	"pgregory.net/rapid"
)

// jsonOf encodes an event by our encoder.
func jsonOf(t testing.TB, n *envelope.Node, ev *change.Event) []byte {
	t.Helper()
	encoder, err := jsonenc.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	text, err := encoder.Append(nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGoldenMessages(t *testing.T) {
	t.Parallel()
	table := tracker()
	update := trackerUpdate(table)
	deleted := &change.Event{
		Table: table, Op: change.OpDelete, ChangeSequence: []byte("20230911032325000000000000000000006"),
		Timestamp: change.InstantValue(1694402605, 123_456_700, 0), Before: trackerRow("2", "zwei", "source"), Counter: 2, Last: true,
	}
	refresh := &change.Event{Table: table, Op: change.OpRefresh, After: trackerRow("2", "zwei", "source")}
	withMD := declare(t, table, withMetadata)
	for name, c := range map[string]struct {
		node *envelope.Node
		ev   *change.Event
	}{
		"update.json":        {withMD.Value, update},
		"metadata.json":      {withMD.Metadata[0].Value, nil},
		"update-bare.json":   {declare(t, table, bare, withExternalID, namesIn(NameInMessage)).Value, update},
		"delete.json":        {declare(t, table).Value, deleted},
		"delete-before.json": {declare(t, table, deletedIn(InBeforeData), namesIn(NameInHeaders)).Value, deleted},
		"refresh.json":       {declare(t, table).Value, refresh},
		"ampersand.json":     {declare(t, ampersand(), namesIn(NameInMessage)).Value, &change.Event{Table: ampersand(), Op: change.OpInsert, After: []change.Value{change.IntValue(1), decimal("2.5")}}},
		"types.json":         {declare(t, everyType(), bare).Value, &change.Event{Table: everyType(), Op: change.OpInsert, After: everyRow()}},
		"types-md.json":      {find(t, declare(t, everyType(), withMetadata).Metadata[0].Value, "message", "tableStructure"), nil},
	} {
		golden.JSON(t, name, jsonOf(t, c.node, c.ev))
	}
}

// The real message of the specification, section 1, written out: not one byte may differ.
func TestTheRealMessage(t *testing.T) {
	t.Parallel()
	const want = `{"magic":"atMSG","type":"DT","headers":null,"messageSchemaId":null,"messageSchema":null,"message":{` +
		`"data":{"ID":"2","NAME":"zwei","tableName":"source"},"beforeData":{"ID":"2","NAME":"two","tableName":"source"},` +
		`"headers":{"operation":"UPDATE","changeSequence":"20230911032325000000000000000000005","timestamp":"2023-09-11T03:23:25.000",` +
		`"streamPosition":"00000000.00bb2531.00000001.0000.02.0000:154.6963.16","transactionId":"00000000000000000000000000060008",` +
		`"changeMask":"02","columnMask":"07","transactionEventCounter":1,"transactionLastEvent":true}}}`
	table := tracker()
	if got := string(jsonOf(t, declare(t, table).Value, trackerUpdate(table))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestCase57_ValuesInJSON(t *testing.T) {
	t.Parallel()
	table := everyType()
	text := jsonOf(t, declare(t, table, bare).Value, &change.Event{Table: table, Op: change.OpInsert, After: everyRow()})
	var message struct{ Data map[string]json.RawMessage }
	if err := json.Unmarshal(text, &message); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples() {
		if got := string(message.Data[s.name]); got != s.json {
			t.Errorf("%s: %s, want %s", s.name, got, s.json)
		}
	}
}

// A NULL that was read and a column that was not captured differ in columnMask alone.
func TestNullAndAbsentDifferInTheMask(t *testing.T) {
	t.Parallel()
	table := tracker()
	show := func(middle change.Value) string {
		row := trackerRow("2", "", "x")
		row[1] = middle
		text := jsonOf(t, declare(t, table, bare).Value, &change.Event{Table: table, Op: change.OpInsert, After: row})
		var message struct {
			Data    struct{ NAME *string }
			Headers struct{ ColumnMask string }
		}
		if err := json.Unmarshal(text, &message); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(message.Data.NAME, message.Headers.ColumnMask)
	}
	if got := show(change.Null); got != "<nil>07" {
		t.Errorf("NULL: %s", got)
	}
	if got := show(change.Absent); got != "<nil>05" {
		t.Errorf("absent: %s", got)
	}
}

// Case 21: an event shows its own before-image.
func TestCase21_OwnBeforeImage(t *testing.T) {
	t.Parallel()
	table := parcel()
	value := declare(t, table, bare).Value
	encoder, err := jsonenc.Compile(value)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{1, 2, 1} {
		ev := &change.Event{Table: table, Op: change.OpUpdate, Before: parcelRow(id, fmt.Sprint("old", id)), After: parcelRow(id, fmt.Sprint("new", id))}
		text, err := encoder.Append(nil, ev)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`{"data":{"id":%d,"status":"new%d","fee":"1.50"},"beforeData":{"id":%d,"status":"old%d","fee":"1.50"},`, id, id, id, id)
		if !strings.HasPrefix(string(text), want) {
			t.Errorf("%s\nwant %s…", text, want)
		}
	}
}

// Whatever the table and the event: the message is JSON, its members stand in the documented order, its masks are the sets they came from.
func TestMessagesOfAnyTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		table := randomTable(rt)
		n := len(table.Columns)
		ev := randomEvent(rt, table)
		set := []func(*Options){bare}
		if rapid.Bool().Draw(rt, "names") {
			set = append(set, namesIn(NameInMessage))
		}
		text := jsonOf(t, declare(t, table, set...).Value, ev)
		order := memberOrder(rt, text)
		want := []string{"data", "beforeData", "headers"}
		if len(set) > 1 {
			want = append([]string{"schema", "table"}, want...)
		}
		checkOrder(rt, order[""], want)
		checkOrder(rt, order["headers"], strings.Fields("operation changeSequence timestamp streamPosition transactionId "+
			"changeMask columnMask transactionEventCounter transactionLastEvent"))
		columns := make([]string, n)
		for i := range columns {
			columns[i] = table.Columns[i].Name
		}
		checkOrder(rt, order["data"], columns)
		if ev.Op == change.OpUpdate && ev.Before != nil {
			checkOrder(rt, order["beforeData"], columns)
		} else if len(order["beforeData"]) != 0 {
			rt.Fatalf("beforeData of %v: %v", ev.Op, order["beforeData"])
		}
		checkMasks(rt, text, table, ev)
	})
}

func randomTable(t *rapid.T) *change.Table {
	names := rapid.SliceOfNDistinct(rapid.String(), 1, 40, rapid.ID[string]).Draw(t, "names")
	columns := make([]change.Column, len(names))
	for i, name := range names {
		kind := rapid.SampledFrom([]change.Kind{change.Int4, change.String, change.Clob, change.NClob, change.Blob, change.JSON}).Draw(t, "kind")
		columns[i] = change.Column{Name: name, Type: change.Type{Kind: kind}, Nullable: true}
	}
	columns[0].KeyPosition = 1
	return change.NewTable(change.TableID{Schema: rapid.String().Draw(t, "schema"), Name: rapid.String().Draw(t, "table")}, 1, columns)
}

func randomEvent(t *rapid.T, table *change.Table) *change.Event {
	ev := &change.Event{Table: table, Op: rapid.SampledFrom([]change.Op{change.OpInsert, change.OpUpdate, change.OpDelete, change.OpRefresh}).Draw(t, "op")}
	if ev.Op != change.OpDelete {
		ev.After = randomRow(t, table)
	}
	if ev.Op == change.OpDelete || ev.Op == change.OpUpdate && rapid.Bool().Draw(t, "before") {
		ev.Before = randomRow(t, table)
	}
	if ev.HasChanged = rapid.Bool().Draw(t, "mask"); ev.HasChanged {
		ev.Changed = make(change.Mask, change.MaskBytes(len(table.Columns)))
		for i := range table.Columns {
			if rapid.Bool().Draw(t, "changed") {
				ev.Changed.Set(i)
			}
		}
	}
	return ev
}

func randomRow(t *rapid.T, table *change.Table) []change.Value {
	row := make([]change.Value, len(table.Columns))
	for i := range row {
		switch rapid.IntRange(0, 3).Draw(t, "state") {
		case 0:
			row[i] = change.Absent
		case 1:
			row[i] = change.Null
		default:
			row[i] = randomValue(t, table.Columns[i].Type.Kind)
		}
	}
	return row
}

func randomValue(t *rapid.T, kind change.Kind) change.Value {
	switch kind {
	case change.Int4:
		return change.IntValue(int64(rapid.Int32().Draw(t, "int")))
	case change.Blob:
		return change.BytesValue(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}
	return change.TextValue([]byte(rapid.String().Draw(t, "text")))
}

// memberOrder reads the member names of the message and of its sections in the order of the text.
func memberOrder(t *rapid.T, text []byte) map[string][]string {
	order := map[string][]string{}
	d := json.NewDecoder(bytes.NewReader(text))
	readMembers(t, d, "", order)
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("text after the message: %s", text)
	}
	return order
}

// readMembers reads one value; the members of an object are listed under the name it has.
func readMembers(t *rapid.T, d *json.Decoder, name string, order map[string][]string) {
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	if token != json.Delim('{') {
		return
	}
	for d.More() {
		member, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		order[name] = append(order[name], member.(string))
		section := member.(string)
		if name != "" { // a column may have the name of a section
			section = name + "." + section
		}
		readMembers(t, d, section, order)
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
}

func checkOrder(t *rapid.T, got, want []string) {
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Fatalf("members %q, want %q", got, want)
	}
}

func checkMasks(t *rapid.T, text []byte, table *change.Table, ev *change.Event) {
	var message struct {
		Headers struct{ ChangeMask, ColumnMask *string }
	}
	if err := json.Unmarshal(text, &message); err != nil {
		t.Fatal(err)
	}
	changed, present := message.Headers.ChangeMask, message.Headers.ColumnMask
	if ev.Op == change.OpRefresh {
		if changed != nil || present != nil {
			t.Fatalf("masks of a REFRESH: %s", text)
		}
		return
	}
	n := len(table.Columns)
	set := ordinals(t, *present, n)
	for i, value := range ev.Row() {
		if set[i+1] != (value.Kind != change.KindAbsent) {
			t.Fatalf("columnMask %s: ordinal %d", *present, i+1)
		}
	}
	wanted, known := expectedChanges(table, ev)
	if known != (changed != nil) {
		t.Fatalf("changeMask: %s", text)
	}
	if known && !sameSet(ordinals(t, *changed, n), wanted, n, false) {
		t.Fatalf("changeMask %s, want ordinals %v", *changed, wanted)
	}
}

// expectedChanges says again, from the specification, which ordinals a change mask names.
func expectedChanges(table *change.Table, ev *change.Event) (set []int, known bool) {
	known = ev.HasChanged || ev.Op == change.OpDelete || ev.Op == change.OpUpdate && ev.Before != nil
	for i, c := range table.Columns {
		if c.Type.LOB() || c.Type.Kind == change.JSON {
			continue
		}
		var marked bool
		switch {
		case ev.Op == change.OpDelete:
			marked = c.KeyPosition > 0
		case ev.HasChanged:
			marked = ev.Changed.Has(i)
		case known:
			old, now := ev.Before[i], ev.After[i]
			marked = old.Kind != change.KindAbsent && now.Kind != change.KindAbsent && !old.Equal(now)
		}
		if marked {
			set = append(set, i+1)
		}
	}
	return set, known
}
