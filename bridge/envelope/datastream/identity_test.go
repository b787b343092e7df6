package datastream

import (
	"regexp"
	"testing"

	"ctbridge/bridge/change"
)

func uuidOf(t *testing.T, e *Envelope, ev *change.Event) string {
	t.Helper()
	return parse(t, jsonOf(t, declare(t, e, ev.Table).Value, ev))["uuid"].(string)
}

// Whatever makes an event another one makes another uuid; the rest does not.
func TestWhatUUIDsAreMadeFrom(t *testing.T) {
	t.Parallel()
	e := newEnvelope(t, SQLServer)
	with := func(f func(*change.Event)) string {
		ev := parcelUpdate(parcel(5, "a", change.Null), parcel(5, "b", change.Null))
		if f != nil {
			f(ev)
		}
		return uuidOf(t, e, ev)
	}
	base := with(nil)
	for name, c := range map[string]struct {
		change func(*change.Event)
		same   bool
	}{
		"position":   {func(ev *change.Event) { ev.Position = "20310510160001600000000000000000006" }, false},
		"half":       {func(ev *change.Event) { ev.Half = change.NewKey }, false},
		"operation":  {func(ev *change.Event) { ev.Op = change.OpInsert }, false},
		"key":        {func(ev *change.Event) { ev.After[0] = change.IntValue(6) }, false},
		"table":      {func(ev *change.Event) { other := *ev.Table; other.ID.Name = "parcels"; ev.Table = &other }, false},
		"schema":     {func(ev *change.Event) { other := *ev.Table; other.ID.Schema = "db"; ev.Table = &other }, false},
		"version":    {func(ev *change.Event) { other := *ev.Table; other.Version = 2; ev.Table = &other }, true},
		"other data": {func(ev *change.Event) { ev.After[1] = textOf("c") }, true},
		"late":       {func(ev *change.Event) { ev.Late, ev.Counter, ev.Last = true, 7, true }, true},
	} {
		if got := with(c.change); (got == base) != c.same {
			t.Errorf("%s: %s and %s", name, base, got)
		}
	}
	if other := newEnvelope(t, SQLServer, func(o *Options) { o.Stream = "other" }); uuidOf(t, other, parcelUpdate(nil, parcel(5, "b", change.Null))) == base {
		t.Error("another stream has the same uuid")
	}
}

// A row of a full load has the same uuid when the load is resumed, another one in another load. Without a key equal rows are told apart by number.
func TestUUIDsOfFullLoads(t *testing.T) {
	t.Parallel()
	e := newEnvelope(t, SQLServer)
	load := func(table *change.Table, id int64, status string, begin int64, number int64) string {
		return uuidOf(t, e, &change.Event{
			Table: table, Op: change.OpRefresh, After: parcel(id, status, change.Null), Load: &change.Load{Begin: change.InstantValue(begin, 0, 0), Row: number},
		})
	}
	keyed := parcels()
	if load(keyed, 5, "a", 1, 1) != load(keyed, 5, "b", 1, 9) || load(keyed, 5, "a", 1, 1) == load(keyed, 5, "a", 2, 1) || load(keyed, 5, "a", 1, 1) == load(keyed, 6, "a", 1, 1) {
		t.Error("with a key: load and key decide")
	}
	keyless := parcels()
	keyless.Key = nil
	first, again := load(keyless, 5, "a", 1, 1), load(keyless, 5, "a", 1, 1)
	if first != again || first == load(keyless, 5, "a", 1, 2) || first == load(keyless, 5, "b", 1, 1) {
		t.Error("without a key: the row and its number decide")
	}
	uuidOf(t, e, &change.Event{Table: keyed, Op: change.OpRefresh, After: parcel(5, "a", change.Null)}) // a sample without a load
}

// Case 67: one structure has one schema_key and one schema text, on every run; another structure another one.
func TestCase67_SchemaKeys(t *testing.T) {
	t.Parallel()
	e := newEnvelope(t, SQLServer)
	table := tableOf(SQLServer)
	first := declare(t, e, table)
	if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(first.SchemaID) {
		t.Errorf("%s", first.SchemaID)
	}
	text, _ := avroOf(t, first.Value, eventOf(sources[0], table, "insert"))
	for range 100 {
		again := declare(t, newEnvelope(t, SQLServer), tableOf(SQLServer))
		if other, _ := avroOf(t, again.Value, eventOf(sources[0], table, "insert")); again.SchemaID != first.SchemaID || other != text {
			t.Fatal("the schema differs from run to run")
		}
	}
	for name, change := range map[string]func(*change.Column){
		"name": func(c *change.Column) { c.Name = "more" }, "type": func(c *change.Column) { c.Type.Kind = change.Int8 },
		"scale": func(c *change.Column) { c.Type = change.Type{Kind: change.Numeric, Precision: 38, Scale: 9} },
		"key":   func(c *change.Column) { c.KeyPosition = 2 },
	} {
		other := tableOf(SQLServer)
		change(&other.Columns[1])
		other = newTable(other)
		if declare(t, e, other).SchemaID == first.SchemaID {
			t.Errorf("another %s has the same schema_key", name)
		}
	}
}

// newTable derives the key anew.
func newTable(t *change.Table) *change.Table { return change.NewTable(t.ID, t.Version, t.Columns) }
