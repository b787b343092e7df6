package sqlservercdc_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/layouttest"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
)

// The conformance suite of the layout seam.
func TestLayoutSeam(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t *testing.T) *bench) {
		layouttest.Run(t, func(t *testing.T) layouttest.Fixture {
			return &fixture{bench: open(t), instances: make(map[string]string)}
		})
	})
}

// fixture writes change tables for the suite: a number is a commit LSN.
type fixture struct {
	*bench
	instances map[string]string // newest capture instance by table
}

func (f *fixture) Engine() source.Engine          { return f.engine }
func (f *fixture) ID(table string) change.TableID { return f.bench.ID(table) }
func (f *fixture) Number(p change.Position) string {
	n, _ := strconv.ParseInt(string(p[:16]), 16, 64)
	return strconv.FormatInt(n, 10)
}
func (f *fixture) Position(number int) change.Position {
	return sqlservercdc.Behind(lsnText(number))
}

func (f *fixture) Layout(o layouttest.Options) source.Layout {
	own := sqlservercdc.Options{Keys: o.Keys, PageBytes: o.PageBytes}
	if o.Tables != nil {
		own.Tables = o.Tables
	}
	return f.layout(own)
}

func table(t layouttest.Table) cdcwriter.Table {
	out := cdcwriter.Table{Name: t.Name, Key: t.Key}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, cdcwriter.Column{Name: c.Name, Type: c.Type, NotNull: c.NotNull})
	}
	return out
}

func (f *fixture) Create(t testing.TB, of layouttest.Table) {
	f.bench.Create(t, table(of))
	f.Capture(t, table(of), of.Name, cdcwriter.LSN(1))
	f.instances[of.Name] = of.Name
}

func (f *fixture) Fill(t testing.TB, of layouttest.Table, rows ...[]any) {
	for _, row := range rows {
		var list []string
		for _, v := range row {
			list = append(list, cdcwriter.Literal(v))
		}
		f.Exec(t, "INSERT INTO "+f.engine.Table(f.ID(of.Name))+" VALUES ("+strings.Join(list, ", ")+")")
	}
}

func (f *fixture) Write(t testing.TB, of layouttest.Table, changes ...layouttest.Change) {
	byNumber := make(map[int][]cdcwriter.Row)
	for _, c := range changes {
		if c.Before != nil {
			byNumber[c.Number] = append(byNumber[c.Number], row(1, 1, map[bool]int{true: 3, false: 1}[c.Op == change.OpUpdate], c.Before...))
		}
		op, known := map[change.Op]int{change.OpInsert: 2, change.OpUpdate: 4}[c.Op]
		if !known {
			op = 7
		}
		if c.After != nil {
			byNumber[c.Number] = append(byNumber[c.Number], row(1, 1, op, c.After...))
		}
	}
	for number, rows := range byNumber {
		at := cdcwriter.Day.Add(time.Duration(number) * time.Second)
		f.commitOnce(t, number, at, cdcwriter.Changes{Instance: f.instances[of.Name], Table: table(of), Rows: rows})
	}
}

// Lacks knows that Babelfish returns at most 1,664 columns where SQL Server returns 4,096.
func (f *fixture) Lacks(check string) string {
	if check == "WideTable" && f.onBabelfish() {
		return "the server returns at most 1,664 columns"
	}
	return ""
}

// commitOnce writes a transaction, of which another table may have had its part already.
func (f *fixture) commitOnce(t testing.TB, number int, at time.Time, c cdcwriter.Changes) {
	if number != f.lastLSN() {
		f.Commit(t, cdcwriter.LSN(number), at, c)
		return
	}
	for _, r := range c.Rows {
		f.Exec(t, f.InsertText(c, cdcwriter.LSN(number), r))
	}
}

func (f *fixture) Grow(t testing.TB, of layouttest.Table, column layouttest.Column, above int) layouttest.Table {
	of.Columns = append(slices.Clone(of.Columns), column)
	f.Exec(t, "ALTER TABLE ["+f.Base+"].["+of.Name+"] ADD ["+column.Name+"] "+column.Type)
	f.instances[of.Name] = fmt.Sprintf("%s_v2", of.Name)
	f.Capture(t, table(of), f.instances[of.Name], cdcwriter.LSN(above+1))
	return of
}

func (f *fixture) Vanish(t testing.TB, of layouttest.Table) {
	f.Exec(t, "DROP TABLE ["+f.Schema+"].["+f.instances[of.Name]+"_CT]")
}
