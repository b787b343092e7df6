package enginetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// checkKeyset walks tables in chunks of one and of three rows behind a key of every type that the product can sort, and behind composite ones:
// the rows must come in the product's own order, none left out, none twice (case 55).
func checkKeyset(t *testing.T, h Harness) {
	for i, typ := range h.Types {
		t.Run(typ.DDL, func(t *testing.T) {
			skipAs(t, h, typ.DDL)
			f := newFixture(t, h)
			if len(typ.Values) > 0 && typ.Want.Kind != change.Unsupported {
				f.walkType("keyset_"+strconv.Itoa(i), typ.DDL, literals(typ.Values))
			}
		})
	}
	for i, k := range h.Keysets {
		t.Run("case 55 "+k.DDL, func(t *testing.T) {
			skipAs(t, h, k.DDL)
			newFixture(t, h).walkType("keyset55_"+strconv.Itoa(i), k.DDL, k.Literals)
		})
	}
}

// skipAs leaves out a type that a stand-in for the product cannot write as text: Harness.Skip["keys of <DDL>"].
func skipAs(t *testing.T, h Harness, ddl string) {
	if reason := h.Skip["keys of "+ddl]; reason != "" {
		t.Skip(reason)
	}
}

func literals(values []Value) (out []string) {
	for _, v := range values {
		out = append(out, v.Literal)
	}
	return out
}

// walkType fills a table with every value three times and walks it by (v, n) and by (w, v, n), w being the same in many rows.
func (f *fixture) walkType(name, ddl string, values []string) {
	f.Helper()
	id := f.create(name, [][2]string{{"w", "integer NOT NULL"}, {"n", "integer NOT NULL"}, {"v", ddl}})
	n := 0
	for w := range 3 {
		for _, v := range values {
			f.exec("INSERT INTO %s (w, n, v) VALUES (%d, %d, %s)", f.engine.Table(id), w, n, v)
			n++
		}
	}
	r := f.describe(id)
	for _, key := range [][]string{{"v", "n"}, {"w", "v", "n"}} {
		want, sorted := f.sorted(id, r, key)
		if !sorted {
			f.Logf("the product does not sort %s: it is never a key", ddl)
			return
		}
		for _, rows := range []int{1, 3, 1000} {
			if got := f.walk(id, r, key, rows); fmt.Sprint(got) != fmt.Sprint(want) {
				f.Errorf("key %v in chunks of %d gave rows %v, want %v", key, rows, got, want)
			}
		}
	}
}

// sorted gives the rows in the product's order, read with one query.
func (f *fixture) sorted(id change.TableID, r source.Relation, key []string) (numbers []int64, ok bool) {
	f.Helper()
	n := f.columnOf(r, "n")
	var order []string
	for _, k := range key {
		order = append(order, "t."+f.engine.Quote(k))
	}
	rows, err := read(f.ctx, f.selectAll(id, []change.Column{n}, "ORDER BY "+strings.Join(order, ", ")), 1)
	for _, row := range rows {
		numbers = append(numbers, row[0].Num)
	}
	return numbers, err == nil
}

func (f *fixture) walk(id change.TableID, r source.Relation, key []string, most int) (numbers []int64) {
	f.Helper()
	base := &source.Base{ID: id, Columns: []change.Column{f.columnOf(r, "n")}}
	for _, k := range key {
		base.Key = append(base.Key, f.columnOf(r, k))
	}
	p := source.NewPoller(f.engine, baseOnly{base: base}, source.Options{Parallel: 2})
	chunks, err := p.Chunks(&source.Captured{Table: change.NewTable(id, 1, base.Columns)}, "")
	if err != nil {
		f.Fatal(err)
	}
	var after []string
	for range 1000 {
		chunk, err := chunks.Read(f.ctx, after, most)
		if err != nil || chunk.Failed != nil {
			f.Fatalf("behind %q: %v %v", after, err, chunk)
		}
		for i, row := range chunk.Rows {
			numbers = append(numbers, row[0].Num)
			after = after[:0:0]
			for _, text := range chunk.Keys[i] {
				after = append(after, string(text.Raw))
			}
		}
		if chunk.Last {
			return numbers
		}
	}
	f.Fatal("the chunks do not end")
	return nil
}

// baseOnly is a layout that knows one base table and no change table.
type baseOnly struct {
	source.Layout
	base *source.Base
}

func (b baseOnly) Base(*source.Captured) (*source.Base, error) { return b.base, nil }

func (b baseOnly) Changed(_ context.Context, tables []*source.Captured) ([]bool, error) {
	return make([]bool, len(tables)), nil
}
