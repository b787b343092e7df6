package wiring

import (
	"maps"
	"slices"

	"ctbridge/bridge/config"
	"ctbridge/bridge/values"
)

// Values builds the rules of columns; nil where there are none.
func Values(t *config.Task) (*values.Rules, error) {
	if len(t.Columns.Rules) == 0 {
		return nil, nil
	}
	rules := make([]values.Rule, len(t.Columns.Rules))
	for i := range rules {
		c := &t.Columns.Rules[i]
		r := values.Rule{
			Name: config.ColumnRulePath(i), Tables: c.Match, Exact: c.Names, Types: c.Types, AllowKey: c.AllowKey,
			Include: patterns(c.Include), Exclude: patterns(c.Exclude), Hash: patterns(c.Hash), Nullify: patterns(c.Nullify), AsText: patterns(c.AsText),
		}
		for _, p := range slices.Sorted(maps.Keys(c.Constant)) {
			r.Constant = append(r.Constant, values.Constant{Columns: p, Text: c.Constant[p]})
		}
		for _, p := range slices.Sorted(maps.Keys(c.Truncate)) {
			r.Truncate = append(r.Truncate, values.Truncation{Columns: p, Length: c.Truncate[p]})
		}
		rules[i] = r
	}
	out, err := values.New(rules, []byte(t.Columns.Salt.Reveal()))
	if err == nil {
		out.DropUnchanged = t.Columns.DropUnchanged
	}
	return out, err
}

func patterns(list []config.ColumnChoice) []values.Pattern {
	var out []values.Pattern
	for _, p := range list {
		out = append(out, p)
	}
	return out
}
