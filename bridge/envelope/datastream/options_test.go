package datastream

import (
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	e, err := New(Options{Stream: "orders", Engine: Postgres})
	if err != nil {
		t.Fatal(err)
	}
	o := e.opts
	if o.Layout != Qlik || o.CDC != "postgresql-cdc" || o.Backfill != "postgresql-backfill" || o.UpdateType != AsUpdate || o.PositionFrom != FromStream ||
		o.FineTimes != FineRefuse || o.Absent != AbsentRefuse || o.Now == nil {
		t.Errorf("%+v", o)
	}
}

// Every problem is named at once.
func TestProblemsOfOptions(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Engine: "oracle", Layout: "x", ReadMethod: "y", UpdateType: "UPSERT", PositionFrom: "z", FineTimes: "cut", Absent: "drop", KeyColumns: []string{"a", "a"}})
	if fault.ClassOf(err) != fault.Config {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{"Stream", `Engine: "oracle"`, `Layout: "x"`, `ReadMethod: "y"`, `UpdateType: "UPSERT"`, `PositionFrom: "z"`, `FineTimes: "cut"`, `Absent: "drop"`, `KeyColumns: "a"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
	for name, o := range map[string]Options{
		"Layout sqlserver-cdc": options(Postgres, withCDC),
		"CDC and Backfill":     options(MySQL, func(o *Options) { o.CDC, o.Backfill = "cdc", "cdc" }),
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChosenNames(t *testing.T) {
	t.Parallel()
	table := tableOf(Postgres)
	names := func(o *Options) { o.CDC, o.Backfill, o.Stream = "postgres-cdc-wal", "postgresql-backfill", "s" }
	n := declare(t, newEnvelope(t, Postgres, names, updateInsert), table).Value
	event := parse(t, jsonOf(t, n, eventOf(sources[2], table, "update")))
	if event["read_method"] != "postgres-cdc-wal" || event["stream_name"] != "s" || event["source_metadata"].(map[string]any)["change_type"] != "UPDATE-INSERT" {
		t.Errorf("%v", event)
	}
	event = parse(t, jsonOf(t, n, eventOf(sources[2], table, "refresh")))
	if event["read_method"] != "postgresql-backfill" {
		t.Errorf("%v", event["read_method"])
	}
}

func TestDatabaseIsNullWhereUnknown(t *testing.T) {
	t.Parallel()
	table := tableOf(SQLServer)
	unknown := func(o *Options) { o.Database = "" }
	m := metadataOf(t, sources[0], table, eventOf(sources[0], table, "insert"), unknown)
	if value, there := m["database"]; value != nil || !there {
		t.Errorf("%v", m)
	}
}

// A table without a key has an empty list; one without the chosen key column is refused by name.
func TestKeyNames(t *testing.T) {
	t.Parallel()
	for _, s := range sources {
		table := tableOf(s.engine)
		keyless := change.NewTable(table.ID, 1, append([]change.Column(nil), table.Columns...))
		keyless.Key = nil
		d := declare(t, newEnvelope(t, s.engine, s.set...), keyless)
		list := "primary_keys"
		if s.engine == SQLServer {
			list = "replication_index"
		}
		m := parse(t, jsonOf(t, d.Value, eventOf(s, keyless, "insert")))["source_metadata"].(map[string]any)
		if names, ok := m[list].([]any); d.Key != nil || !ok || len(names) != 0 {
			t.Errorf("%s: %v, key %v", s.name, m, d.Key)
		}
		avroOf(t, d.Value, eventOf(s, keyless, "insert"))
		_, err := newEnvelope(t, s.engine, append(s.set, keys("id", "nope"))...).Declare(table)
		if fault.ClassOf(err) != fault.Table || !strings.Contains(err.Error(), `"nope"`) {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}
