package debezium

import (
	"reflect"
	"testing"

	"ctbridge/bridge/change"
)

// Case 75: an update of the key is a delete of the old one and a create of the new one, each with the other's key in a header; also where the
// message key is not the primary key.
func TestCase75_KeyUpdate(t *testing.T) {
	t.Parallel()
	byZone := func(o *Options) { o.KeyColumns = []string{"zone"} }
	table := parcel()
	for name, c := range map[string]struct {
		set           func(*Options)
		before, after []change.Value
		headers       []string // of the delete and of the create; nil = one event
	}{
		"primary key":                   {func(*Options) {}, parcelRow(31, "a"), parcelRow(32, "a"), []string{`{"id":32}`, `{"id":31}`}},
		"other column":                  {func(*Options) {}, parcelRow(31, "a"), parcelRow(31, "b"), nil},
		"chosen key":                    {byZone, parcelRow(31, "a"), parcelRow(31, "b"), []string{`{"zone":"b"}`, `{"zone":"a"}`}},
		"primary key beside chosen key": {byZone, parcelRow(31, "a"), parcelRow(32, "a"), nil},
		"no before-image":               {func(*Options) {}, nil, parcelRow(32, "a"), nil},
	} {
		e, d := open(t, SQLServer, c.set), declare(t, SQLServer, table, c.set)
		ev := with(updated(table), func(ev *change.Event) { ev.Before, ev.After = c.before, c.after })
		events := e.Expand(nil, ev)
		var ops string
		var headers []string
		for _, part := range events {
			ops += at(parse(t, jsonOf(t, d.Value, part)), "op").(string)
			for _, h := range d.Headers {
				if h.When(part) {
					headers = append(headers, string(jsonOf(t, h.Value, part)))
				}
			}
			if part.Position != ev.Position || string(part.TransactionID) != string(ev.TransactionID) {
				t.Errorf("%s: %+v", name, part)
			}
		}
		want := map[bool]string{true: "dc", false: "u"}[c.headers != nil]
		if ops != want || !reflect.DeepEqual(headers, c.headers) {
			t.Errorf("%s: %s %q, want %s %q", name, ops, headers, want, c.headers)
		}
		if c.headers == nil {
			continue
		}
		gone, come := string(jsonOf(t, d.Key, events[0])), string(jsonOf(t, d.Key, events[1]))
		if gone != c.headers[1] || come != c.headers[0] {
			t.Errorf("%s: keys %s and %s", name, gone, come)
		}
		if d.Headers[0].Name != "__debezium.newkey" || !d.Headers[0].When(events[0]) || d.Headers[1].Name != "__debezium.oldkey" || !d.Headers[1].When(events[1]) {
			t.Errorf("%s: headers %+v", name, d.Headers)
		}
	}
}

func TestTableWithoutKey(t *testing.T) {
	t.Parallel()
	table := change.NewTable(change.TableID{Schema: "s", Name: "log"}, 1, parcel().Columns[1:2])
	if d := declare(t, Postgres, table, in(JSONSchema)); d.Key != nil || d.Headers != nil {
		t.Errorf("%+v", d)
	}
}

// A chosen key column that may be NULL is optional in the key.
func TestNullableKeyColumn(t *testing.T) {
	t.Parallel()
	d := declare(t, SQLServer, parcel(), func(o *Options) { o.KeyColumns = []string{"price", "id"} })
	row := parcelRow(1, "a")
	row[2] = change.Null
	if key := string(jsonOf(t, d.Key, &change.Event{Op: change.OpInsert, After: row})); key != `{"price":null,"id":1}` {
		t.Error(key)
	}
}

// Case 62 and 61: names that Avro refuses are adjusted one by one; JSON keeps them.
func TestCase62_Names(t *testing.T) {
	t.Parallel()
	columns := []change.Column{{Name: "Unit, Price", Type: change.Type{Kind: change.Int4}, KeyPosition: 1}}
	table := change.NewTable(change.TableID{Schema: "dbo", Name: "Acme Ltd$Item.4f2a"}, 1, columns)
	set := func(o *Options) { o.Prefix, o.Database = "eu.erp-1", "ops-main" }
	schema := parse(t, []byte(schemaOf(t, declare(t, SQLServer, table, set, in(Avro)).Value)))
	if got := at(schema, "connect.name"); got != "eu.erp_u002D1.ops_u002Dmain.dbo.Acme_u0020Ltd_u0024Item_u002E4f2a.Envelope" {
		t.Error(got)
	}
	wrapped := parse(t, jsonOf(t, declare(t, SQLServer, table, set, in(JSONSchema)).Key, &change.Event{After: []change.Value{change.IntValue(1)}}))
	if at(wrapped, "schema", "name") != "eu.erp-1.ops-main.dbo.Acme Ltd$Item.4f2a.Key" || at(wrapped, "payload", "Unit, Price") == nil {
		t.Error(wrapped)
	}
}

// Case 67: the same table gives the same bytes.
func TestCase67_SameBytesEveryTime(t *testing.T) {
	t.Parallel()
	first := schemaOf(t, declare(t, MySQL, mySQLTypes().table(), in(Avro)).Value)
	for range 100 {
		if schemaOf(t, declare(t, MySQL, mySQLTypes().table(), in(Avro)).Value) != first {
			t.Fatal("another text")
		}
	}
}
