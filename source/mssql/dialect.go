package mssql

import (
	"fmt"
	"strconv"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// dialect writes T-SQL.
type dialect struct{}

var _ source.Dialect = dialect{}

// Quote writes an identifier: in brackets, or in double quotes if a bracket is in it, which Babelfish cannot read doubled. Sessions have
// QUOTED_IDENTIFIER ON.
func (dialect) Quote(identifier string) string {
	if strings.Contains(identifier, "]") {
		return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
	}
	return "[" + identifier + "]"
}

// Table is the quoted, qualified name.
func (d dialect) Table(id change.TableID) string {
	if id.Schema == "" {
		return d.Quote(id.Name)
	}
	return d.Quote(id.Schema) + "." + d.Quote(id.Name)
}

// Param is the placeholder of argument n; bind gives it its type.
func (dialect) Param(n int, _ source.ArgKind) string { return "@p" + strconv.Itoa(n) }

// bind gives an argument the type that lets an index be used. ASCII text is the same in every code page.
func bind(arg any) any {
	if s, ok := arg.(string); ok && ascii(s) {
		return mssql.VarChar(s)
	}
	return arg
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Limit keeps the first rows.
func (dialect) Limit(rows string) string { return "OFFSET 0 ROWS FETCH NEXT " + rows + " ROWS ONLY" }

// Column selects a column as it is, but for types that only their text can show.
func (d dialect) Column(alias string, c change.Column) string {
	expr := d.Quote(c.Name)
	if alias != "" {
		expr = alias + "." + expr
	}
	switch c.Native {
	case "hierarchyid":
		return expr + ".ToString()"
	case "geometry", "geography": // only where a layout wants their text
		return expr + ".ToString()"
	case "sql_variant":
		return variantText(expr)
	case "json":
		return "CAST(" + expr + " AS nvarchar(max))"
	}
	return expr
}

// unionWidth is how many SELECTs are joined side by side. The server's parser recurses over them and gives up at some thousands; groups of
// groups keep the depth low.
const unionWidth = 100

// Union joins complete SELECT statements. Each becomes a derived table: an ORDER BY is not allowed otherwise.
func (dialect) Union(selects []string) string {
	parts := make([]string, len(selects))
	for i, s := range selects {
		parts[i] = fmt.Sprintf("SELECT * FROM (%s) AS u%d", s, i)
	}
	for level := 0; len(parts) > unionWidth; level++ {
		var groups []string
		for start := 0; start < len(parts); start += unionWidth {
			group := strings.Join(parts[start:min(start+unionWidth, len(parts))], " UNION ALL ")
			groups = append(groups, fmt.Sprintf("SELECT * FROM (%s) AS g%d_%d", group, level, len(groups)))
		}
		parts = groups
	}
	return strings.Join(parts, " UNION ALL ")
}
