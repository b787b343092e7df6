package mysql

import (
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Quote writes an identifier.
func (e *Engine) Quote(identifier string) string {
	return "`" + strings.ReplaceAll(identifier, "`", "``") + "`"
}

// Table writes a table's name with its database.
func (e *Engine) Table(id change.TableID) string {
	if id.Schema == "" {
		return e.Quote(id.Name)
	}
	return e.Quote(id.Schema) + "." + e.Quote(id.Name)
}

// Param is a placeholder. It has no number: arguments are bound in the order in which their placeholders stand in the text.
func (e *Engine) Param(int, source.ArgKind) string { return "?" }

// Limit keeps the first rows.
func (e *Engine) Limit(rows string) string { return "LIMIT " + rows }

// Column reads a column as it is.
func (e *Engine) Column(alias string, c change.Column) string {
	if alias == "" {
		return e.Quote(c.Name)
	}
	return alias + "." + e.Quote(c.Name)
}

// Union joins SELECTs, each in parentheses, so that it may have its own ORDER BY and LIMIT.
func (e *Engine) Union(selects []string) string {
	if len(selects) == 1 {
		return selects[0]
	}
	return "(" + strings.Join(selects, ") UNION ALL (") + ")"
}
