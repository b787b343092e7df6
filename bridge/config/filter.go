package config

import (
	"maps"
	"slices"
	"strings"

	"ctbridge/bridge/change"
)

// Filters are SQL predicates by table or pattern.
type Filters map[TableChoice]string

// Of gives the predicate of a table: that of its exact name, else of the longest pattern; ok is false where nothing matches.
func (f Filters) Of(id change.TableID) (predicate string, ok bool) {
	best, ok := closest(f, id)
	return f[best], ok
}

// Filter gives the predicate that rows of a table's change table must meet, empty for all.
func (s *Source) Filter(id change.TableID) string {
	predicate, _ := s.Filters.Of(id)
	return predicate
}

// LoadFilter gives the predicate that rows of a base table must meet to be loaded, empty for all.
func (t *Task) LoadFilter(id change.TableID) string {
	if predicate, own := t.FullLoad.Filters.Of(id); own {
		return predicate
	}
	return t.Source.Filter(id)
}

func (r *rules) checkFilters() {
	for path, filters := range map[string]Filters{"source.filters": r.Source.Filters, "full_load.filters": r.FullLoad.Filters} {
		for _, choice := range slices.Sorted(maps.Keys(filters)) {
			at, p := path+"."+string(choice), choice.pattern()
			if problem, fix := r.misfit(len(p.parts), len(p.parts) == 1 && p.parts[0].any()); problem != "" {
				r.wrong(at, fix, "%s", problem)
			}
			if problem, fix := predicateProblem(filters[choice], r.Source.Engine); problem != "" {
				r.wrong(at, fix, "%s", problem)
			}
			if strings.TrimSpace(filters[choice]) == "" && path == "source.filters" {
				r.wrong(at, "remove it", "is empty")
			}
		}
	}
}

// predicateProblem looks for what would make a text more, or less, than one predicate between parentheses. It knows no SQL: a predicate is the
// operator's own, and what the database refuses shows in the table's error.
func predicateProblem(text, engine string) (problem, fix string) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"' || c == '`':
			end := strings.IndexByte(text[i+1:], c)
			if end < 0 {
				return "has a quote that is not closed", "close it"
			}
			if i += 1 + end; text[i-1] == '\\' {
				return "has a backslash before a quote, which databases read differently", "double a quote that belongs to a text"
			}
		case c == ';':
			return "has a semicolon: it must be one predicate", "remove it"
		case strings.HasPrefix(text[i:], "--") || strings.HasPrefix(text[i:], "/*") || c == '#' && engine == EngineMySQL:
			return "has a comment", "remove it"
		case c == '?' && engine != EnginePostgres, c == 0:
			return "has a placeholder or a zero byte, which nothing fills in", "write the value"
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return "closes a parenthesis that it has not opened", "balance them"
			}
		}
	}
	if depth > 0 {
		return "has a parenthesis that is not closed", "balance them"
	}
	return "", ""
}
