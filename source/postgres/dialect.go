package postgres

import (
	"strconv"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// dialect writes PostgreSQL's SQL.
type dialect struct{}

var _ source.Dialect = dialect{}

// Quote writes an identifier.
func (dialect) Quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

// Table is the quoted, qualified name.
func (d dialect) Table(id change.TableID) string {
	if id.Schema == "" {
		return d.Quote(id.Name)
	}
	return d.Quote(id.Schema) + "." + d.Quote(id.Name)
}

// Param is the placeholder of argument n. Text carries no type: the server takes the type of the column that it is compared with, so
// that an index on a varchar, char, uuid or date column serves alike. Whole numbers and bytes say what they are.
func (dialect) Param(n int, kind source.ArgKind) string {
	p := "$" + strconv.Itoa(n)
	switch kind {
	case source.ArgInt:
		return p + "::bigint"
	case source.ArgBytes:
		return p + "::bytea"
	case source.ArgText:
	}
	return p
}

// Limit keeps the first rows.
func (dialect) Limit(rows string) string { return "LIMIT " + rows }

// Column selects a column as it is, or as text where there is no decoder for its type.
func (d dialect) Column(alias string, c change.Column) string {
	expr := d.Quote(c.Name)
	if alias != "" {
		expr = alias + "." + expr
	}
	if asText(c) {
		expr += "::text"
	}
	return expr
}

// asText reports whether a text column needs a cast. A column without Native comes from no catalog: its caller knows it to be text. A cast
// would strip the blanks of char(n), so character types are never cast.
func asText(c change.Column) bool {
	if c.Type.Kind != change.String && c.Type.Kind != change.Clob {
		return false
	}
	switch base, _, _ := strings.Cut(c.Native, "("); base {
	case "", "text", "name", "character", "character varying", "bpchar":
		return strings.HasSuffix(c.Native, "[]")
	}
	return true
}

// Union joins complete SELECT statements.
func (dialect) Union(selects []string) string {
	return "(" + strings.Join(selects, ") UNION ALL (") + ")"
}
