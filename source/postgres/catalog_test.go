package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

func describeOne(t *testing.T, e *Engine, schema, name string) source.Relation {
	t.Helper()
	found, err := e.Describe(context.Background(), []change.TableID{{Schema: schema, Name: name}})
	if err != nil || len(found) != 1 {
		t.Fatalf("describe %s gave %v, %v", name, found, err)
	}
	return found[0]
}

func keyNames(r source.Relation) (names []string) {
	for _, i := range change.NewTable(r.ID, 1, r.Columns).Key {
		names = append(names, r.Columns[i].Name)
	}
	return names
}

// TestKeyChoice: which unique indexes may stand for a primary key.
func TestKeyChoice(t *testing.T) {
	s := newScratch(t)
	const columns = "(a int NOT NULL, b int NOT NULL, c int)"
	cases := []struct {
		name string
		ddl  []string
		want []string
	}{
		{"partial", []string{"CREATE UNIQUE INDEX ON partial (a) WHERE b > 0"}, nil},
		{"expression", []string{"CREATE UNIQUE INDEX ON expression (abs(a))"}, nil},
		{"nullable", []string{"CREATE UNIQUE INDEX ON nullable (a, c)"}, nil},
		{"put_off", []string{"ALTER TABLE put_off ADD UNIQUE (a) DEFERRABLE"}, nil},
		{"including", []string{"CREATE UNIQUE INDEX ON including (b) INCLUDE (c)"}, []string{"b"}},
		{"by_name", []string{"CREATE UNIQUE INDEX z1 ON by_name (a)", "CREATE UNIQUE INDEX a1 ON by_name (b)"}, []string{"b"}},
		{"primary_first", []string{"CREATE UNIQUE INDEX a0 ON primary_first (a)", "ALTER TABLE primary_first ADD CONSTRAINT zz PRIMARY KEY (b, a)"}, []string{"b", "a"}},
		{"not_unique", []string{"CREATE INDEX ON not_unique (a)"}, nil},
	}
	e := s.open(t)
	for _, c := range cases {
		mustExec(t, s.admin, append([]string{"CREATE TABLE " + c.name + " " + columns}, c.ddl...)...)
		if got := keyNames(describeOne(t, e, "public", c.name)); !slices.Equal(got, c.want) {
			t.Errorf("%s: key %v, want %v", c.name, got, c.want)
		}
	}
}

// TestTablesLists: a partitioned table once, its partitions never, views and other readable things too.
func TestTablesLists(t *testing.T) {
	s := newScratch(t)
	mustExec(t, s.admin,
		"CREATE TABLE parcel (id int, region int, PRIMARY KEY (id, region)) PARTITION BY LIST (region)",
		"CREATE TABLE parcel_1 PARTITION OF parcel FOR VALUES IN (1) PARTITION BY RANGE (id)",
		"CREATE TABLE parcel_1_1 PARTITION OF parcel_1 FOR VALUES FROM (0) TO (10)",
		"INSERT INTO parcel VALUES (5, 1)",
		"CREATE VIEW v AS SELECT id AS number FROM parcel", "CREATE MATERIALIZED VIEW m AS SELECT id FROM parcel",
		"CREATE TEMP TABLE hidden (a int)", "CREATE SEQUENCE seq", "CREATE TABLE empty ()")
	e := s.open(t)
	got, err := e.Tables(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []change.TableID{{Schema: "public", Name: "empty"}, {Schema: "public", Name: "m"}, {Schema: "public", Name: "parcel"}, {Schema: "public", Name: "v"}}
	if !slices.Equal(got, want) {
		t.Errorf("tables %v, want %v", got, want)
	}
	if key := keyNames(describeOne(t, e, "public", "parcel")); !slices.Equal(key, []string{"id", "region"}) {
		t.Errorf("key of the partitioned table: %v", key)
	}
	v := describeOne(t, e, "public", "v")
	if len(v.Columns) != 1 || v.Columns[0].Name != "number" || !v.Columns[0].Nullable || v.Identity == "" {
		t.Errorf("view: %+v", v)
	}
}

// TestDescribeFollowsDDL: dropped columns leave no trace, domains bring their NOT NULL.
func TestDescribeFollowsDDL(t *testing.T) {
	s := newScratch(t)
	mustExec(t, s.admin, "CREATE DOMAIN code AS char(3) NOT NULL", "CREATE DOMAIN strict_code AS code",
		"CREATE TABLE d (a int, gone int, c code, s strict_code, total int GENERATED ALWAYS AS (a + 1) STORED)",
		"ALTER TABLE d DROP COLUMN gone", "ALTER TABLE d ADD COLUMN z numeric(5,1) NOT NULL DEFAULT 0")
	r := describeOne(t, s.open(t), "public", "d")
	want := []change.Column{
		{Name: "a", Type: kind(change.Int4), Native: "integer", Nullable: true},
		{Name: "c", Type: str(12), Native: "character(3)"},
		{Name: "s", Type: str(12), Native: "character(3)"},
		{Name: "total", Type: kind(change.Int4), Native: "integer", Nullable: true},
		{Name: "z", Type: change.Type{Kind: change.Numeric, Precision: 5, Scale: 1}, Native: "numeric(5,1)"},
	}
	if !slices.Equal(r.Columns, want) || !slices.Equal(r.Computed, []string{"total"}) {
		t.Errorf("columns %+v computed %v", r.Columns, r.Computed)
	}
}

// TestCase10_FenceHoldsBackOpenWriters: a writer that is at work lies at or above Done until it ends.
func TestCase10_FenceHoldsBackOpenWriters(t *testing.T) {
	s := newScratch(t)
	mustExec(t, s.admin, "CREATE TABLE parcel__ct (seq varchar(35))")
	for _, mode := range modes {
		e := s.open(t, "default_query_exec_mode="+mode)
		ctx := context.Background()
		writer, err := s.admin.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		var id uint64
		if err := writer.QueryRow("INSERT INTO parcel__ct VALUES ('003') RETURNING pg_current_xact_id()::text::bigint").Scan(&id); err != nil {
			t.Fatal(err)
		}
		during := fenceOf(t, e)
		if during.Done > id || during.Next <= id {
			t.Errorf("%s: writer %d is open, fence %+v", mode, id, during)
		}
		if err := writer.Commit(); err != nil {
			t.Fatal(err)
		}
		waitForFence(t, e, during.Next) // not at once: writers of other databases are counted, too, and end
	}
}

// waitForFence waits until every writer below a number has ended.
func waitForFence(t *testing.T, e *Engine, next uint64) {
	t.Helper()
	deadline, pause := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer pause.Stop()
	for fenceOf(t, e).Done < next {
		select {
		case <-pause.C:
		case <-deadline:
			t.Fatalf("the writers below %d have not ended, fence %+v", next, fenceOf(t, e))
		}
	}
}

func fenceOf(t *testing.T, e *Engine) source.Fence {
	t.Helper()
	f, err := e.Fence(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
