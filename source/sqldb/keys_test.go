package sqldb

import (
	"slices"
	"testing"

	"ctbridge/bridge/change"
)

func TestSetKey(t *testing.T) {
	primary := func(columns ...string) Index { return Index{Primary: true, Columns: columns} }
	unique := func(columns ...string) Index { return Index{Columns: columns} }
	cases := []struct {
		name    string
		indexes []Index
		want    []string
	}{
		{"none", nil, nil},
		{"primary", []Index{primary("b", "a")}, []string{"b", "a"}},
		{"primary after unique", []Index{unique("a"), primary("b")}, []string{"b"}},
		{"first unique", []Index{unique("b"), unique("a")}, []string{"b"}},
		{"unique with nulls", []Index{unique("a", "null"), unique("a")}, []string{"a"}},
		{"expression", []Index{unique("a", ""), unique("b")}, []string{"b"}},
		{"empty primary", []Index{primary(), unique("a")}, []string{"a"}},
		{"column out of sight", []Index{primary("hidden"), unique("a")}, []string{"a"}},
	}
	for _, c := range cases {
		columns := []change.Column{{Name: "a"}, {Name: "b"}, {Name: "null", Nullable: true}}
		SetKey(columns, c.indexes)
		var got []string
		for _, i := range change.NewTable(change.TableID{}, 1, columns).Key {
			got = append(got, columns[i].Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: key %v, want %v", c.name, got, c.want)
		}
	}
}
