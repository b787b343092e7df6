package datastream

import (
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/jsonenc"
)

// parcels has a key, a column that may be another key, and a large object.
func parcels() *change.Table {
	return change.NewTable(change.TableID{Schema: "dbo", Name: "parcel"}, 1, []change.Column{
		{Name: "id", Type: kindOf(change.Int4), KeyPosition: 1}, {Name: "status", Type: kindOf(change.String), Nullable: true},
		{Name: "photo", Type: kindOf(change.Blob), Nullable: true},
	})
}

func parcel(id int64, status string, photo change.Value) []change.Value {
	return []change.Value{change.IntValue(id), textOf(status), photo}
}

func parcelUpdate(before, after []change.Value) *change.Event {
	return &change.Event{
		Table: parcels(), Op: change.OpUpdate, Position: changeSequence, ChangeSequence: []byte(changeSequence), TransactionID: []byte("5"),
		Timestamp: change.InstantValue(second, 0, 0), Before: before, After: after,
	}
}

// Case 75: an update of the key is the UPDATE-DELETE of the old row, then the UPDATE-INSERT of the new one.
func TestCase75_KeyUpdate(t *testing.T) {
	t.Parallel()
	old, new := parcel(5, "a", change.Null), parcel(6, "a", change.Null)
	ev := parcelUpdate(old, new)
	e := newEnvelope(t, SQLServer)
	parts := e.Expand(nil, ev)
	if len(parts) != 2 {
		t.Fatalf("%d events", len(parts))
	}
	first, then := parts[0], parts[1]
	if first.Op != change.OpDelete || first.Half != change.OldKey || first.After != nil || &first.Before[0] != &old[0] || &first.Counterpart[0] != &new[0] {
		t.Errorf("%+v", first)
	}
	if then.Op != change.OpInsert || then.Half != change.NewKey || then.Before != nil || &then.After[0] != &new[0] || &then.Counterpart[0] != &old[0] {
		t.Errorf("%+v", then)
	}
	if ev.Op != change.OpUpdate || ev.Half != change.Whole || first.Position != ev.Position || string(then.TransactionID) != "5" {
		t.Errorf("%+v", ev)
	}
	n := declare(t, e, ev.Table).Value
	for i, want := range []string{"UPDATE-DELETE true 5", "UPDATE-INSERT false 6"} {
		event := parse(t, jsonOf(t, n, parts[i]))
		m := event["source_metadata"].(map[string]any)
		if got := fmt.Sprint(m["change_type"], " ", m["is_deleted"], " ", event["payload"].(map[string]any)["id"]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Case 75: so is an update of the message's key where that is another one, and only that.
func TestCase75_ChosenKeyUpdate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set           []func(*Options)
		before, after []change.Value
		want          int
	}{
		{[]func(*Options){keys("status")}, parcel(5, "a", change.Null), parcel(5, "b", change.Null), 2},
		{[]func(*Options){keys("status")}, parcel(5, "a", change.Null), parcel(6, "a", change.Null), 1},
		{[]func(*Options){keys("id", "status")}, parcel(5, "a", change.Null), parcel(6, "a", change.Null), 2},
		{nil, parcel(5, "a", change.Null), parcel(5, "b", change.Null), 1},
		{nil, nil, parcel(5, "b", change.Null), 1},
		{nil, []change.Value{change.Absent, textOf("a"), change.Null}, parcel(5, "b", change.Null), 1},
	} {
		ev := parcelUpdate(c.before, c.after)
		e := newEnvelope(t, SQLServer, c.set...)
		if got := e.Expand(nil, ev); len(got) != c.want {
			t.Errorf("%+v: %d events, want %d", c, len(got), c.want)
		}
		m := parse(t, jsonOf(t, declare(t, e, ev.Table).Value, ev))["source_metadata"].(map[string]any)
		names := []any{"id"}
		if len(e.opts.KeyColumns) > 0 {
			names = nil
			for _, name := range e.opts.KeyColumns {
				names = append(names, name)
			}
		}
		if fmt.Sprint(m["replication_index"]) != fmt.Sprint(names) {
			t.Errorf("replication_index %v, want %v", m["replication_index"], names)
		}
	}
}

// Case 47: a large object that the update left alone is taken from the old row, where that has it; else the event is refused, or null by choice.
func TestCase47_UnchangedLargeObject(t *testing.T) {
	t.Parallel()
	photo := change.BytesValue([]byte{1})
	changed := make(change.Mask, 1)
	changed.Set(2)
	for name, c := range map[string]struct {
		before, after []change.Value
		changed       change.Mask
		want          string // of photo; "" = refused
	}{
		"known from before":          {parcel(5, "a", photo), parcel(5, "b", change.Absent), nil, "AQ=="},
		"known, with a changed key":  {parcel(4, "a", photo), parcel(5, "b", change.Absent), nil, "AQ=="},
		"changed, but not captured":  {parcel(5, "a", photo), parcel(5, "b", change.Absent), changed, ""},
		"unknown":                    {parcel(5, "a", change.Absent), parcel(5, "b", change.Absent), nil, ""},
		"no before-image":            {nil, parcel(5, "b", change.Absent), nil, ""},
		"set to null":                {parcel(5, "a", photo), parcel(5, "b", change.Null), changed, "<nil>"},
		"null before, not captured":  {parcel(5, "a", change.Null), parcel(5, "b", change.Absent), nil, "<nil>"},
		"captured, whatever was old": {parcel(5, "a", change.Absent), parcel(5, "b", photo), nil, "AQ=="},
	} {
		ev := parcelUpdate(c.before, c.after)
		ev.Changed, ev.HasChanged = c.changed, c.changed != nil
		e := newEnvelope(t, SQLServer)
		parts := e.Expand(nil, ev)
		event, err := encode(t, declare(t, e, ev.Table).Value, parts[len(parts)-1])
		if c.want == "" {
			if fault.ClassOf(err) != fault.Poison || !strings.Contains(fmt.Sprint(err), `payload: column "photo"`) || fault.HintOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := encode(t, declare(t, newEnvelope(t, SQLServer, withNull), ev.Table).Value, ev); err != nil {
				t.Errorf("%s: with null: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := fmt.Sprint(event["payload"].(map[string]any)["photo"]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Case 44: what the server does not keep of a deleted row is null.
func TestCase44_AbsentInDelete(t *testing.T) {
	t.Parallel()
	ev := parcelUpdate(parcel(5, "a", change.Absent), nil)
	ev.Op = change.OpDelete
	event, err := encode(t, declare(t, newEnvelope(t, SQLServer), ev.Table).Value, ev)
	if err != nil || event["payload"].(map[string]any)["photo"] != nil {
		t.Errorf("%v, %v", event, err)
	}
}

// An event without a row has no message.
func TestEventsWithoutRow(t *testing.T) {
	t.Parallel()
	n := declare(t, newEnvelope(t, SQLServer), parcels())
	for _, op := range []change.Op{change.OpDelete, change.OpTruncate} {
		if _, err := encode(t, n.Value, &change.Event{Table: parcels(), Op: op, ChangeSequence: []byte(changeSequence)}); fault.ClassOf(err) != fault.Poison {
			t.Errorf("%v: %v", op, err)
		}
	}
	absent := parcel(5, "a", change.Null)
	absent[0] = change.Absent
	if _, err := encode(t, n.Key, parcelUpdate(nil, absent)); fault.ClassOf(err) != fault.Poison || !strings.Contains(fmt.Sprint(err), errNoKey.Error()) {
		t.Errorf("%v", err)
	}
}

func encode(t *testing.T, n *envelope.Node, ev *change.Event) (map[string]any, error) {
	t.Helper()
	encoder, err := jsonenc.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	text, err := encoder.Append(nil, ev)
	if err != nil {
		return nil, err
	}
	return parse(t, text), nil
}
