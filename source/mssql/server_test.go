package mssql

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"ctbridge/bridge/change"
	"ctbridge/source"
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
	rows, err := admin.Query("SELECT CAST(TABLE_NAME AS nvarchar(128)) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = @p1", schema)
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
	h.Types, h.Keysets = enginetypes(), keysets()
	var version string
	if err := admin.QueryRow("SELECT @@VERSION").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(version, "Babelfish") {
		onBabelfish(&h)
	}
	enginetest.Run(t, h)
}

// onBabelfish takes account of what that server does otherwise: microseconds only, no rowversion by default, one number for most errors, and
// seconds for the first query of a connection.
func onBabelfish(h *enginetest.Harness) {
	h.Skip = map[string]string{
		"MissingTable": "the server has no number of its own for a missing object",
		"Cancel":       "the server has no WAITFOR",
	}
	for _, ddl := range []string{"binary(3)", "varbinary(128)", "varbinary(max)", "image", "varbinary(10)"} {
		h.Skip["keys of "+ddl] = "the server writes no bytes as hexadecimal digits"
	}
	h.Types = slices.DeleteFunc(h.Types, func(typ enginetest.Type) bool { return typ.DDL == "timestamp" })
	for i := range h.Types {
		typ := &h.Types[i]
		typ.Want.Scale = min(typ.Want.Scale, 6)
		if typ.Want.Kind == change.Numeric {
			typ.Want = enginetypeOf(typ.DDL)
		}
		typ.Values = slices.DeleteFunc(typ.Values, func(v enginetest.Value) bool { return v.Want.Nanos%1000 != 0 })
		for k, v := range typ.Values {
			if typ.Want.Kind == change.DateTimeTZ {
				typ.Values[k].Literal = strings.TrimPrefix(v.Literal, "N")
			}
		}
	}
	openAt := h.Server.OpenAt
	h.Server.OpenAt = func(t *testing.T, way enginetest.Way) (source.Engine, error) {
		way.Patience = max(way.Patience, 2500*time.Millisecond)
		return openAt(t, way)
	}
}

func enginetypeOf(ddl string) change.Type {
	t, _ := typeOf(catalogOf(ddl))
	return t
}
