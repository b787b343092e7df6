package enginetest

import (
	"strconv"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// checkTypes gives every type its own table, writes its literals and a NULL, and reads them back in order.
func checkTypes(t *testing.T, h Harness) {
	for i, typ := range h.Types {
		t.Run(typ.DDL, func(t *testing.T) {
			f := newFixture(t, h)
			id := f.typeTable("type_"+strconv.Itoa(i), typ)
			column := f.columnOf(f.describe(id), "v")
			if column.Type != typ.Want {
				t.Errorf("type is %+v, want %+v (native %q)", column.Type, typ.Want, column.Native)
			}
			if column.Native == "" || !column.Nullable {
				t.Errorf("native %q nullable %v", column.Native, column.Nullable)
			}
			f.checkValues(id, column, typ)
		})
	}
}

func (f *fixture) typeTable(name string, typ Type) change.TableID {
	f.Helper()
	id := f.create(name, [][2]string{{"n", "integer"}, {"v", typ.DDL}})
	for n, v := range typ.Values {
		f.exec("INSERT INTO %s (n, v) VALUES (%d, %s)", f.engine.Table(id), n, v.Literal)
	}
	f.exec("INSERT INTO %s (n, v) VALUES (%d, NULL)", f.engine.Table(id), len(typ.Values))
	return id
}

func (f *fixture) checkValues(id change.TableID, column change.Column, typ Type) {
	f.Helper()
	statement := f.selectAll(id, []change.Column{column}, "ORDER BY t.n")
	if typ.Want.Kind == change.Unsupported {
		_, err := statement.Query(f.ctx)
		wantClass(f.T, err, fault.Table)
		return
	}
	got := f.rows(statement, 1)
	if len(got) != len(typ.Values)+1 {
		f.Fatalf("%d rows, want %d", len(got), len(typ.Values)+1)
	}
	for n, v := range typ.Values {
		if !got[n][0].Equal(v.Want) {
			f.Errorf("%s gave %s, want %s", v.Literal, Show(got[n][0]), Show(v.Want))
		}
	}
	if last := got[len(typ.Values)][0]; last.Kind != change.KindNull {
		f.Errorf("NULL gave %s", Show(last))
	}
}

func checkNullAndEmpty(t *testing.T, h Harness) {
	f := newFixture(t, h)
	id := f.create("null_and_empty", [][2]string{{"n", "integer"}, {"v", "varchar(10)"}})
	f.exec("INSERT INTO %s VALUES (1, ''), (2, NULL), (3, ' ')", f.engine.Table(id))
	got := f.rows(f.selectAll(id, f.describe(id).Columns, "ORDER BY t.n"), 2)
	want := []change.Value{change.TextValue([]byte{}), change.Null, change.TextValue([]byte(" "))}
	for i := range want {
		if !got[i][1].Equal(want[i]) {
			t.Errorf("row %d gave %s, want %s", i+1, Show(got[i][1]), Show(want[i]))
		}
	}
}

// checkPoison reads a value that its kind cannot hold between good ones: the error names column and value, the values beside it are
// set, it is kept as it was sent, and the rows before it are good.
func checkPoison(t *testing.T, h Harness) {
	for i, typ := range h.Types {
		for k, literal := range typ.Poison {
			t.Run(typ.DDL+" "+literal, func(t *testing.T) {
				f := newFixture(t, h)
				f.poisoned("poison_"+strconv.Itoa(i)+"_"+strconv.Itoa(k), typ, literal)
			})
		}
	}
}

func (f *fixture) poisoned(name string, typ Type, literal string) {
	f.Helper()
	id := f.create(name, [][2]string{{"n", "integer"}, {"the fee", typ.DDL}, {"z", "integer"}})
	f.exec("INSERT INTO %s VALUES (1, NULL, 1)", f.engine.Table(id))
	f.exec("INSERT INTO %s VALUES (2, %s, 2)", f.engine.Table(id), literal)
	rows, err := f.selectAll(id, f.describe(id).Columns, "ORDER BY t.n").Query(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	defer rows.Close()
	var arena change.Arena
	row := arena.Values(3)
	if !rows.Next() || rows.Scan(row, &arena) != nil || row[2].Num != 1 {
		f.Fatalf("the good row gave %v, %v", row, rows.Err())
	}
	if !rows.Next() {
		f.Fatalf("the bad row is missing: %v", rows.Err())
	}
	err = rows.Scan(row, &arena)
	wantClass(f.T, err, fault.Poison)
	if row[0].Num != 2 || row[2].Num != 2 {
		f.Errorf("the values beside the bad one are %s and %s", Show(row[0]), Show(row[2]))
	}
	if row[1].Kind != change.KindUndecoded || len(row[1].Raw) == 0 && literal != "''" {
		f.Errorf("the bad value is %s, not what was sent", Show(row[1]))
	}
	f.namesValue(err, literal)
}

// namesValue expects column and value in the error. How a literal that is no quoted text is shown depends on the product.
func (f *fixture) namesValue(err error, literal string) {
	f.Helper()
	shown := "value "
	if strings.HasPrefix(literal, "'") {
		shown = strings.Trim(literal, "'")
	}
	if !strings.Contains(err.Error(), "the fee") || !strings.Contains(err.Error(), shown) {
		f.Errorf("the error does not name column and value %s: %v", shown, err)
	}
}
