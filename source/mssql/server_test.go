package mssql

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"ctbridge/bridge/change"
	"ctbridge/source/enginetest"
)

// scratchSchema makes a schema on a real server and drops it, with its tables, after the test.
func scratchSchema(t *testing.T, dsn string) (schema string, admin *sql.DB) {
	t.Helper()
	connector, err := mssql.NewConnector(dsn)
	if err != nil {
		t.Fatal("CTBRIDGE_TEST_SQLSERVER_DSN is not usable")
	}
	admin = sql.OpenDB(connector)
	schema = fmt.Sprintf("ops-main %x", time.Now().UnixNano())
	exec := func(text string) {
		if _, err := admin.Exec(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	exec("CREATE SCHEMA " + dialect{}.Quote(schema))
	t.Cleanup(func() {
		defer admin.Close()
		for _, name := range tableNames(t, admin, schema) {
			exec("DROP TABLE " + dialect{}.Table(change.TableID{Schema: schema, Name: name}))
		}
		exec("DROP SCHEMA " + dialect{}.Quote(schema))
	})
	return schema, admin
}

func tableNames(t *testing.T, admin *sql.DB, schema string) (names []string) {
	t.Helper()
	rows, err := admin.Query("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = @p1", schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestConformanceOnAServer runs the suite against SQL Server or a server that executes T-SQL.
func TestConformanceOnAServer(t *testing.T) {
	dsn := os.Getenv("CTBRIDGE_TEST_SQLSERVER_DSN")
	if dsn == "" {
		t.Skip("CTBRIDGE_TEST_SQLSERVER_DSN is not set: no SQL Server to test with")
	}
	schema, admin := scratchSchema(t, dsn)
	h := harness(schema, admin, dsn)
	h.Types = enginetypes()
	enginetest.Run(t, h)
}
