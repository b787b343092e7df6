package facts

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"ctbridge/bridge/change"
)

// What stands behind an expression leads nowhere.
func TestIndexesEndAtExpressions(t *testing.T) {
	t.Parallel()
	table := change.TableID{Name: "t"}
	m := make(Indexes)
	for _, c := range [][2]string{{"a", "x"}, {"a", "y"}, {"b", ""}, {"b", "x"}, {"c", "x"}, {"c", ""}, {"c", "y"}} {
		m.Add(table, c[0], c[1])
	}
	var got [][]string
	for _, i := range m[table] {
		got = append(got, i.Columns)
	}
	if want := [][]string{{"x", "y"}, nil, {"x"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNamesOfIndexes(t *testing.T) {
	t.Parallel()
	quote := func(s string) string { return "<" + s + ">" }
	if got := MakeIndex("CREATE INDEX ", quote, "s.t", "t", []string{"a", "b"}); got != "CREATE INDEX <t_by_seq> ON s.t (<a>, <b>);" {
		t.Error(got)
	}
	got := MakeIndex("", quote, "", strings.Repeat("é", 60), []string{"a"})
	name, _, _ := strings.Cut(got[1:], ">")
	if len(name) > indexName || !utf8.ValidString(name) || !strings.HasSuffix(name, "é_by_seq") {
		t.Errorf("%q has %d bytes", name, len(name))
	}
}
