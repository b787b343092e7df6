package enginetest

import (
	"testing"

	"go.uber.org/goleak"
)

// checkPingClose uses an engine, closes it and counts goroutines. The set-up uses an engine of its own, so that the administrator's
// connections are there before the count begins.
func checkPingClose(t *testing.T, h Harness) {
	f := newFixture(t, h)
	id, columns := f.sequences("ping_close", 20)
	if err := f.engine.Close(); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	f.engine = h.Open(t)
	if err := f.engine.Ping(f.ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
	statement := f.selectAll(id, columns, "ORDER BY t.seq")
	rows, err := statement.Query(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Errorf("no row: %v", rows.Err())
	}
	if err := rows.Close(); err != nil { // long before its end
		t.Errorf("close rows: %v", err)
	}
	if len(f.rows(statement, 3)) != 20 {
		t.Error("the connection is no good after a result was left early")
	}
	f.closeTwice()
	goleak.VerifyNone(t, before)
}

func (f *fixture) closeTwice() {
	f.Helper()
	for range 2 {
		if err := f.engine.Close(); err != nil {
			f.Errorf("close: %v", err)
		}
	}
	if err := f.engine.Ping(f.ctx); err == nil {
		f.Error("ping works after close")
	}
}
