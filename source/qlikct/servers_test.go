package qlikct_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"ctbridge/source/layouttest"
	"ctbridge/source/mysql"
	"ctbridge/source/postgres"
	"ctbridge/test/qlikwriter"
)

func scratchName() string { return fmt.Sprintf("ops-layout-%08x", rand.Uint32()) }

func TestLayoutOnPostgres(t *testing.T) {
	dsn := os.Getenv("CTBRIDGE_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("CTBRIDGE_TEST_POSTGRES is not set: make test starts a server")
	}
	layouttest.RunQlik(t, func(t *testing.T) layouttest.Bench { return openPostgres(t, dsn) })
}

func openPostgres(t *testing.T, dsn string) layouttest.Bench {
	t.Helper()
	name := scratchName()
	admin := openDB(t, "pgx", dsn)
	exec(t, admin, `CREATE DATABASE "`+name+`"`)
	t.Cleanup(func() { exec(t, admin, `DROP DATABASE "`+name+`" WITH (FORCE)`) })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	engine, err := postgres.Open(postgres.Config{DSN: u.String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	db := openDB(t, "pgx", u.String())
	exec(t, db, `CREATE SCHEMA "ops-main"`)
	return layouttest.Bench{Engine: engine, Writer: &qlikwriter.Writer{DB: db, Dialect: qlikwriter.Postgres, Schema: "ops-main"}}
}

func TestLayoutOnMariaDB(t *testing.T) {
	dsn := os.Getenv("CTBRIDGE_TEST_MARIADB")
	if dsn == "" {
		t.Skip("CTBRIDGE_TEST_MARIADB is not set: make test starts a server")
	}
	layouttest.RunQlik(t, func(t *testing.T) layouttest.Bench { return openMariaDB(t, dsn) })
}

func openMariaDB(t *testing.T, dsn string) layouttest.Bench {
	t.Helper()
	name := scratchName()
	admin := openDB(t, "mysql", dsn)
	exec(t, admin, "CREATE DATABASE `"+name+"`")
	t.Cleanup(func() { exec(t, admin, "DROP DATABASE `"+name+"`") })
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DBName = name
	engine, err := mysql.Open(mysql.Config{DSN: config.FormatDSN()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return layouttest.Bench{Engine: engine, Writer: &qlikwriter.Writer{DB: openDB(t, "mysql", config.FormatDSN()), Dialect: qlikwriter.MariaDB, Schema: name}}
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}
