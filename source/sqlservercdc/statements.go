package sqlservercdc

import (
	"fmt"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// builder writes the queries of one change table. Their texts never change, whatever the positions (case 85).
type builder struct {
	dialect source.Dialect
	part    *part
	filter  string
	n       int // arguments written so far
}

func (b *builder) param(kind source.ArgKind) string {
	b.n++
	return b.dialect.Param(b.n, kind)
}

func (b *builder) of(c *change.Column) string { return "l." + b.dialect.Quote(c.Name) }

func (b *builder) table() string { return b.dialect.Table(b.part.changes) }

// judged is the change table with a column that says whether a row meets the filter. All rows are read: only whole groups tell which before-image belongs
// to which update. The filter is the user's own SQL; t stands for the change table in it, and names need no qualifier.
func (b *builder) judged() string {
	if b.filter == "" {
		return b.table()
	}
	return "(SELECT t.*, CASE WHEN (" + b.filter + ") THEN 1 ELSE 0 END AS " + keptName + " FROM " + b.table() + " t)"
}

const keptName = "ctbridge_kept"

// verdict adds what judged says of a row behind its data.
func (b *builder) verdict(list []string, columns []change.Column) ([]string, []change.Column) {
	if b.filter == "" {
		return list, columns
	}
	return append(list, "l."+keptName), append(columns, column(keptName, change.Int8))
}

// kept is the change table without the rows that do not meet the filter.
func (b *builder) kept() string {
	if b.filter == "" {
		return b.table()
	}
	return "(SELECT t.* FROM " + b.table() + " t WHERE (" + b.filter + "))"
}

// keyColumns are the columns of the order, in its order.
func (b *builder) keyColumns() []*change.Column {
	h := &b.part.headers
	if h.command == nil {
		return []*change.Column{h.lsn, h.seqval, h.operation}
	}
	return []*change.Column{h.lsn, h.command, h.seqval, h.operation}
}

func (b *builder) order(alias, direction string) string {
	var out []string
	for _, c := range b.keyColumns() {
		out = append(out, alias+"."+b.dialect.Quote(c.Name)+direction)
	}
	return " ORDER BY " + strings.Join(out, ", ")
}

// arms are the ranges behind a position: the rest of its command, of its transaction, of the log. Each is read along the index from its first row on,
// however large the transaction is (case 83). Rows from before a server's update have no command id and stand before all others of their transaction.
func (b *builder) arms() []func() string {
	h := &b.part.headers
	equal := func(c *change.Column, kind source.ArgKind) string { return b.of(c) + " = " + b.param(kind) }
	above := func(c *change.Column, kind source.ArgKind) string { return b.of(c) + " > " + b.param(kind) }
	rest := func() string {
		return b.of(h.seqval) + " >= " + b.param(source.ArgBytes) + " AND (" + above(h.seqval, source.ArgBytes) + " OR " + above(h.operation, source.ArgInt) + ")"
	}
	behind := func() string {
		return above(h.lsn, source.ArgBytes) + " AND " + b.of(h.lsn) + " <= " + b.param(source.ArgBytes)
	}
	if h.command == nil {
		return []func() string{func() string { return equal(h.lsn, source.ArgBytes) + " AND " + rest() }, behind}
	}
	return []func() string{
		func() string {
			return equal(h.lsn, source.ArgBytes) + " AND " + b.of(h.command) + " IS NULL AND 0 = " + b.param(source.ArgInt) + " AND " + rest()
		},
		func() string {
			return equal(h.lsn, source.ArgBytes) + " AND " + equal(h.command, source.ArgInt) + " AND " + rest()
		},
		func() string { return equal(h.lsn, source.ArgBytes) + " AND " + above(h.command, source.ArgInt) },
		behind,
	}
}

// pageArgs gives the arguments of page.
func (p *part) pageArgs(after key, upto []byte, limit int) []any {
	return append(p.after(after, upto, after.lsn, upto, int64(limit)), after.lsn, upto, int64(limit))
}

// groupArgs gives the arguments of group.
func (p *part) groupArgs(k key, numbered bool) []any {
	if p.headers.command == nil || !numbered {
		return []any{k.lsn, k.seq}
	}
	return []any{k.lsn, k.cmd, k.seq}
}

// after gives the arguments of arms for the rows behind a position, each arm's followed by more.
func (p *part) after(k key, upto []byte, more ...any) []any {
	var args []any
	arm := func(list ...any) { args = append(append(args, list...), more...) }
	if p.headers.command == nil {
		arm(k.lsn, k.seq, k.seq, k.op)
	} else {
		arm(k.lsn, k.cmd, k.seq, k.seq, k.op)
		arm(k.lsn, k.cmd, k.seq, k.seq, k.op)
		arm(k.lsn, k.cmd)
	}
	arm(k.lsn, upto)
	return args
}

// page reads the next events behind a position up to an LSN, each with its before-image, by a left self-join on the tuple: arguments after, each arm
// with the range of LSNs, which bounds every joined side as well, and a limit; then the range and the limit again.
//
// Left is everything but before-images; one whose tuple has no update stands among them, so that it is seen and refused. The limit stands on the left
// side: each of its rows is one look along the index on the right. Rows without command id match nothing: see reader.whole.
func (b *builder) page() (string, []change.Column) {
	h := &b.part.headers
	list, columns := b.keyList(false)
	list, columns = append(list, b.dialect.Column("l", *h.mask)), append(columns, *h.mask)
	shown := []string{"l.*", "r." + b.dialect.Quote(h.operation.Name) + " AS b"}
	befores := []change.Column{column("b", change.Int8)}
	for i, c := range b.part.read {
		list = append(list, fmt.Sprintf("%s AS c%d", b.dialect.Column("l", c), i))
		columns = append(columns, c)
		shown = append(shown, fmt.Sprintf("%s AS b%d", b.dialect.Column("r", c), i))
		befores = append(befores, c)
	}
	list, columns = b.verdict(list, columns)
	var selects []string
	for _, arm := range b.arms() {
		selects = append(selects, "SELECT "+strings.Join(list, ", ")+" FROM "+b.judged()+" l WHERE "+arm()+b.event()+b.order("l", "")+" "+
			b.dialect.Limit(b.param(source.ArgInt)))
	}
	on := b.sameTuple("r") + " AND r." + b.dialect.Quote(h.operation.Name) + " = 3 AND " + b.of(h.operation) + " = 4 AND " + b.between("r")
	return "SELECT " + strings.Join(shown, ", ") + " FROM (" + b.dialect.Union(selects) + ") AS l LEFT JOIN " + b.table() + " r ON " + on + b.order("l", "") + " " +
		b.dialect.Limit(b.param(source.ArgInt)), append(columns, befores...)
}

// event leaves out the before-images that an update stands beside.
func (b *builder) event() string {
	op := b.part.headers.operation
	return " AND (" + b.of(op) + " <> 3 OR NOT EXISTS (SELECT 1 FROM " + b.table() + " u WHERE " + b.sameTuple("u") + " AND u." + b.dialect.Quote(op.Name) + " = 4 AND " +
		b.between("u") + "))"
}

// between bounds the LSN of an alias: what is joined with a range lies in it, and no planner should look elsewhere.
func (b *builder) between(alias string) string {
	lsn := alias + "." + b.dialect.Quote(b.part.headers.lsn.Name)
	return lsn + " >= " + b.param(source.ArgBytes) + " AND " + lsn + " <= " + b.param(source.ArgBytes)
}

// sameTuple joins an alias with l by commit LSN, command id and sequence value.
func (b *builder) sameTuple(alias string) string {
	var out []string
	for _, c := range b.tuple() {
		out = append(out, alias+"."+b.dialect.Quote(c.Name)+" = "+b.of(c))
	}
	return strings.Join(out, " AND ")
}

// tuple are the columns that the halves of an update share.
func (b *builder) tuple() []*change.Column {
	columns := b.keyColumns()
	return columns[:len(columns)-1]
}

// group reads all rows of one tuple, before-images included. numbered tells whether they have a command id.
func (b *builder) group(numbered bool) (string, []change.Column) {
	list, columns := b.keyList(false)
	list, columns = append(list, b.dialect.Column("l", *b.part.headers.mask)), append(columns, *b.part.headers.mask)
	for i := range b.part.read {
		list, columns = append(list, b.dialect.Column("l", b.part.read[i])), append(columns, b.part.read[i])
	}
	list, columns = b.verdict(list, columns)
	var conditions []string
	for _, c := range b.tuple() {
		switch {
		case c != b.part.headers.command:
			conditions = append(conditions, b.of(c)+" = "+b.param(source.ArgBytes))
		case numbered:
			conditions = append(conditions, b.of(c)+" = "+b.param(source.ArgInt))
		default:
			conditions = append(conditions, b.of(c)+" IS NULL")
		}
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + b.judged() + " l WHERE " + strings.Join(conditions, " AND ") + b.order("l", ""), columns
}

// keyList selects the columns of the order: four, whatever the server has. as gives each a name of its own.
func (b *builder) keyList(as bool) (list []string, columns []change.Column) {
	h := &b.part.headers
	for i, c := range []*change.Column{h.lsn, h.command, h.seqval, h.operation} {
		text := "0 AS cmd"
		if c == nil {
			c = &change.Column{Name: "cmd", Type: change.Type{Kind: change.Int8}}
		} else if text = b.of(c); as {
			text += fmt.Sprintf(" AS k%d", i)
		}
		list, columns = append(list, text), append(columns, *c)
	}
	return list, columns
}

// newest is a table's part of the detection query.
func (b *builder) newest(table int) string {
	list, _ := b.keyList(true)
	return fmt.Sprintf("SELECT %d AS t, %s FROM %s l%s %s", table, strings.Join(list, ", "), b.table(), b.order("l", " DESC"), b.dialect.Limit("1"))
}

// positions lists the keys of the events behind a position up to an LSN.
func (b *builder) positions() (string, []change.Column) {
	list, columns := b.keyList(false)
	var selects []string
	for _, arm := range b.arms() {
		selects = append(selects, "SELECT "+strings.Join(list, ", ")+" FROM "+b.kept()+" l WHERE "+arm()+" AND "+b.of(b.part.headers.operation)+" <> 3")
	}
	return "SELECT * FROM (" + b.dialect.Union(selects) + ") AS p" + b.order("p", ""), columns
}

// commits gives time and number of the transactions whose rows lie between two LSNs, each once (case 86).
func (b *builder) commits(schema string) (string, []change.Column) {
	lsn := b.part.headers.lsn
	mapping := b.dialect.Table(change.TableID{Schema: schema, Name: "lsn_time_mapping"})
	text := "SELECT m.start_lsn, m.tran_end_time, m.tran_id FROM " + mapping + " m WHERE m.start_lsn IN (SELECT " + b.of(lsn) + " FROM " + b.table() + " l WHERE " +
		b.of(lsn) + " >= " + b.param(source.ArgBytes) + " AND " + b.of(lsn) + " <= " + b.param(source.ArgBytes) + ")"
	return text, []change.Column{column("start_lsn", change.Bytes), column("tran_end_time", change.DateTime), column("tran_id", change.Bytes)}
}

// statements are the compiled queries of one change table.
type statements struct{ page, group, unnumbered, positions, commits source.Statement }

func newStatements(engine source.Engine, p *part, schema, filter string) statements {
	prepare := func(query func(*builder) (string, []change.Column)) source.Statement {
		text, columns := query(&builder{dialect: engine, part: p, filter: filter})
		return engine.Prepare(text, columns)
	}
	return statements{
		page: prepare((*builder).page), positions: prepare((*builder).positions),
		group:      prepare(func(b *builder) (string, []change.Column) { return b.group(true) }),
		unnumbered: prepare(func(b *builder) (string, []change.Column) { return b.group(false) }),
		commits:    prepare(func(b *builder) (string, []change.Column) { return b.commits(schema) }),
	}
}
