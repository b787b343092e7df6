package qlikct

import (
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// statements are the compiled queries of one change table. Their texts never change, whatever the positions (case 85).
type statements struct {
	bound     source.Statement // after, upto, limit: newest sequence among the next rows, and their number; only with a filter
	page      source.Statement // after, upto, limit: the next rows in order, before-images included; with a filter without limit, and those that it leaves out
	group     source.Statement // position: all rows of one sequence, before-images included; with a filter each says whether it meets it
	positions source.Statement // after, upto
	count     source.Statement // after, upto
	rows      source.Statement // after, upto: number of rows, before-images included, and of before-images
	orphans   source.Statement // after, upto, limit: sequences of before-images without update
	peek      source.Statement // after, limit
	oldest    source.Statement // position: the lowest sequence, and whether the position is there
	newest    string           // text of this table's arm of the detection query, without the ordinal
}

// builder writes SQL for one change table.
type builder struct {
	dialect source.Dialect
	h       *headers
	table   string
	kept    string // what stands for the table where only rows that meet the filter count
	filter  string
	data    []change.Column
	n       int // arguments written so far
}

func (b *builder) param(kind source.ArgKind) string {
	b.n++
	return b.dialect.Param(b.n, kind)
}

func (b *builder) column(alias string, c *change.Column) string { return b.dialect.Column(alias, *c) }

func (b *builder) sequence(alias string) string {
	return alias + "." + b.dialect.Quote(b.h.sequence.Name)
}

// between writes the range condition on the sequence.
func (b *builder) between() string {
	seq := b.sequence("l")
	return seq + " > " + b.param(source.ArgText) + " AND " + seq + " <= " + b.param(source.ArgText)
}

// isBefore and isEvent tell before-images from events. An empty operation counts as an event, so that it is seen and refused, not skipped.
func (b *builder) isBefore(alias string) string {
	if b.h.oper != nil {
		return alias + "." + b.dialect.Quote(b.h.oper.Name) + " = 'B'"
	}
	return alias + "." + b.dialect.Quote(b.h.operation.Name) + " = 'BEFOREIMAGE'"
}

func (b *builder) isEvent(alias string) string {
	c, before := b.h.oper, "'B'"
	if c == nil {
		c, before = b.h.operation, "'BEFOREIMAGE'"
	}
	name := alias + "." + b.dialect.Quote(c.Name)
	if !c.Nullable {
		return name + " <> " + before
	}
	return "(" + name + " <> " + before + " OR " + name + " IS NULL)"
}

// headerColumns are the header columns of a result, in a fixed order; see slots.
func (b *builder) headerColumns() []*change.Column {
	var out []*change.Column
	for _, c := range []*change.Column{b.h.sequence, b.h.oper, b.h.mask, b.h.streamPosition, b.h.operation, b.h.transactionID, b.h.timestamp} {
		if c != nil {
			out = append(out, c)
		}
	}
	return out
}

// selectList writes the header columns and data columns of an alias and collects their result columns.
func (b *builder) selectList(alias string) (list []string, columns []change.Column) {
	for _, c := range b.headerColumns() {
		list, columns = append(list, b.column(alias, c)), append(columns, *c)
	}
	for i := range b.data {
		list, columns = append(list, b.column(alias, &b.data[i])), append(columns, b.data[i])
	}
	return list, columns
}

// pageQuery reads the rows of a range in order. A before-image has the sequence of its update, so that the two are neighbours and the left
// self-join on the sequence is a merge that the reader does: the server walks the index once. With a filter each row says whether it meets it, and
// before-images come whether they do or not.
func (b *builder) pageQuery() (string, []change.Column) {
	list, columns := b.selectList("l")
	from, where, limit := b.table, "", ""
	if b.filter == "" {
		where = b.between()
		limit = " " + b.dialect.Limit(b.param(source.ArgInt))
	} else {
		list, columns, from = append(list, "l."+keptName), append(columns, keptColumn), b.judged()
		where = b.between() + " AND (l." + keptName + " = 1 OR " + b.isBefore("l") + ")"
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + from + " l WHERE " + where + " ORDER BY " + b.sequence("l") + limit, columns
}

// judged stands for the table with one more column that says whether a row meets the filter.
func (b *builder) judged() string {
	return "(SELECT t.*, CASE WHEN (" + b.filter + ") THEN 1 ELSE 0 END AS " + keptName + " FROM " + b.table + " t)"
}

// boundQuery looks how far the next rows reach, so that a page behind a filter that lets little through ends all the same. An index on the sequence
// answers it alone.
func (b *builder) boundQuery() (string, []change.Column) {
	seq := b.dialect.Quote(b.h.sequence.Name)
	inner := "SELECT " + b.sequence("l") + " AS " + seq + " FROM " + b.table + " l WHERE " + b.between() +
		" ORDER BY " + b.sequence("l") + " " + b.dialect.Limit(b.param(source.ArgInt))
	newest := *b.h.sequence
	newest.Nullable = true
	return "SELECT MAX(" + b.sequence("n") + "), COUNT(*) FROM (" + inner + ") n", []change.Column{newest, countColumn}
}

func (b *builder) groupQuery() (string, []change.Column) {
	list, columns := b.selectList("l")
	from := b.table
	if b.filter != "" {
		list, columns, from = append(list, "l."+keptName), append(columns, keptColumn), b.judged()
	}
	text := "SELECT " + strings.Join(list, ", ") + " FROM " + from + " l WHERE " + b.sequence("l") + " = " + b.param(source.ArgText)
	return text, columns
}

var (
	countColumn = change.Column{Name: "n", Type: change.Type{Kind: change.Int8}}
	keptColumn  = change.Column{Name: keptName, Type: change.Type{Kind: change.Int8}}
)

func (b *builder) positionsQuery() (string, []change.Column) {
	text := "SELECT " + b.column("l", b.h.sequence) + " FROM " + b.kept + " l WHERE " + b.between() + " AND " + b.isEvent("l") +
		" ORDER BY " + b.sequence("l")
	return text, []change.Column{*b.h.sequence}
}

func (b *builder) countQuery() (string, []change.Column) {
	return "SELECT COUNT(*) FROM " + b.kept + " l WHERE " + b.between() + " AND " + b.isEvent("l"), []change.Column{countColumn}
}

func (b *builder) rowsQuery() (string, []change.Column) {
	return "SELECT COUNT(*), COUNT(CASE WHEN " + b.isBefore("l") + " THEN 1 END) FROM " + b.table + " l WHERE " + b.between(), []change.Column{countColumn, countColumn}
}

func (b *builder) orphansQuery() (string, []change.Column) {
	text := "SELECT " + b.column("l", b.h.sequence) + " FROM " + b.table + " l WHERE " + b.between() + " AND " + b.isBefore("l") +
		" AND NOT EXISTS (SELECT 1 FROM " + b.table + " u WHERE " + b.sequence("u") + " = " + b.sequence("l") + " AND " + b.isEvent("u") + ")" +
		" ORDER BY " + b.sequence("l") + " " + b.dialect.Limit(b.param(source.ArgInt))
	return text, []change.Column{*b.h.sequence}
}

func (b *builder) peekQuery() (string, []change.Column) {
	list, columns := []string{b.column("l", b.h.sequence)}, []change.Column{*b.h.sequence}
	if b.h.transactionID != nil {
		list, columns = append(list, b.column("l", b.h.transactionID)), append(columns, *b.h.transactionID)
	}
	text := "SELECT " + strings.Join(list, ", ") + " FROM " + b.kept + " l WHERE " + b.sequence("l") + " > " + b.param(source.ArgText) +
		" AND " + b.isEvent("l") + " ORDER BY " + b.sequence("l") + " " + b.dialect.Limit(b.param(source.ArgInt))
	return text, columns
}

func (b *builder) oldestQuery() (string, []change.Column) {
	here := "CASE WHEN EXISTS (SELECT 1 FROM " + b.table + " h WHERE " + b.sequence("h") + " = " + b.param(source.ArgText) + ") THEN 1 ELSE 0 END"
	oldest := *b.h.sequence
	oldest.Nullable = true
	return "SELECT MIN(" + b.sequence("l") + "), " + here + " FROM " + b.table + " l", []change.Column{oldest, countColumn}
}

// newestArm is this table's part of the detection query: the newest sequence, and whether a row has none.
func (b *builder) newestArm() string {
	seq := b.sequence("l")
	nulls := "0"
	if b.h.sequence.Nullable {
		nulls = "CASE WHEN EXISTS (SELECT 1 FROM " + b.table + " n WHERE " + b.sequence("n") + " IS NULL) THEN 1 ELSE 0 END"
	}
	return "MAX(" + seq + ") AS newest, " + nulls + " AS nulls FROM " + b.table + " l"
}

// keptName is the column of the group query that says whether a row meets the filter.
const keptName = "ctbridge_kept"

// newBuilder begins a query. The filter is the user's own SQL; t stands for the change table in it, and what it is put into has no other table, so that
// column names need no qualifier.
func newBuilder(engine source.Engine, t *source.Captured, data []change.Column, h *headers) *builder {
	b := &builder{dialect: engine, h: h, table: engine.Table(t.Changes), data: data, filter: t.Filter}
	if b.kept = b.table; b.filter != "" {
		b.kept = "(SELECT t.* FROM " + b.table + " t WHERE (" + b.filter + "))"
	}
	return b
}

func newStatements(engine source.Engine, t *source.Captured, data []change.Column, h *headers) statements {
	prepare := func(query func(*builder) (string, []change.Column)) source.Statement {
		text, columns := query(newBuilder(engine, t, data, h))
		return engine.Prepare(text, columns)
	}
	s := statements{
		page:      prepare((*builder).pageQuery),
		group:     prepare((*builder).groupQuery),
		positions: prepare((*builder).positionsQuery),
		count:     prepare((*builder).countQuery),
		rows:      prepare((*builder).rowsQuery),
		orphans:   prepare((*builder).orphansQuery),
		peek:      prepare((*builder).peekQuery),
		oldest:    prepare((*builder).oldestQuery),
	}
	if t.Filter != "" {
		s.bound = prepare((*builder).boundQuery)
	}
	s.newest = newBuilder(engine, t, nil, h).newestArm()
	return s
}
