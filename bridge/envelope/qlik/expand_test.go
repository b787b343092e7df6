package qlik

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

func splitting(o *Options) { o.KeyChange = AsDeleteInsert }

// parcel is the fixture Q of the cases: id is the key, status may be chosen as the message key.
func parcel() *change.Table {
	return change.NewTable(change.TableID{Schema: "shop", Name: "parcel"}, 1, []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}, Native: "int", KeyPosition: 1},
		{Name: "status", Type: change.Type{Kind: change.String, Length: 20}, Native: "varchar(20)", Nullable: true},
		{Name: "fee", Type: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}, Native: "decimal(10,2)", Nullable: true},
	})
}

func parcelRow(id int64, status string) []change.Value {
	return []change.Value{change.IntValue(id), change.TextValue([]byte(status)), change.DecimalValue([]byte("1.50"))}
}

func TestCase75_KeyUpdate(t *testing.T) {
	t.Parallel()
	table := parcel()
	// The before-image of this task is not published, but Expand sees it.
	e := open(t, splitting, func(o *Options) { o.BeforeImage = false })
	ev := &change.Event{
		Table: table, Op: change.OpUpdate, Position: "31", ChangeSequence: []byte("31"), TransactionID: []byte("0A"),
		Before: parcelRow(5, "a"), After: parcelRow(6, "a"), Changed: marked(3, 1), HasChanged: true,
	}
	ev.After[2] = change.Absent
	out := e.Expand(nil, ev)
	if len(out) != 2 {
		t.Fatalf("%d events", len(out))
	}
	deleted, inserted := out[0], out[1]
	if deleted.Op != change.OpDelete || deleted.After != nil || deleted.Before[0].Num != 5 {
		t.Errorf("deletion %+v", deleted)
	}
	if inserted.Op != change.OpInsert || inserted.Before != nil || inserted.After[0].Num != 6 {
		t.Errorf("insertion %+v", inserted)
	}
	if string(deleted.Changed) != "\x01" || string(inserted.Changed) != "\x03" {
		t.Errorf("reported as changed: %x and %x", deleted.Changed, inserted.Changed)
	}
	headers := find(t, declare(t, table).Value, "message", "headers")
	for _, c := range []struct {
		ev              *change.Event
		changed, column string
	}{{deleted, "01", "07"}, {inserted, "03", "03"}} {
		if got := maskHex(find(t, headers, "changeMask"), c.ev); got != c.changed {
			t.Errorf("%v: changeMask %s", c.ev.Op, got)
		}
		if got := maskHex(find(t, headers, "columnMask"), c.ev); got != c.column {
			t.Errorf("%v: columnMask %s", c.ev.Op, got)
		}
		if c.ev.Position != ev.Position || string(c.ev.TransactionID) != "0A" || string(c.ev.ChangeSequence) != "31" {
			t.Errorf("%v lost its place: %+v", c.ev.Op, c.ev)
		}
	}
	key, err := envelope.NewTextKey(envelope.KeyPrimaryKey, table)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"5", "6"} {
		if got, _, err := key.Append(nil, out[i]); err != nil || string(got) != want {
			t.Errorf("key %s, %v, want %s", got, err, want)
		}
	}
	if ev.Op != change.OpUpdate || ev.Before == nil || ev.After == nil {
		t.Error("the event itself was changed")
	}
}

// Case 75 again: the message key is not the primary key.
func TestCase75_ChosenKeyColumn(t *testing.T) {
	t.Parallel()
	e := open(t, splitting, func(o *Options) { o.KeyColumns = []string{"status"} })
	ev := &change.Event{Table: parcel(), Op: change.OpUpdate, Before: parcelRow(5, "a"), After: parcelRow(5, "b")}
	out := e.Expand(nil, ev)
	if len(out) != 2 || string(out[0].Before[1].Raw) != "a" || string(out[1].After[1].Raw) != "b" || !out[0].HasChanged || !out[1].HasChanged {
		t.Fatalf("%+v", out)
	}
	// A table without primary key: the chosen columns say which row was deleted.
	keyless := change.NewTable(change.TableID{Name: "log"}, 1, parcel().Columns)
	keyless.Key = nil
	ev.Table = keyless
	headers := find(t, declare(t, keyless, func(o *Options) { o.KeyColumns = []string{"status"} }).Value, "message", "headers")
	for i, want := range []string{"02", "07"} {
		if got := maskHex(find(t, headers, "changeMask"), e.Expand(nil, ev)[i]); got != want {
			t.Errorf("changeMask %s, want %s", got, want)
		}
	}
}

func TestExpandLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	table := parcel()
	absent := parcelRow(0, "a")
	absent[0] = change.Absent
	for name, c := range map[string]struct {
		e  *Envelope
		ev change.Event
	}{
		"key change as update":     {open(t), change.Event{Op: change.OpUpdate, Before: parcelRow(5, "a"), After: parcelRow(6, "a")}},
		"no key change":            {open(t, splitting), change.Event{Op: change.OpUpdate, Before: parcelRow(5, "a"), After: parcelRow(5, "b")}},
		"no before-image":          {open(t, splitting), change.Event{Op: change.OpUpdate, After: parcelRow(5, "b")}},
		"old key was not kept":     {open(t, splitting), change.Event{Op: change.OpUpdate, Before: absent, After: parcelRow(5, "b")}},
		"insert":                   {open(t, splitting), change.Event{Op: change.OpInsert, After: parcelRow(5, "b")}},
		"delete":                   {open(t, splitting), change.Event{Op: change.OpDelete, Before: parcelRow(5, "b")}},
		"refresh":                  {open(t, splitting), change.Event{Op: change.OpRefresh, After: parcelRow(5, "b")}},
		"truncate, for the record": {open(t, splitting), change.Event{Op: change.OpTruncate}},
	} {
		c.ev.Table = table
		first := &change.Event{}
		out := c.e.Expand([]*change.Event{first}, &c.ev)
		if len(out) != 2 || out[0] != first || out[1] != &c.ev {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// Case 20: events of two tables keep their order; the envelope adds nothing between them.
func TestCase20_OrderIsKept(t *testing.T) {
	t.Parallel()
	e := open(t)
	depot := &change.Event{Table: wide(2, 1), Op: change.OpInsert, Position: "10", After: row(2)}
	child := &change.Event{Table: parcel(), Op: change.OpInsert, Position: "11", After: parcelRow(1, "a")}
	out := e.Expand(e.Expand(nil, depot), child)
	if len(out) != 2 || out[0] != depot || out[1] != child {
		t.Errorf("%+v", out)
	}
}

func TestExpandAllocatesNothing(t *testing.T) {
	e := open(t, splitting, func(o *Options) { o.KeyColumns = []string{"status"} })
	ev := &change.Event{Table: parcel(), Op: change.OpUpdate, Before: parcelRow(5, "a"), After: parcelRow(5, "a")}
	dst := make([]*change.Event, 0, 1)
	if n := testing.AllocsPerRun(100, func() { e.Expand(dst, ev) }); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}
