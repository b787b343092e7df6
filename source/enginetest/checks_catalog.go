package enginetest

import (
	"slices"
	"testing"

	"ctbridge/bridge/change"
)

// names are spellings that break unquoted SQL or naive quoting.
var names = []string{
	"Acme Ltd$Item Ledger$4f2a", "odd]name", "two[]brackets", "back`tick", `dou"ble`, "apo'strophe", "a.b", "per%cent_",
	"Unit, Price", "semi;colon--", "größe 名前", "select", "?", "$1", "@p1", ":x",
}

func checkNames(t *testing.T, h Harness) {
	f := newFixture(t, h)
	var columns [][2]string
	for _, name := range names {
		columns = append(columns, [2]string{"c " + name, "integer"})
	}
	for _, name := range names {
		id := f.create(name, columns)
		f.exec("INSERT INTO %s (%s) VALUES (7)", f.engine.Table(id), f.engine.Quote("c "+name))
		f.readNamed(id, "c "+name)
	}
	f.describeTogether()
	f.noSuchTable()
}

// readNamed finds a column by its catalog name and reads it.
func (f *fixture) readNamed(id change.TableID, column string) {
	f.Helper()
	r := f.describe(id)
	if len(r.Columns) != len(names) {
		f.Fatalf("table %s has %d columns, want %d", id, len(r.Columns), len(names))
	}
	one := []change.Column{f.columnOf(r, column)}
	got := f.rows(f.selectAll(id, one, "WHERE t."+f.engine.Quote(column)+" = 7"), 1)
	if len(got) != 1 || got[0][0].Num != 7 {
		f.Fatalf("table %s column %s gave %v", id, column, got)
	}
}

// describeTogether asks for all tables in one call, with one among them that is not there, and finds them in the list of tables.
func (f *fixture) describeTogether() {
	f.Helper()
	listed, err := f.engine.Tables(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	ids := []change.TableID{f.id("not there")}
	for _, name := range names {
		ids = append(ids, f.id(name))
		if !slices.Contains(listed, f.id(name)) {
			f.Errorf("Tables leaves out %q: %v", name, listed)
		}
	}
	relations, err := f.engine.Describe(f.ctx, ids)
	if err != nil {
		f.Fatal(err)
	}
	if len(relations) != len(names) {
		f.Errorf("Describe gave %d relations, want %d", len(relations), len(names))
	}
}

func (f *fixture) noSuchTable() {
	f.Helper()
	relations, err := f.engine.Describe(f.ctx, []change.TableID{f.id("not there")})
	if err != nil || len(relations) != 0 {
		f.Errorf("Describe of a missing table gave %v, %v", relations, err)
	}
	if relations, err = f.engine.Describe(f.ctx, nil); err != nil || len(relations) != 0 {
		f.Errorf("Describe of nothing gave %v, %v", relations, err)
	}
}

func checkKeys(t *testing.T, h Harness) {
	f := newFixture(t, h)
	abc := [][2]string{{"a", "integer NOT NULL"}, {"b", "varchar(20) NOT NULL"}, {"c", "integer"}}
	cases := []struct {
		table  string
		rest   []string
		unique []string // columns of a unique index
		want   []string // key columns in key order
	}{
		{"key_single", []string{"PRIMARY KEY (b)"}, nil, []string{"b"}},
		{"key_composite", []string{"PRIMARY KEY (b, a)"}, nil, []string{"b", "a"}},
		{"key_over_unique", []string{"PRIMARY KEY (b)"}, []string{"a"}, []string{"b"}},
		{"key_unique", nil, []string{"b", "a"}, []string{"b", "a"}},
		{"key_unique_null", nil, []string{"c"}, nil},
		{"key_none", nil, nil, nil},
	}
	for _, c := range cases {
		id := f.create(c.table, abc, c.rest...)
		if c.unique != nil {
			f.exec("CREATE UNIQUE INDEX %s ON %s (%s)", "u_"+c.table, f.engine.Table(id), joinQuoted(f, c.unique))
		}
		if got := keyOf(f.describe(id).Columns); !slices.Equal(got, c.want) {
			f.Errorf("%s: key %v, want %v", c.table, got, c.want)
		}
	}
	f.checkNullable("key_none")
}

func (f *fixture) checkNullable(table string) {
	f.Helper()
	r := f.describe(f.id(table))
	if f.columnOf(r, "a").Nullable || !f.columnOf(r, "c").Nullable {
		f.Errorf("nullable is wrong: %+v", r.Columns)
	}
}

func keyOf(columns []change.Column) []string {
	table := change.NewTable(change.TableID{}, 1, columns)
	var key []string
	for _, i := range table.Key {
		key = append(key, columns[i].Name)
	}
	return key
}

func joinQuoted(f *fixture, columns []string) string {
	text := ""
	for i, c := range columns {
		if i > 0 {
			text += ", "
		}
		text += f.engine.Quote(c)
	}
	return text
}

func checkIdentity(t *testing.T, h Harness) {
	f := newFixture(t, h)
	columns := [][2]string{{"a", "integer"}}
	id := f.create("identity", columns)
	first := f.describe(id).Identity
	f.exec("INSERT INTO %s VALUES (1)", f.engine.Table(id))
	if again := f.describe(id).Identity; again != first {
		t.Errorf("identity changed from %q to %q by an insert", first, again)
	}
	f.exec("DROP TABLE %s", f.engine.Table(id))
	f.create("identity_in_between", columns)
	f.create("identity", columns)
	if second := f.describe(id).Identity; second == first && first != "" {
		t.Errorf("identity is still %q after drop and create", first)
	}
}

func checkComputed(t *testing.T, h Harness) {
	if h.Computed == "" {
		t.Skip("the product has no generated columns")
	}
	f := newFixture(t, h)
	id := f.create("computed", [][2]string{{"a", "integer"}, {"twice as", h.Computed}, {"c", "integer"}})
	f.exec("INSERT INTO %s (a, c) VALUES (41, 3)", f.engine.Table(id))
	r := f.describe(id)
	if len(r.Columns) != 3 || !slices.Equal(r.Computed, []string{"twice as"}) {
		t.Fatalf("columns %+v, computed %q", r.Columns, r.Computed)
	}
	got := f.rows(f.selectAll(id, r.Columns, ""), 3)
	if len(got) != 1 || got[0][1].Num != 42 {
		t.Errorf("read %v", got)
	}
}
