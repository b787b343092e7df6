package layouttest

import (
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

// Qlik is the fixture of layout qlik.
func Qlik(b Bench) Fixture { return qlik{b} }

type qlik struct{ Bench }

func (q qlik) Engine() source.Engine           { return q.Bench.Engine }
func (q qlik) ID(table string) change.TableID  { return q.Writer.ID(table) }
func (q qlik) Number(p change.Position) string { return strings.TrimLeft(string(p[16:]), "0") }
func (q qlik) Position(number int) change.Position {
	return change.Position(qlikwriter.Seq(number))
}

func (q qlik) Layout(o Options) source.Layout {
	b := &bench{Bench: q.Bench}
	own := qlikct.Options{Keys: o.Keys, PageBytes: o.PageBytes}
	if o.Tables != nil {
		own.Tables = o.Tables
	}
	return b.layout(own)
}

func (q qlik) shape(table Table) qlikwriter.Shape {
	s := qlikwriter.Shape{Table: table.Name, Key: table.Key}
	for _, c := range table.Columns {
		ddl := q.Writer.Dialect.Quote(c.Name) + " " + c.Type
		if c.NotNull {
			ddl += " NOT NULL"
		}
		s.Columns = append(s.Columns, ddl)
	}
	return s
}

func (q qlik) Create(t testing.TB, table Table) {
	t.Helper()
	q.Writer.Create(t, q.shape(table))
}

func (q qlik) Fill(t testing.TB, table Table, rows ...[]any) {
	t.Helper()
	for _, row := range rows {
		var list []string
		for _, v := range row {
			list = append(list, "'"+fmt.Sprint(v)+"'")
		}
		q.Writer.Exec(t, "INSERT INTO %s VALUES (%s)", q.Writer.Name(table.Name), strings.Join(list, ", "))
	}
}

var opers = map[change.Op]string{change.OpInsert: "I", change.OpUpdate: "U", change.OpDelete: "D", unknown: "X"}

func (q qlik) Write(t testing.TB, table Table, changes ...Change) {
	t.Helper()
	shape := q.shape(table)
	for _, c := range changes {
		if c.Op == change.OpUpdate && c.Before != nil {
			q.Writer.Add(t, q.Writer.DB, shape, row("B", c.Number, c.Before...))
		}
		after := c.After
		if c.Op == change.OpDelete {
			after = c.Before
		}
		if after != nil {
			q.Writer.Add(t, q.Writer.DB, shape, row(opers[c.Op], c.Number, after...))
		}
	}
}

func (q qlik) Grow(t testing.TB, table Table, column Column, _ int) Table {
	t.Helper()
	for _, name := range []string{table.Name, table.Name + "__ct"} {
		q.Writer.Exec(t, "ALTER TABLE %s ADD %s %s", q.Writer.Name(name), q.Writer.Dialect.Quote(column.Name), column.Type)
	}
	table.Columns = append(append([]Column(nil), table.Columns...), column)
	return table
}

func (q qlik) Vanish(t testing.TB, table Table) {
	t.Helper()
	q.Writer.Exec(t, "DROP TABLE %s", q.Writer.Name(table.Name+"__ct"))
}
