package envelope

import (
	"bytes"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"

	"pgregory.net/rapid"
)

func textColumn(name string, key int) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: change.String, Length: 20}, Nullable: key == 0, KeyPosition: key}
}

// parcel has the key (zone, id), in another order than its columns.
func parcel() *change.Table {
	return change.NewTable(change.TableID{Schema: "shop", Name: "parcel"}, 1, []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}, KeyPosition: 2},
		textColumn("zone", 1),
		textColumn("status", 0),
		{Name: "at", Type: change.Type{Kind: change.DateTimeTZ, Scale: 7}, Native: "datetimeoffset(7)"},
	})
}

func parcelRow(id int64, zone, status string) []change.Value {
	return []change.Value{
		change.IntValue(id), change.TextValue([]byte(zone)), change.TextValue([]byte(status)),
		change.InstantValue(1935320401, 604805000, 180),
	}
}

func newKey(t *testing.T, mode KeyMode, table *change.Table, columns ...string) *TextKey {
	t.Helper()
	k, err := NewTextKey(mode, table, columns...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTextKeyModes(t *testing.T) {
	t.Parallel()
	keyed := parcel()
	keyless := change.NewTable(change.TableID{Name: "log"}, 1, []change.Column{textColumn("line", 0)})
	update := &change.Event{Table: keyed, Op: change.OpUpdate, TransactionID: []byte("0A"), After: parcelRow(7, "a|b", "new"), Before: parcelRow(6, "a", "old")}
	deleted := &change.Event{Table: keyed, Op: change.OpDelete, Before: parcelRow(6, `c\`, "old")}
	truncate := &change.Event{Table: keyed, Op: change.OpTruncate}
	line := &change.Event{Table: keyless, Op: change.OpInsert, After: []change.Value{change.Null}}
	const none = "<none>"
	for name, c := range map[string]struct {
		key            *TextKey
		ev             *change.Event
		want, wantPart string
	}{
		"none":                       {newKey(t, KeyNone, keyed), update, none, `a\|b|7`},
		"none, no primary key":       {newKey(t, KeyNone, keyless), line, none, "log"},
		"schema and table":           {newKey(t, KeySchemaAndTable, keyed), update, "shop.parcel", none},
		"table without schema":       {newKey(t, KeySchemaAndTable, keyless), line, "log", none},
		"primary key of the new row": {newKey(t, KeyPrimaryKey, keyed), update, `a\|b|7`, none},
		"primary key of the deleted": {newKey(t, KeyPrimaryKey, keyed), deleted, `c\\|6`, none},
		"no primary key":             {newKey(t, KeyPrimaryKey, keyless), line, none, "log"},
		"truncate":                   {newKey(t, KeyPrimaryKey, keyed), truncate, none, "shop.parcel"},
		"transaction":                {newKey(t, KeyTransactionID, keyed), update, "0A", none},
		"no transaction":             {newKey(t, KeyTransactionID, keyed), deleted, none, `c\\|6`},
		"one column, as it is":       {newKey(t, KeyColumns, keyed, "zone"), update, `a|b`, none},
		"columns":                    {newKey(t, KeyColumns, keyed, "status", "at"), update, "new|2031-04-30 16:00:01.6048050 +03:00", none},
		"one NULL column":            {newKey(t, KeyColumns, keyless, "line"), line, `\N`, none},
	} {
		key, has, err := c.key.Append(nil, c.ev)
		if got := orNone(key, has); err != nil || got != c.want {
			t.Errorf("%s: key %s, %v, want %s", name, got, err, c.want)
		}
		part, has, err := c.key.AppendPartition(nil, c.ev)
		if got := orNone(part, has); err != nil || got != c.wantPart {
			t.Errorf("%s: partition %s, %v, want %s", name, got, err, c.wantPart)
		}
	}
}

// What could be mistaken for the NULL of a single-column key gets one backslash more, nothing else does.
func TestTextKeyOfOneColumn(t *testing.T) {
	t.Parallel()
	k := newKey(t, KeyColumns, parcel(), "zone")
	for text, want := range map[string]string{
		`\N`: `\\N`, `\\N`: `\\\N`, `N`: `N`, `\`: `\`, ``: ``, `\n`: `\n`, `x\N`: `x\N`, `a|b\c`: `a|b\c`,
	} {
		got, has, err := k.Append(nil, &change.Event{After: parcelRow(1, text, "")})
		if err != nil || !has || string(got) != want {
			t.Errorf("%q: %q %v %v, want %q", text, got, has, err, want)
		}
	}
}

func orNone(b []byte, has bool) string {
	if !has {
		return "<none>" + string(b)
	}
	return string(b)
}

func TestTextKeyRefusesAbsentColumn(t *testing.T) {
	t.Parallel()
	k := newKey(t, KeyPrimaryKey, parcel())
	row := parcelRow(7, "a", "new")
	row[0] = change.Absent
	ev := &change.Event{Op: change.OpUpdate, Position: "20310510160001000000000000000000001", After: row}
	dst, has, err := k.Append([]byte("kept"), ev)
	if string(dst) != "kept" || has || fault.ClassOf(err) != fault.Poison {
		t.Fatalf("%q %v %v", dst, has, err)
	}
	for _, part := range []string{"shop.parcel", `"id"`, string(ev.Position), "not captured"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
}

func TestNewTextKeyProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode    KeyMode
		columns []string
		class   fault.Class
		names   string
	}{
		"unknown mode":   {"row", nil, fault.Config, `"row"`},
		"no columns":     {KeyColumns, nil, fault.Config, "no columns"},
		"missing column": {KeyColumns, []string{"id", "Zone"}, fault.Table, `"Zone"`},
	} {
		k, err := NewTextKey(c.mode, parcel(), c.columns...)
		if k != nil || fault.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: %v, %v", name, k, err)
		}
	}
}

// Case 74: three updates of one row have one key, and a reload or a delete has it too.
func TestCase74_OneRowOneKey(t *testing.T) {
	t.Parallel()
	k := newKey(t, KeyPrimaryKey, parcel())
	row := parcelRow(31, "b", "x")
	for _, ev := range []*change.Event{
		{Op: change.OpRefresh, After: row},
		{Op: change.OpUpdate, After: row},
		{Op: change.OpUpdate, After: row, Before: parcelRow(31, "b", "w")},
		{Op: change.OpDelete, Before: row},
	} {
		if key, has, err := k.Append(nil, ev); !has || err != nil || string(key) != "b|31" {
			t.Errorf("%v: %q %v %v", ev.Op, key, has, err)
		}
	}
}

// Two rows have the same key bytes only if their key columns are the same.
func TestTextKeyNeverCollides(t *testing.T) {
	t.Parallel()
	tricky := rapid.OneOf(
		rapid.Map(rapid.StringOf(rapid.SampledFrom([]rune(`\|N`))), func(s string) change.Value { return change.TextValue([]byte(s)) }),
		rapid.Map(rapid.String(), func(s string) change.Value { return change.TextValue([]byte(s)) }),
		rapid.Just(change.Null))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "columns")
		columns := make([]change.Column, n)
		for i := range columns {
			columns[i] = textColumn(string(rune('a'+i)), i+1)
		}
		k, err := NewTextKey(KeyPrimaryKey, change.NewTable(change.TableID{Name: "t"}, 1, columns))
		if err != nil {
			t.Fatal(err)
		}
		one := rapid.SliceOfN(tricky, n, n).Draw(t, "one")
		two := rapid.SliceOfN(tricky, n, n).Draw(t, "two")
		same := true
		for i := range one {
			same = same && one[i].Equal(two[i])
		}
		a, _, err := k.Append(nil, &change.Event{After: one})
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := k.Append(nil, &change.Event{After: two})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(a, b) != same {
			t.Fatalf("%v and %v: %q and %q", one, two, a, b)
		}
	})
}

func TestTextKeyAllocatesNothing(t *testing.T) {
	k := newKey(t, KeyPrimaryKey, parcel())
	ev := &change.Event{Op: change.OpUpdate, After: parcelRow(7, `a|b\`, "new")}
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := k.Append(dst, ev); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per key", n)
	}
}
