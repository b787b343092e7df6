package enginetest

import (
	"slices"
	"testing"
)

// checkColumnIDs: a column's id outlives a rename, and no other column has it: neither one that comes in its place nor one of a table that is made
// again. A product without such ids gives none at all: a wrong id would take one column for another.
func checkColumnIDs(t *testing.T, h Harness) {
	f := newFixture(t, h)
	columns := [][2]string{{"a", "integer"}, {"b b", "integer"}, {"c", "integer"}}
	id := f.create("column_ids", columns)
	first := f.describe(id).ColumnIDs
	if h.Rename == "" {
		if len(first) != 0 && len(first) != len(columns) {
			t.Errorf("column ids %q, want none or one for each of %d columns", first, len(columns))
		}
		return
	}
	if len(first) != len(columns) || len(slices.Compact(slices.Sorted(slices.Values(first)))) != len(columns) {
		t.Fatalf("column ids %q, want %d different ones", first, len(columns))
	}
	table := f.engine.Table(id)
	f.exec(h.Rename, table, f.engine.Quote("b b"), f.engine.Quote("d"))
	if now := f.describe(id); !slices.Equal(now.ColumnIDs, first) || now.Columns[1].Name != "d" {
		t.Errorf("after a rename: columns %+v, ids %q, were %q", now.Columns, now.ColumnIDs, first)
	}
	f.exec("ALTER TABLE %s DROP COLUMN %s", table, f.engine.Quote("d"))
	f.exec("ALTER TABLE %s ADD %s integer", table, f.engine.Quote("d"))
	second := f.describe(id).ColumnIDs
	if len(second) != 3 || second[0] != first[0] || second[1] != first[2] || slices.Contains(first, second[2]) {
		t.Errorf("after another column of the name: ids %q, were %q", second, first)
	}
	f.exec("DROP TABLE %s", table)
	f.create("column_ids", columns)
	for _, again := range f.describe(id).ColumnIDs {
		if slices.Contains(first, again) || slices.Contains(second, again) {
			t.Errorf("a column of another table has the id %q", again)
		}
	}
}
