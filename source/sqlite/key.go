package sqlite

import "ctbridge/bridge/change"

// KeyText is a key column as text: its storage class, which any column may mix, and a form of the value that nothing is lost in.
func (e *Engine) KeyText(alias string, c change.Column) string {
	name := e.Quote(c.Name)
	if alias != "" {
		name = alias + "." + name
	}
	return "CASE typeof(" + name + ") WHEN 'text' THEN 't' || " + name + " WHEN 'blob' THEN 'b' || hex(" + name + ") WHEN 'null' THEN NULL" +
		" ELSE substr(typeof(" + name + "), 1, 1) || quote(" + name + ") END"
}

// KeyParam makes the value of such a text. A subquery has neither affinity nor collation, so that those of the column are in force.
func (e *Engine) KeyParam(n int, _ change.Column) string {
	const rest = "substr(k, 2)"
	return "(SELECT CASE substr(k, 1, 1) WHEN 'i' THEN CAST(" + rest + " AS INTEGER) WHEN 'r' THEN CAST(" + rest + " AS REAL)" +
		" WHEN 'b' THEN unhex(" + rest + ") ELSE " + rest + " END FROM (SELECT " + e.Param(n, 0) + " AS k))"
}
