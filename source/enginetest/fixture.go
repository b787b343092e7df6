package enginetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// fixture is what a check works with.
type fixture struct {
	*testing.T
	h      Harness
	engine source.Engine
	ctx    context.Context
}

// newFixture opens an engine for one check, with a deadline that a healthy server never meets.
func newFixture(t *testing.T, h Harness) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	f := &fixture{T: t, h: h, engine: h.Open(t), ctx: ctx}
	t.Cleanup(func() { f.engine.Close() })
	return f
}

func (f *fixture) id(name string) change.TableID {
	return change.TableID{Schema: f.h.Schema, Name: name}
}

// exec runs set-up SQL, committed.
func (f *fixture) exec(format string, args ...any) {
	f.Helper()
	text := fmt.Sprintf(format, args...)
	if _, err := f.h.Admin.ExecContext(f.ctx, text); err != nil {
		f.Fatalf("%s: %v", text, err)
	}
}

// create makes a table from column definitions, each a name and its DDL; the rest of the definitions follows as it is.
func (f *fixture) create(name string, columns [][2]string, rest ...string) change.TableID {
	f.Helper()
	var parts []string
	for _, c := range columns {
		parts = append(parts, f.engine.Quote(c[0])+" "+c[1])
	}
	f.exec("CREATE TABLE %s (%s)", f.engine.Table(f.id(name)), strings.Join(append(parts, rest...), ", "))
	return f.id(name)
}

// describe gives the relation of one table, which must be there.
func (f *fixture) describe(id change.TableID) source.Relation {
	f.Helper()
	relations, err := f.engine.Describe(f.ctx, []change.TableID{id})
	if err != nil {
		f.Fatalf("describe %s: %v", id, err)
	}
	if len(relations) != 1 || relations[0].ID != id {
		f.Fatalf("describe %s gave %+v", id, relations)
	}
	return relations[0]
}

// selectAll is a statement that reads the columns of a table as the engine wants them read.
func (f *fixture) selectAll(id change.TableID, columns []change.Column, tail string) source.Statement {
	return f.engine.Prepare(selectText(f.engine, id, columns, tail), columns)
}

func selectText(e source.Engine, id change.TableID, columns []change.Column, tail string) string {
	var list []string
	for _, c := range columns {
		list = append(list, e.Column("t", c))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + e.Table(id) + " t " + tail
}

// rows reads a whole result.
func (f *fixture) rows(s source.Statement, width int, args ...any) [][]change.Value {
	f.Helper()
	result, err := read(f.ctx, s, width, args...)
	if err != nil {
		f.Fatalf("read: %v", err)
	}
	return result
}

// read reads a result to its end or failure.
func read(ctx context.Context, s source.Statement, width int, args ...any) ([][]change.Value, error) {
	rows, err := s.Query(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var arena change.Arena
	var result [][]change.Value
	for rows.Next() {
		row := arena.Values(width)
		if err := rows.Scan(row, &arena); err != nil {
			return result, err
		}
		result = append(result, row)
	}
	return result, rows.Err()
}

// wantClass fails the test unless err is a *fault.Error of the class.
func wantClass(t *testing.T, err error, want fault.Class) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want class %s", want)
	}
	if got := fault.ClassOf(err); got != want {
		t.Fatalf("class %s, want %s: %v", got, want, err)
	}
}

// columnOf is the named column of a relation.
func (f *fixture) columnOf(r source.Relation, name string) change.Column {
	f.Helper()
	for _, c := range r.Columns {
		if c.Name == name {
			return c
		}
	}
	f.Fatalf("table %s has no column %q: %+v", r.ID, name, r.Columns)
	return change.Column{}
}

// Show writes a value for people.
func Show(v change.Value) string {
	return fmt.Sprintf("{kind %d num %d nanos %d offset %d raw %q}", v.Kind, v.Num, v.Nanos, v.Offset, v.Raw)
}
