package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	mssql "github.com/microsoft/go-mssqldb"
	_ "modernc.org/sqlite"

	"ctbridge/test/stack/servers"
)

// database is a scratch database of one engine.
type database struct {
	flavour
	engine string // as the bench calls it
	source string // as the configuration calls it
	driver string // of database/sql
	dsn    string // for readers
	name   string
	server string // version
	pid    int    // of the server; 0 = it is in the process of its reader
	pool   *sql.DB
	remote execer // takes statements instead of pool, if not nil
	load   loader
	after  func(s shape) string // the statement behind a load; nil = none
	drop   func()
}

// errAway says that the server of an engine is not there.
var errAway = fmt.Errorf("its server is not there")

// openDatabase makes an empty scratch database.
func openDatabase(ctx context.Context, p *place, engine string) (*database, error) {
	openers := map[string]func(context.Context, *place, *database) error{
		"sqlite": openSQLite, "postgres": openPostgres, "mariadb": openMariaDB, "sqlserver": openSQLServer, "peer": openPeer,
	}
	open := openers[engine]
	if open == nil {
		return nil, fmt.Errorf("unknown engine")
	}
	d := &database{engine: engine, name: fmt.Sprintf("bench%08x", rand.Uint32()), drop: func() {}}
	if err := open(ctx, p, d); err != nil {
		return nil, err
	}
	p.servers[engine] = d.server
	return d, nil
}

func openSQLite(ctx context.Context, p *place, d *database) (err error) {
	d.flavour, d.source, d.driver, d.load = flavours["sqlite"], "sqlite", "sqlite", loadPrepared
	d.dsn = filepath.Join(p.dir, d.name+".db")
	d.drop = func() {
		for _, tail := range []string{"", "-wal", "-shm"} {
			os.Remove(d.dsn + tail)
		}
	}
	d.after = func(shape) string { return "PRAGMA wal_checkpoint(TRUNCATE)" }
	if d.pool, err = sql.Open("sqlite", "file:"+d.dsn+"?_pragma=journal_mode(wal)&_pragma=synchronous(0)"); err != nil {
		return err
	}
	return d.ask(ctx, "SELECT 'SQLite ' || sqlite_version()")
}

func openPostgres(ctx context.Context, p *place, d *database) error {
	base := os.Getenv(servers.PostgresVariable)
	if base == "" {
		return errAway
	}
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	u.Path = "/" + d.name
	d.flavour, d.source, d.driver, d.dsn, d.load, d.pid = flavours["postgres"], "postgres", "pgx", u.String(), loadPostgres, p.pid(servers.Postgres)
	d.after = func(s shape) string { return "VACUUM ANALYZE " + d.changes(s) }
	return d.create(ctx, base, " WITH (FORCE)", "SELECT 'PostgreSQL ' || current_setting('server_version')")
}

func openMariaDB(ctx context.Context, p *place, d *database) error {
	base := os.Getenv(servers.MariaDBVariable)
	if base == "" {
		return errAway
	}
	config, err := mysql.ParseDSN(base)
	if err != nil {
		return err
	}
	config.DBName = d.name
	d.flavour, d.source, d.driver, d.dsn, d.load, d.pid = flavours["mariadb"], "mysql", "mysql", config.FormatDSN(), loadMariaDB, p.pid(servers.MariaDB)
	d.after = func(s shape) string { return "ANALYZE TABLE " + d.changes(s) }
	return d.create(ctx, base, "", "SELECT version()")
}

// openSQLServer uses the server of CTBRIDGE_TEST_SQLSERVER_DSN, whose CPU time cannot be seen.
func openSQLServer(ctx context.Context, _ *place, d *database) error {
	base := os.Getenv("CTBRIDGE_TEST_SQLSERVER_DSN")
	if base == "" {
		return errAway
	}
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	query := u.Query()
	query.Set("database", d.name)
	u.RawQuery = query.Encode()
	d.flavour, d.source, d.driver, d.dsn, d.load = flavours["sqlserver"], "sqlserver", "sqlserver", u.String(), loadLiterals
	return d.create(ctx, base, "", "SELECT @@VERSION")
}

// create makes the database of its own on a server and asks for the version.
func (d *database) create(ctx context.Context, base, force, version string) error {
	admin, err := sql.Open(d.driver, base)
	if err != nil {
		return err
	}
	defer admin.Close()
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+d.name); err != nil {
		return err
	}
	d.drop = func() {
		if admin, err := sql.Open(d.driver, base); err == nil {
			_, _ = admin.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+d.name+force)
			admin.Close()
		}
	}
	if d.pool, err = sql.Open(d.driver, d.dsn); err != nil {
		return err
	}
	return d.ask(ctx, version)
}

func (d *database) ask(ctx context.Context, version string) error {
	return d.pool.QueryRowContext(ctx, version).Scan(&d.server)
}

func (d *database) close() {
	if d.pool != nil {
		d.pool.Close()
	}
	d.drop()
}

func (d *database) exec(ctx context.Context, statements ...string) error {
	to := d.remote
	if to == nil {
		to = d.pool
	}
	for _, s := range statements {
		if _, err := to.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.80s…: %w", s, err)
		}
	}
	return nil
}

// fill makes a base table and a change table with all its rows.
func (d *database) fill(ctx context.Context, s shape) error {
	if err := d.exec(ctx, d.tables(s)...); err != nil {
		return err
	}
	if s.events > 0 {
		if err := d.load(ctx, d, s); err != nil {
			return fmt.Errorf("load %s: %w", s.table, err)
		}
	}
	if err := d.exec(ctx, d.index(s)); err != nil {
		return err
	}
	if d.after != nil {
		return d.exec(ctx, d.after(s))
	}
	return nil
}

// sourceTable is the name of a base table as source.tables takes it.
func (d *database) sourceTable(table string) string {
	switch d.source {
	case "postgres":
		return "public." + table
	case "mysql":
		return d.name + "." + table
	case "sqlserver":
		return "dbo." + table
	}
	return table
}

// bind gives a sequence the type that an index takes.
func (d *database) bind(sequence string) any {
	if d.driver == "sqlserver" {
		return mssql.VarChar(sequence)
	}
	return sequence
}

// remove drops the tables of a shape.
func (d *database) remove(ctx context.Context, s shape) error {
	return d.exec(ctx, "DROP TABLE "+d.changes(s), "DROP TABLE "+d.base(s))
}
