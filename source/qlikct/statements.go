package qlikct

import (
	"fmt"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// statements are the compiled queries of one change table. Their texts never change, whatever the positions (case 85).
type statements struct {
	bound     source.Statement // after, upto, limit: newest sequence among the next rows, and their number
	page      source.Statement // after, upto, after, upto: events with their before-images, by left self-join
	befores   source.Statement // after, upto: before-images in order; only for tables too wide for the join to show them
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

// between writes the range condition on an alias's sequence.
func (b *builder) between(alias string) string {
	seq := b.sequence(alias)
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
func (b *builder) selectList(alias string, withHeaders bool) (list []string, columns []change.Column) {
	if withHeaders {
		for _, c := range b.headerColumns() {
			list, columns = append(list, b.column(alias, c)), append(columns, *c)
		}
	}
	for i := range b.data {
		list, columns = append(list, b.column(alias, &b.data[i])), append(columns, b.data[i])
	}
	return list, columns
}

// mostResultColumns is what every product returns in one result: PostgreSQL 1664, SQLite 2000, the others 4096.
const mostResultColumns = 1600

// wide tells that a result cannot hold the columns of both images.
func (b *builder) wide() bool { return 2*len(b.data)+len(b.headerColumns())+1 > mostResultColumns }

// beforesQuery reads the before-images of a wide table, which the join only tells of.
func (b *builder) beforesQuery() (string, []change.Column) {
	list, columns := b.selectList("l", false)
	list, columns = append([]string{b.column("l", b.h.sequence)}, list...), append([]change.Column{*b.h.sequence}, columns...)
	text := "SELECT " + strings.Join(list, ", ") + " FROM " + b.table + " l WHERE " + b.between("l") + " AND " + b.isBefore("l") +
		" ORDER BY " + b.sequence("l")
	return text, columns
}

// pageQuery joins every event of the range with its before-image: left everything but before-images, right the before-image of the
// same sequence. The range stands on both sides, so that either can be read along the index.
func (b *builder) pageQuery() (string, []change.Column) {
	list, columns := b.selectList("l", true)
	list, columns = append(list, b.column("r", b.h.sequence)), append(columns, *b.h.sequence)
	if !b.wide() {
		before, beforeColumns := b.selectList("r", false)
		list, columns = append(list, before...), append(columns, beforeColumns...)
	}
	join := "r.%s = l.%s AND %s AND %s"
	seq := b.dialect.Quote(b.h.sequence.Name)
	on := fmt.Sprintf(join, seq, seq, b.isBefore("r"), b.between("r"))
	where := b.between("l") + " AND " + b.isEvent("l")
	text := "SELECT " + strings.Join(list, ", ") + " FROM " + b.kept + " l LEFT JOIN " + b.table + " r ON " + on +
		" WHERE " + where + " ORDER BY " + b.sequence("l")
	return text, columns
}

// boundQuery looks how far the next rows reach. It bounds both sides of the page's join: a planner that may read the right side to the end of the
// table for a page of the left one, does. An index on the sequence answers it alone.
func (b *builder) boundQuery() (string, []change.Column) {
	seq := b.dialect.Quote(b.h.sequence.Name)
	inner := "SELECT " + b.sequence("l") + " AS " + seq + " FROM " + b.table + " l WHERE " + b.between("l") +
		" ORDER BY " + b.sequence("l") + " " + b.dialect.Limit(b.param(source.ArgInt))
	newest := *b.h.sequence
	newest.Nullable = true
	return "SELECT MAX(" + b.sequence("n") + "), COUNT(*) FROM (" + inner + ") n", []change.Column{newest, countColumn}
}

func (b *builder) groupQuery() (string, []change.Column) {
	list, columns := b.selectList("l", true)
	from := b.table
	if b.filter != "" {
		list, columns = append(list, "l."+keptName), append(columns, change.Column{Name: keptName, Type: change.Type{Kind: change.Int8}})
		from = "(SELECT t.*, CASE WHEN (" + b.filter + ") THEN 1 ELSE 0 END AS " + keptName + " FROM " + b.table + " t)"
	}
	text := "SELECT " + strings.Join(list, ", ") + " FROM " + from + " l WHERE " + b.sequence("l") + " = " + b.param(source.ArgText)
	return text, columns
}

var countColumn = change.Column{Name: "n", Type: change.Type{Kind: change.Int8}}

func (b *builder) positionsQuery() (string, []change.Column) {
	text := "SELECT " + b.column("l", b.h.sequence) + " FROM " + b.kept + " l WHERE " + b.between("l") + " AND " + b.isEvent("l") +
		" ORDER BY " + b.sequence("l")
	return text, []change.Column{*b.h.sequence}
}

func (b *builder) countQuery() (string, []change.Column) {
	return "SELECT COUNT(*) FROM " + b.kept + " l WHERE " + b.between("l") + " AND " + b.isEvent("l"), []change.Column{countColumn}
}

func (b *builder) rowsQuery() (string, []change.Column) {
	return "SELECT COUNT(*), COUNT(CASE WHEN " + b.isBefore("l") + " THEN 1 END) FROM " + b.table + " l WHERE " + b.between("l"), []change.Column{countColumn, countColumn}
}

func (b *builder) orphansQuery() (string, []change.Column) {
	text := "SELECT " + b.column("l", b.h.sequence) + " FROM " + b.table + " l WHERE " + b.between("l") + " AND " + b.isBefore("l") +
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
	b := newBuilder(engine, t, nil, h)
	s := statements{
		bound:     prepare((*builder).boundQuery),
		page:      prepare((*builder).pageQuery),
		group:     prepare((*builder).groupQuery),
		positions: prepare((*builder).positionsQuery),
		count:     prepare((*builder).countQuery),
		rows:      prepare((*builder).rowsQuery),
		orphans:   prepare((*builder).orphansQuery),
		peek:      prepare((*builder).peekQuery),
		oldest:    prepare((*builder).oldestQuery),
	}
	if b.data = data; b.wide() {
		s.befores = prepare((*builder).beforesQuery)
	}
	s.newest = b.newestArm()
	return s
}
