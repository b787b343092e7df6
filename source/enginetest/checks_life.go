package enginetest

import (
	"testing"

	"go.uber.org/goleak"

	"ctbridge/bridge/fault"
)

func checkPingClose(t *testing.T, h Harness) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t, h)
	id, columns := f.sequences("ping_close", 20)
	statement := f.selectAll(id, columns, "ORDER BY t.seq")
	if err := f.engine.Ping(f.ctx); err != nil {
		t.Fatalf("ping: %v", err)
	}
	rows, err := statement.Query(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if err := rows.Close(); err != nil { // long before its end
		t.Errorf("close rows: %v", err)
	}
	if len(f.rows(statement, 3)) != 20 {
		t.Error("the connection is no good after a result was left early")
	}
	if err := f.engine.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := f.engine.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if err := f.engine.Ping(f.ctx); err == nil {
		t.Error("ping works after close")
	}
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"),
		goleak.IgnoreAnyFunction("database/sql.(*DB).connectionCleaner"))
	_ = fault.Retry
}
