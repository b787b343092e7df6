package postgres

import (
	"strconv"

	"ctbridge/bridge/change"
)

// KeyText is a key column's text, which every type reads back as the same value: digits are not cut since PostgreSQL 12.
func (d dialect) KeyText(alias string, c change.Column) string {
	expr := d.Quote(c.Name)
	if alias != "" {
		expr = alias + "." + expr
	}
	if c.Native == "bytea" { // its text depends on a setting
		return "pg_catalog.encode(" + expr + ", 'hex')"
	}
	return expr + "::text"
}

// KeyParam casts such a text to the column's type. A cast has no collation of its own: that of the column is in force.
func (dialect) KeyParam(n int, c change.Column) string {
	p := "$" + strconv.Itoa(n) + "::text"
	if c.Native == "bytea" {
		return "pg_catalog.decode(" + p + ", 'hex')"
	}
	return p + "::" + c.Native
}
