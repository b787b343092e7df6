package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// idle is how many connections wait in the pool; none may be in use.
func idle(t *testing.T, db *DB) int {
	t.Helper()
	stats := db.pool.Stats()
	if stats.InUse != 0 {
		t.Errorf("%d connections are in use", stats.InUse)
	}
	return stats.Idle
}

// TestRawGivesConnectionsBack in every way that a result can end.
func TestRawGivesConnectionsBack(t *testing.T) {
	t.Parallel()
	d := &fakeDriver{rows: [][]driver.Value{{[]byte("one")}, {[]byte("two")}}}
	db := newDB(t, d, Product{Raw: true})
	s := db.Prepare("q ?", []change.Column{column("a", change.String)})
	for range 3 { // to the end, and the same connection again
		got, err := readAll(t.Context(), s, 1, "x")
		if err != nil || len(got) != 2 || string(got[0][0].Raw) != "one" || idle(t, db) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	rows, err := s.Query(t.Context(), "x") // left early
	if err != nil || !rows.Next() || rows.Close() != nil || rows.Close() != nil || rows.Next() || rows.Err() != nil || idle(t, db) != 1 {
		t.Errorf("left early: %v", err)
	}
	var arena change.Arena
	if err := rows.Scan(arena.Values(1), &arena); err == nil {
		t.Error("a row of a closed result")
	}
	if _, err := s.Query(t.Context()); err == nil || idle(t, db) != 1 {
		t.Errorf("no argument for a parameter: %v", err)
	}
	wide := db.Prepare("q", []change.Column{column("a", change.String), column("b", change.String)})
	if _, err := wide.Query(t.Context()); err == nil || idle(t, db) != 1 {
		t.Errorf("one column for two: %v", err)
	}
	d.queryErr = vendorError(1146)
	_, err = s.Query(t.Context(), "x")
	wantClass(t, err, fault.Table)
	if idle(t, db) != 1 || d.conns != 1 || len(d.args[0]) != 1 || d.args[0][0].Value != "x" {
		t.Errorf("%d idle, %d connections, arguments %v", db.pool.Stats().Idle, d.conns, d.args[0])
	}
}

// TestRawReadsToTheEnd: who reads to the end has given the connection back, as with sql.Rows.
func TestRawReadsToTheEnd(t *testing.T) {
	t.Parallel()
	db := newDB(t, &fakeDriver{rows: [][]driver.Value{{int64(1)}}}, Product{Raw: true})
	rows, err := db.Prepare("q", []change.Column{column("a", change.Int8)}).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if rows.Err() != nil || idle(t, db) != 1 {
		t.Error(rows.Err())
	}
}

// TestRawBreaksOff: a result that breaks off is an error, never a short result (case 80).
func TestRawBreaksOff(t *testing.T) {
	t.Parallel()
	for _, broken := range []error{vendorError(2013), io.ErrUnexpectedEOF, driver.ErrBadConn} {
		d := &fakeDriver{rows: [][]driver.Value{{[]byte("one")}, {[]byte("two")}}, err: broken}
		db := newDB(t, d, Product{Raw: true})
		got, err := readAll(t.Context(), db.Prepare("q", []change.Column{column("a", change.String)}), 1)
		wantClass(t, err, fault.Retry)
		if len(got) != 2 || !errors.Is(err, broken) {
			t.Errorf("%d rows, then %v", len(got), err)
		}
		idle(t, db)
	}
}

// TestRawTakesAnotherConnection for each that turns out to be dead before anything was sent, and gives up where new ones are dead, too.
func TestRawTakesAnotherConnection(t *testing.T) {
	t.Parallel()
	d := &fakeDriver{rows: [][]driver.Value{{int64(1)}}}
	db := newDB(t, d, Product{Raw: true})
	db.pool.SetMaxOpenConns(3)
	s := db.Prepare("q", []change.Column{column("a", change.Int8)})
	for dead, good := range map[int]bool{0: true, 1: true, 3: true, 4: false} {
		d.dead = dead
		got, err := readAll(t.Context(), s, 1)
		if good != (err == nil) || good != (len(got) == 1) || d.dead != 0 {
			t.Errorf("%d dead: %v, %v; %d not met", dead, got, err, d.dead)
		}
		if !good {
			wantClass(t, err, fault.Retry)
		}
		if n := idle(t, db); n != d.conns {
			t.Errorf("%d connections open, %d of them in the pool", d.conns, n)
		}
	}
}

// TestRawHeedsTheContext before it has a connection and after.
func TestRawHeedsTheContext(t *testing.T) {
	t.Parallel()
	db := newDB(t, &fakeDriver{}, Product{Raw: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := readAll(ctx, db.Prepare("q", []change.Column{column("a", change.Int8)}), 1)
	wantClass(t, err, fault.Retry)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	idle(t, db)
}

// TestRawPoison: the other values are set, the bad one is as it was sent, and the next row can be read (case 91).
func TestRawPoison(t *testing.T) {
	t.Parallel()
	d := &fakeDriver{rows: [][]driver.Value{{int64(7), []byte("n/a"), nil}, {int64(8), []byte("1.5"), int64(2)}}}
	columns := []change.Column{column("id", change.Int8), column("the fee", change.Numeric), column("z", change.Int8)}
	rows, err := newDB(t, d, Product{Raw: true}).Prepare("q", columns).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var arena change.Arena
	row := arena.Values(3)
	if err := rows.Scan(row[:2], &arena); err == nil {
		t.Error("two destinations for three columns")
	}
	rows.Next()
	err = rows.Scan(row, &arena)
	wantClass(t, err, fault.Poison)
	if !strings.Contains(err.Error(), `"the fee"`) || !strings.Contains(err.Error(), `"n/a"`) {
		t.Error(err)
	}
	if row[0].Num != 7 || !row[1].Equal(change.UndecodedValue([]byte("n/a"))) || row[2].Kind != change.KindNull {
		t.Errorf("row after the error: %v", row)
	}
	if !rows.Next() || rows.Scan(row, &arena) != nil || string(row[1].Raw) != "1.5" || row[2].Num != 2 {
		t.Errorf("the row after the bad one gave %v, %v", row, rows.Err())
	}
}
