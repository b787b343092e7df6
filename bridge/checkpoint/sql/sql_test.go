package sql_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/microsoft/go-mssqldb"
	_ "modernc.org/sqlite"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/checkpointtest"
	checkpointsql "ctbridge/bridge/checkpoint/sql"
	"ctbridge/bridge/fault"
)

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func store(t *testing.T, db *sql.DB, dialect checkpointsql.Dialect, table, task string) checkpoint.Store {
	t.Helper()
	s, err := checkpointsql.New(db, dialect, table, task)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformanceSQLite(t *testing.T) {
	checkpointtest.Run(t, func(t *testing.T) checkpointtest.Place {
		dsn := sqliteDSN(t)
		return checkpointtest.Place{Shared: true, Open: func(t *testing.T) checkpoint.Store {
			return store(t, open(t, "sqlite", dsn), checkpointsql.SQLite(), "ctbridge_checkpoint", "orders")
		}}
	})
}

func sqliteDSN(t *testing.T) string {
	return "file:" + filepath.Join(t.TempDir(), "checkpoint.db") + "?_pragma=busy_timeout(5000)"
}

// The servers' tests share one table: each place is a task of its own in it.
func TestConformanceServers(t *testing.T) {
	for _, server := range []struct {
		name, driver, env string
		dialect           checkpointsql.Dialect
	}{
		{"PostgreSQL", "pgx", "CTBRIDGE_TEST_POSTGRES", checkpointsql.PostgreSQL()},
		{"MariaDB", "mysql", "CTBRIDGE_TEST_MARIADB", checkpointsql.MySQL()},
		{"SQLServer", "sqlserver", "CTBRIDGE_TEST_SQLSERVER_DSN", checkpointsql.SQLServer()},
	} {
		t.Run(server.name, func(t *testing.T) {
			dsn := os.Getenv(server.env)
			if dsn == "" {
				t.Skipf("%s is not set", server.env)
			}
			dsn = database(t, server.driver, dsn)
			checkpointtest.Run(t, func(*testing.T) checkpointtest.Place {
				task := fmt.Sprintf("task %d", rand.Uint64())
				return checkpointtest.Place{Shared: true, Open: func(t *testing.T) checkpoint.Store {
					return store(t, open(t, server.driver, dsn), server.dialect, "ctbridge_checkpoint", task)
				}}
			})
		})
	}
}

// database makes a database for the test and gives the connection string that reaches it.
func database(t *testing.T, driver, dsn string) string {
	t.Helper()
	if driver == "sqlserver" {
		return dsn
	}
	db := open(t, driver, dsn)
	name := fmt.Sprintf("checkpoint_%d", rand.Uint32())
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := db.Exec("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	if driver == "mysql" {
		return strings.Replace(dsn, "/?", "/"+name+"?", 1)
	}
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	return address.String()
}

func TestTasksShareATable(t *testing.T) {
	t.Parallel()
	dsn := sqliteDSN(t)
	orders := store(t, open(t, "sqlite", dsn), checkpointsql.SQLite(), "ctbridge_checkpoint", "orders")
	parcels := store(t, open(t, "sqlite", dsn), checkpointsql.SQLite(), "ctbridge_checkpoint", "parcels")
	t.Cleanup(func() { orders.Close(); parcels.Close() })
	for name, s := range map[string]checkpoint.Store{"orders": orders, "parcels": parcels} {
		if err := s.Save(t.Context(), []checkpoint.Entry{{Key: "task", Value: []byte(name)}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]checkpoint.Store{"orders": orders, "parcels": parcels} {
		entries, err := s.Load(t.Context())
		if err != nil || len(entries) != 1 || string(entries["task"]) != name {
			t.Errorf("%s: entries %v, error %v", name, entries, err)
		}
	}
}

// Peek takes no claim: the owner goes on. A table that is not there is not made.
func TestPeek(t *testing.T) {
	t.Parallel()
	dsn := sqliteDSN(t)
	peek := func() (map[string][]byte, error) {
		s, err := checkpointsql.New(open(t, "sqlite", dsn), checkpointsql.SQLite(), "ctbridge_checkpoint", "orders")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		return s.Peek(t.Context())
	}
	for range 2 {
		if entries, err := peek(); err == nil || fault.ClassOf(err) != fault.Retry {
			t.Errorf("without a table: %v, %v", entries, err)
		}
	}
	owner := store(t, open(t, "sqlite", dsn), checkpointsql.SQLite(), "ctbridge_checkpoint", "orders")
	t.Cleanup(func() { owner.Close() })
	for _, value := range []string{"1", "2"} {
		if err := owner.Save(t.Context(), []checkpoint.Entry{{Key: "task", Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
		if entries, err := peek(); err != nil || len(entries) != 1 || string(entries["task"]) != value {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	db := open(t, "sqlite", sqliteDSN(t))
	t.Cleanup(func() { db.Close() })
	for _, tt := range []struct{ table, task string }{
		{"x; DROP TABLE y", "orders"}, {"", "orders"}, {"a.b.c", "orders"}, {"t", ""}, {"t", strings.Repeat("x", 129)},
	} {
		if _, err := checkpointsql.New(db, checkpointsql.SQLite(), tt.table, tt.task); err == nil || fault.ClassOf(err) != fault.Config {
			t.Errorf("table %q, task %.20q: got %v", tt.table, tt.task, err)
		}
	}
}

func TestLostDatabaseIsRetried(t *testing.T) {
	t.Parallel()
	db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "nowhere", "checkpoint.db"))
	s := store(t, db, checkpointsql.SQLite(), "ctbridge_checkpoint", "orders")
	t.Cleanup(func() { s.Close() })
	_, err := s.Load(t.Context())
	if err == nil || fault.ClassOf(err) != fault.Retry || !strings.Contains(err.Error(), "ctbridge_checkpoint") {
		t.Errorf("got %v", err)
	}
}

// What is left beside the owner of a task is there, and takes nothing from it.
func TestLeaveTakesNoClaim(t *testing.T) {
	t.Parallel()
	dsn := sqliteDSN(t)
	owner := store(t, open(t, "sqlite", dsn), checkpointsql.SQLite(), "ctbridge_checkpoint", "orders")
	beside, err := checkpointsql.New(open(t, "sqlite", dsn), checkpointsql.SQLite(), "ctbridge_checkpoint", "orders")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = owner.Close(), beside.Close() })
	entry := func(key string) []checkpoint.Entry { return []checkpoint.Entry{{Key: key, Value: []byte("1")}} }
	if err := beside.Leave(t.Context(), entry("reset/a")); fault.ClassOf(err) != fault.Retry {
		t.Errorf("a table that is not there: %v", err)
	}
	if _, err := owner.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := beside.Leave(t.Context(), entry("reset/a")); err != nil {
		t.Fatal(err)
	}
	if err := owner.Save(t.Context(), entry("task")); err != nil {
		t.Errorf("the owner is disturbed: %v", err)
	}
	if got, err := beside.Peek(t.Context()); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}
