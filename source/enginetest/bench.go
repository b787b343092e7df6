package enginetest

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// BenchTable is a change table to read as fast as possible.
type BenchTable struct {
	ID      change.TableID
	Columns [][2]string // name and DDL type
	Row     string      // the literals of a row after the sequence, which is the first column
	Bare    *sql.DB     // the bare driver, on the same server, and with the right to fill the table
}

// benchRows is how many rows one query of the benchmark reads.
const benchRows = 20_000

// Bench compares Statement.Query and Scan with the bare driver, whose values go to scanner destinations, on the same query. Both
// report rows per second.
func Bench(b *testing.B, engine source.Engine, table BenchTable) {
	text, columns := fillBench(b, engine, table)
	b.Run("bare", func(b *testing.B) {
		perSecond(b, func() (int, error) { return readBare(table.Bare, text, len(columns)) })
	})
	b.Run("engine", func(b *testing.B) {
		statement := engine.Prepare(text, columns)
		perSecond(b, func() (int, error) { return readEngine(statement, len(columns)) })
	})
}

// fillBench makes the table, if it is not there, and gives the text and columns of the query. The sequence is bound.
func fillBench(b *testing.B, engine source.Engine, table BenchTable) (string, []change.Column) {
	b.Helper()
	ctx := context.Background()
	var ddl, names []string
	for _, c := range table.Columns {
		ddl = append(ddl, engine.Quote(c[0])+" "+c[1])
		names = append(names, engine.Quote(c[0]))
	}
	execBench(b, table.Bare, "CREATE TABLE "+engine.Table(table.ID)+" ("+strings.Join(ddl, ", ")+")")
	for first := 1; first <= benchRows; first += 500 {
		var rows []string
		for n := first; n < first+500; n++ {
			rows = append(rows, "('"+sequence(n)+"', "+table.Row+")")
		}
		execBench(b, table.Bare, "INSERT INTO "+engine.Table(table.ID)+" ("+strings.Join(names, ", ")+") VALUES "+strings.Join(rows, ", "))
	}
	relations, err := engine.Describe(ctx, []change.TableID{table.ID})
	if err != nil || len(relations) != 1 {
		b.Fatalf("describe: %v, %v", relations, err)
	}
	columns := relations[0].Columns
	tail := "WHERE t." + names[0] + " > " + engine.Param(1, source.ArgText)
	return selectText(engine, table.ID, columns, tail), columns
}

func execBench(b *testing.B, db *sql.DB, text string) {
	b.Helper()
	if _, err := db.Exec(text); err != nil {
		b.Fatal(err)
	}
}

func perSecond(b *testing.B, read func() (int, error)) {
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		n, err := read()
		if err != nil || n != benchRows {
			b.Fatalf("%d rows, %v", n, err)
		}
		rows += n
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(0, "ns/op")
}

// keep is a scan destination that keeps the driver's value.
type keep struct{ v any }

func (k *keep) Scan(src any) error {
	k.v = src
	return nil
}

func readBare(db *sql.DB, text string, width int) (n int, err error) {
	rows, err := db.Query(text, sequence(0))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	cells := make([]keep, width)
	dst := make([]any, width)
	for i := range cells {
		dst[i] = &cells[i]
	}
	for ; rows.Next(); n++ {
		if err := rows.Scan(dst...); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

// readEngine reads as a layout does: the rows of 1,000 share an arena.
func readEngine(s source.Statement, width int) (n int, err error) {
	rows, err := s.Query(context.Background(), sequence(0))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	arena := &change.Arena{}
	for ; rows.Next(); n++ {
		if n%1000 == 0 {
			arena = &change.Arena{}
		}
		if err := rows.Scan(arena.Values(width), arena); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}
