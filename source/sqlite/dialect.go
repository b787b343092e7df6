package sqlite

import (
	"slices"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Quote writes an identifier.
func (e *Engine) Quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

// Table writes a table's name; there are no schemas.
func (e *Engine) Table(id change.TableID) string { return e.Quote(id.Name) }

// Param is the placeholder of argument n.
func (e *Engine) Param(n int, _ source.ArgKind) string { return "?" + strconv.Itoa(n) }

// Limit keeps the first rows.
func (e *Engine) Limit(rows string) string { return "LIMIT " + rows }

// Column reads a column as it is stored. The driver turns columns declared DATE, DATETIME and TIMESTAMP into time.Time; the unary plus
// makes an expression of them, which has no declared type and changes nothing.
func (e *Engine) Column(alias string, c change.Column) string {
	name := e.Quote(c.Name)
	if alias != "" {
		name = alias + "." + name
	}
	switch c.Type.Kind {
	case change.Date, change.Time, change.DateTime, change.DateTimeTZ:
		return "+" + name
	}
	return name
}

// compound is how many SELECTs one compound statement joins: SQLite allows 500.
const compound = 400

// Union joins any number of SELECTs: compound statements of compound statements. Each SELECT stands in a subquery, so that it may
// have its own ORDER BY and LIMIT.
func (e *Engine) Union(selects []string) string {
	wrapped := make([]string, len(selects))
	for i, s := range selects {
		wrapped[i] = "SELECT * FROM (" + s + ")"
	}
	for len(wrapped) > compound {
		var groups []string
		for group := range slices.Chunk(wrapped, compound) {
			groups = append(groups, "SELECT * FROM ("+strings.Join(group, " UNION ALL ")+")")
		}
		wrapped = groups
	}
	return strings.Join(wrapped, " UNION ALL ")
}
