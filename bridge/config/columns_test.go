package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ctbridge/bridge/change"
)

func TestColumnChoices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, column string
		match, exact    bool
	}{
		{"email", "email", true, true}, {"email", "Email", false, true}, {"email", "email2", false, true},
		{"phone*", "phone_home", true, false}, {"*", "a.b", true, false}, {"a.b", "a.b", true, true}, {"a.*.c", "a.x.y.c", true, false}, {"a.*.c", "a.c", false, false},
		{`"a*"`, "a*", true, true}, {`"a*"`, "ab", false, true}, {"[a.b].c", "a.b.c", true, true}, {"Unit, Price", "Unit, Price", true, true},
	} {
		var p ColumnChoice
		if err := p.UnmarshalText([]byte(c.pattern)); err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		if _, exact := p.Exact(); p.Match(c.column) != c.match || exact != c.exact {
			t.Errorf("%s matches %s: %v, exact %v", c.pattern, c.column, p.Match(c.column), exact)
		}
	}
}

func TestFiltersOfTables(t *testing.T) {
	t.Parallel()
	task, err := parse([]byte(`
task: a
source: {engine: postgres, dsn: x, filters: {"*": "a = 1", "s.*": "b = 1", s.t: "c = 1"}}
full_load: {filters: {s.t: "", "x.*": "d = 1"}}
kafka: {brokers: [b:1]}
`), testEnv, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ schema, table, stream, load string }{{"s", "t", "c = 1", ""}, {"s", "u", "b = 1", "b = 1"}, {"x", "t", "a = 1", "d = 1"}, {"y", "t", "a = 1", "a = 1"}} {
		id := change.TableID{Schema: c.schema, Name: c.table}
		if stream, load := task.Source.Filter(id), task.LoadFilter(id); stream != c.stream || load != c.load {
			t.Errorf("%s: %q and %q, want %q and %q", id, stream, load, c.stream, c.load)
		}
	}
	none := &Task{}
	if none.Source.Filter(change.TableID{Name: "t"}) != "" || none.LoadFilter(change.TableID{Name: "t"}) != "" {
		t.Error("a filter from nowhere")
	}
}

func TestColumnsInAFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/good/columns.yaml")
	if err != nil {
		t.Fatal(err)
	}
	task, err := parse(data, testEnv, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	id := change.TableID{Schema: "shop", Name: "customer"}
	rule := &task.Columns.Rules[0]
	if !rule.Match(id) || !rule.Names(id) || rule.Constant["card"] != "****" || rule.Truncate["comment"] != 100 || !rule.AllowKey || task.Columns.Salt.Reveal() != planted {
		t.Errorf("%+v", rule)
	}
	if other := &task.Columns.Rules[1]; !other.Match(id) || other.Names(id) {
		t.Errorf("%+v", other)
	}
	if shown := fmt.Sprintf("%+v %s", task.Columns, task.Summary()); strings.Contains(shown, planted) {
		t.Errorf("the salt shows: %s", shown)
	}
}
