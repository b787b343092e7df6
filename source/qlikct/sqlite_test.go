package qlikct_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"ctbridge/source/layouttest"
	"ctbridge/source/sqlite"
	"ctbridge/test/qlikwriter"
)

func openSQLite(t *testing.T) layouttest.Bench {
	t.Helper()
	path := filepath.Join(t.TempDir(), "changes.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	engine, err := sqlite.Open(sqlite.Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(); db.Close() })
	return layouttest.Bench{Engine: engine, Writer: &qlikwriter.Writer{DB: db, Dialect: qlikwriter.SQLite}}
}

func TestLayoutOnSQLite(t *testing.T) { layouttest.RunQlik(t, openSQLite) }
