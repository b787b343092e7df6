package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// database is a scratch database filled with one change table, "orders__ct".
type database struct {
	engine, driver, dsn string // engine as in the configuration; driver of database/sql
	close               func()
}

// columns are the 18 data columns, about 300 bytes a row; the SQL expression over n fills them.
var columns = []struct{ name, postgres, mysql, sqlite, expression string }{
	{"id", "bigint", "bigint", "bigint", "n"},
	{"customer", "integer", "int", "int", "n % 10007"},
	{"status", "varchar(16)", "varchar(16)", "varchar(16)", "'delivered'"},
	{"channel", "varchar(16)", "varchar(16)", "varchar(16)", "'web'"},
	{"amount", "numeric(12,2)", "decimal(12,2)", "text", "'1234.56'"},
	{"tax", "numeric(12,2)", "decimal(12,2)", "text", "'98.70'"},
	{"weight", "double precision", "double", "double", "1.5"},
	{"quantity", "integer", "int", "int", "n % 13"},
	{"priority", "smallint", "smallint", "smallint", "3"},
	{"ordered", "timestamp", "datetime(6)", "datetime(6)", "'2023-03-21 14:34:21.123456'"},
	{"shipped", "date", "date", "date", "'2023-03-25'"},
	{"city", "varchar(40)", "varchar(40)", "varchar(40)", "'Nova Friburgo'"},
	{"street", "varchar(60)", "varchar(60)", "varchar(60)", "'Rua General Osório 123'"},
	{"note", "varchar(120)", "varchar(120)", "varchar(120)", "'please leave the parcel with the neighbour in number 7'"},
	{"reference", "varchar(36)", "varchar(36)", "varchar(36)", "'3f2b8a3e-5a57-4a83-9a8e-0a9a1f5d6c7b'"},
	{"coupon", "varchar(16)", "varchar(16)", "varchar(16)", "NULL"},
	{"gift", "smallint", "smallint", "smallint", "0"},
	{"version", "integer", "int", "int", "1"},
}

type flavour struct {
	column                         func(i int) string
	binary, mask, time, seq, tx, n string // types and expressions
	cast                           func(expression, kind string) string
}

func postgresTable() flavour {
	return flavour{
		column: func(i int) string { return columns[i].postgres }, binary: "bytea", mask: `'\x80ffff0100'::bytea`, time: "timestamp",
		seq: "'2023091103232500' || lpad(n::text, 19, '0')", tx: "lpad((n / 10)::text, 32, '0')", n: "generate_series(1, %d) AS g(n)",
		cast: func(e, kind string) string { return e + "::" + kind },
	}
}

func mysqlTable() flavour {
	same := func(e, _ string) string { return e }
	return flavour{
		column: func(i int) string { return columns[i].mysql }, binary: "varbinary(128)", mask: "x'80ffff01'", time: "datetime(6)",
		seq: "concat('2023091103232500', lpad(n, 19, '0'))", tx: "lpad(n div 10, 32, '0')", n: "(SELECT seq AS n FROM seq_1_to_%d) AS g", cast: same,
	}
}

func sqliteTable() flavour {
	same := func(e, _ string) string { return e }
	return flavour{
		column: func(i int) string { return columns[i].sqlite }, binary: "varbinary(128)", mask: "x'80ffff01'", time: "timestamp(6)",
		seq: "printf('2023091103232500%%019d', n)", tx: "printf('%%032d', n / 10)",
		n: "(WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < %d) SELECT n FROM g)", cast: same,
	}
}

func (f flavour) statements(rows int) []string {
	base := []string{}
	ct := []string{
		"header__change_seq varchar(35) NOT NULL", "header__change_oper varchar(1)", "header__change_mask " + f.binary, "header__stream_position varchar(128)",
		"header__operation varchar(12)", "header__transaction_id varchar(32)", "header__timestamp " + f.time,
	}
	values := []string{f.seq, "'I'", f.mask, "'00000027:00000130:0001'", "'INSERT'", f.tx, f.cast("'2023-09-11 03:23:25.000000'", f.time)}
	for i, c := range columns {
		base, ct = append(base, c.name+" "+f.column(i)), append(ct, c.name+" "+f.column(i))
		values = append(values, f.cast(c.expression, f.column(i)))
	}
	source := fmt.Sprintf(strings.ReplaceAll(f.n, "%%", "%"), rows)
	return []string{
		"CREATE TABLE orders (" + strings.Join(base, ", ") + ", PRIMARY KEY (id))",
		"CREATE TABLE orders__ct (" + strings.Join(ct, ", ") + ")",
		"INSERT INTO orders__ct SELECT " + strings.ReplaceAll(strings.Join(values, ", "), "%%", "%") + " FROM " + source,
		"CREATE INDEX orders__ct_seq ON orders__ct (header__change_seq)",
	}
}

// open makes and fills the scratch database of an engine; nil where its server is not there.
func open(ctx context.Context, p place, engine string, rows int) (*database, error) {
	switch engine {
	case "sqlite":
		d := &database{engine: "sqlite", driver: "sqlite", dsn: filepath.Join(p.dir, "orders.db"), close: func() {}}
		return d, fill(ctx, "sqlite", "file:"+d.dsn+"?_pragma=journal_mode(wal)&_pragma=synchronous(0)", sqliteTable().statements(rows))
	case "postgres":
		return openPostgres(ctx, os.Getenv("CTBRIDGE_TEST_POSTGRES"), rows)
	case "mariadb":
		return openMariaDB(ctx, os.Getenv("CTBRIDGE_TEST_MARIADB"), rows)
	}
	return nil, fmt.Errorf("unknown engine %q", engine)
}

func openPostgres(ctx context.Context, dsn string, rows int) (*database, error) {
	if dsn == "" {
		return nil, nil
	}
	name := fmt.Sprintf("bench%08x", rand.Uint32())
	if err := fill(ctx, "pgx", dsn, []string{"CREATE DATABASE " + name}); err != nil {
		return nil, err
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	u.Path = "/" + name
	drop := func() {
		_ = fill(context.WithoutCancel(ctx), "pgx", dsn, []string{"DROP DATABASE " + name + " WITH (FORCE)"})
	}
	return &database{engine: "postgres", driver: "pgx", dsn: u.String(), close: drop}, fill(ctx, "pgx", u.String(), append(postgresTable().statements(rows), "VACUUM ANALYZE orders__ct"))
}

func openMariaDB(ctx context.Context, dsn string, rows int) (*database, error) {
	if dsn == "" {
		return nil, nil
	}
	name := fmt.Sprintf("bench%08x", rand.Uint32())
	if err := fill(ctx, "mysql", dsn, []string{"CREATE DATABASE " + name}); err != nil {
		return nil, err
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.DBName = name
	drop := func() { _ = fill(context.WithoutCancel(ctx), "mysql", dsn, []string{"DROP DATABASE " + name}) }
	return &database{engine: "mysql", driver: "mysql", dsn: config.FormatDSN(), close: drop}, fill(ctx, "mysql", config.FormatDSN(), mysqlTable().statements(rows))
}

func fill(ctx context.Context, driver, dsn string, statements []string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.60s…: %w", s, err)
		}
	}
	return nil
}
