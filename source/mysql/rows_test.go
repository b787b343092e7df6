package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source/mysql"
)

// thousands are the rows of a table that counts to manyRows.
const (
	thousands = "SELECT x, REPEAT('a', 100) FROM numbers ORDER BY x"
	manyRows  = 1 << 17
)

var thousandsColumns = []change.Column{{Name: "x", Type: change.Type{Kind: change.Int8}}, {Name: "a", Type: change.Type{Kind: change.String}}}

// read counts the rows of a result, and calls on for the first; each value must be the next.
func read(ctx context.Context, e *mysql.Engine, on func()) (n int64, err error) {
	rows, err := e.Prepare(thousands, thousandsColumns).Query(ctx)
	if err != nil {
		return 0, err
	}
	var arena change.Arena
	row := arena.Values(2)
	for rows.Next() {
		if n == 0 {
			on()
		}
		n++
		if err := rows.Scan(row, &arena); err != nil || row[0].Num != n || len(row[1].Raw) != 100 {
			return n, errors.Join(err, rows.Close(), errors.New("a row is damaged"))
		}
	}
	return n, errors.Join(rows.Err(), rows.Close())
}

// TestCancelAmidRows: rows that a cancellation cuts off are an error and never fewer rows; the only connection of the pool is given back
// or replaced every time.
func TestCancelAmidRows(t *testing.T) {
	s := newScratch(t)
	exec(t, s.admin, "CREATE TABLE numbers (x int PRIMARY KEY)")
	exec(t, s.admin, "INSERT INTO numbers VALUES (1)")
	for n := 1; n < manyRows; n *= 2 {
		exec(t, s.admin, fmt.Sprintf("INSERT INTO numbers SELECT x + %d FROM numbers", n))
	}
	e := s.open(t, nil, mysql.Config{MaxConns: 1})
	defer e.Close()
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		n, err := read(ctx, e, cancel)
		if !errors.Is(err, context.Canceled) || fault.ClassOf(err) != fault.Retry || n == manyRows {
			t.Fatalf("%d rows, %v", n, err)
		}
		if n, err := read(t.Context(), e, func() {}); err != nil || n != manyRows {
			t.Fatalf("%d rows, %v", n, err)
		}
	}
}
