package qlikct_test

import (
	"database/sql"
	"os"
	"testing"

	"ctbridge/source/layouttest"
	"ctbridge/source/mssql"
	"ctbridge/test/qlikwriter"
	"ctbridge/test/tdspeer"
)

// The wire, the driver and the engine are real, the server behind the wire is a small one of the project's own.
func TestLayoutOnSQLServerPeer(t *testing.T) {
	layouttest.RunQlik(t, func(t *testing.T) layouttest.Bench {
		d := tdspeer.NewDatabase(t, "ops-main")
		peer := tdspeer.Start(t, d.Answer)
		admin := d.Admin()
		t.Cleanup(func() { admin.Close() })
		return openSQLServer(t, peer.DSN(), admin, "ops-main")
	})
}

// TestLayoutOnSQLServer needs a real server: CTBRIDGE_TEST_SQLSERVER_DSN.
func TestLayoutOnSQLServer(t *testing.T) {
	dsn := os.Getenv("CTBRIDGE_TEST_SQLSERVER_DSN")
	if dsn == "" {
		t.Skip("CTBRIDGE_TEST_SQLSERVER_DSN is not set: no SQL Server to test against")
	}
	layouttest.RunQlik(t, func(t *testing.T) layouttest.Bench {
		admin := openDB(t, "sqlserver", dsn)
		name := scratchName()
		exec(t, admin, "CREATE SCHEMA ["+name+"]")
		t.Cleanup(func() { dropSchema(t, admin, name) })
		return openSQLServer(t, dsn, admin, name)
	})
}

func openSQLServer(t *testing.T, dsn string, admin *sql.DB, schema string) layouttest.Bench {
	t.Helper()
	engine, err := mssql.Open(mssql.Config{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return layouttest.Bench{Engine: engine, Writer: &qlikwriter.Writer{DB: admin, Dialect: qlikwriter.SQLServer, Schema: schema}}
}

func dropSchema(t *testing.T, admin *sql.DB, schema string) {
	t.Helper()
	rows, err := admin.Query("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = @p1", schema)
	if err != nil {
		t.Error(err)
		return
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Error(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	quote := qlikwriter.SQLServer.Quote
	for _, name := range tables {
		exec(t, admin, "DROP TABLE "+quote(schema)+"."+quote(name))
	}
	exec(t, admin, "DROP SCHEMA "+quote(schema))
}
