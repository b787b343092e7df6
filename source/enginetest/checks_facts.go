package enginetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source"
)

// telling is what an engine may tell to checks before a start.
type telling interface {
	Server(ctx context.Context) (facts.Server, error)
	Indexes(ctx context.Context, ids []change.TableID) (map[change.TableID][]facts.Index, error)
	MakeIndex(table change.TableID, columns []string) string
	Rows(ctx context.Context, ids []change.TableID) (map[change.TableID]int64, error)
}

// checkFacts wants an engine to know its server and indexes, and the SQL that it proposes to be right.
func checkFacts(t *testing.T, h Harness) {
	f := newFixture(t, h)
	e, ok := f.engine.(telling)
	if !ok {
		t.Skip("the engine tells nothing")
	}
	t.Run("Server", func(t *testing.T) {
		if reason := h.Skip["facts of the server"]; reason != "" {
			t.Skip(reason)
		}
		if s, err := e.Server(f.ctx); err != nil || s.Version == "" || strings.Contains(s.Version, "(") {
			t.Errorf("%+v, %v", s, err)
		}
	})
	id := f.create(`facts "q"`, [][2]string{{"a", "varchar(40) NOT NULL"}, {`b "q"`, "varchar(40) NOT NULL"}, {"c", "int"}})
	f.wantIndexes(e, id, nil)
	f.exec("%s", strings.TrimSuffix(e.MakeIndex(id, []string{"a", `b "q"`}), ";"))
	f.wantIndexes(e, id, []string{"a", `b "q"`})
	f.exec("CREATE INDEX facts2 ON %s (c, a)", f.engine.Table(id))
	f.wantIndexes(e, id, []string{"a", `b "q"`}, []string{"c", "a"})
	if c, tells := f.engine.(interface {
		Collations(ctx context.Context, ids []change.TableID) (map[change.TableID]map[string]string, error)
	}); tells && h.Skip["facts of collations"] == "" {
		if found, err := c.Collations(f.ctx, []change.TableID{id}); err != nil || found[id]["a"] == "" || found[id]["c"] != "" {
			t.Errorf("%v, %v", found, err)
		}
	}
	if h.Skip["facts of rows"] == "" {
		for range 3 {
			f.exec("INSERT INTO %s VALUES ('a', 'b', 1)", f.engine.Table(id))
		}
		if rows, err := e.Rows(f.ctx, []change.TableID{id}); err != nil || rows[id] > 3 {
			t.Errorf("%v, %v", rows, err)
		}
	}
}

func (f *fixture) wantIndexes(e telling, id change.TableID, want ...[]string) {
	f.Helper()
	found, err := e.Indexes(f.ctx, []change.TableID{id})
	if err != nil {
		f.Fatal(err)
	}
	for _, columns := range want {
		if columns != nil && !slices.ContainsFunc(found[id], func(i facts.Index) bool { return slices.Equal(i.Columns, columns) }) {
			f.Errorf("no index on %q among %+v", columns, found[id])
		}
	}
	if n := len(slices.DeleteFunc(want, func(c []string) bool { return c == nil })); len(found[id]) != n {
		f.Errorf("%d indexes, want %d: %+v", len(found[id]), n, found[id])
	}
}

// checkGrant runs the SQL that an engine proposes to a login without rights.
func checkGrant(t *testing.T, h Harness, engine source.Engine, id change.TableID, columns []change.Column) {
	f := newFixture(t, h)
	e, ok := engine.(interface {
		Server(ctx context.Context) (facts.Server, error)
		Grant(tables []change.TableID, login string) []string
	})
	if !ok {
		return
	}
	s, err := e.Server(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range e.Grant([]change.TableID{id}, s.Login) {
		f.exec("%s", strings.TrimSuffix(text, ";"))
	}
	if _, err := read(f.ctx, engine.Prepare(selectText(engine, id, columns, ""), columns), len(columns)); err != nil {
		t.Errorf("after the grant: %v", err)
	}
}
