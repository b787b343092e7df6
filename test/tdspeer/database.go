package tdspeer

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sqlite "modernc.org/sqlite"
)

// Database is a small database that understands the T-SQL of this project's readers and tests. SQLite files hold its tables, one file for a
// schema; readers see committed rows only. Types, catalog views and error numbers are those of SQL Server.
type Database struct {
	pool *sql.DB

	mu      sync.Mutex
	objects map[string]int64 // object ids by "schema"."table" as translated
	ddl     int64            // statements so far that may have changed the catalog
	next    int64
}

// NewDatabase makes a database with the given schemas. It ends with the test.
func NewDatabase(tb testing.TB, schemas ...string) *Database {
	tb.Helper()
	store, err := newDriver()
	if err != nil {
		tb.Fatal(err)
	}
	d := &Database{objects: map[string]int64{}, next: 1000}
	c := &connector{store: store, database: d, schemas: schemas, dir: tb.TempDir()}
	d.pool = sql.OpenDB(c)
	tb.Cleanup(func() { d.pool.Close() })
	return d
}

// Admin is a pool that takes T-SQL, arguments @p1, @p2, … included; closing it is the caller's business.
func (d *Database) Admin() *sql.DB {
	c := *d.pool.Driver().(*connector)
	c.translate = true
	return sql.OpenDB(&c)
}

// connector opens SQLite connections with all schemas attached.
type connector struct {
	store     *sqlite.Driver
	database  *Database
	schemas   []string
	dir       string
	translate bool
}

// Driver gives the connector itself, which is all that this package wants back from a pool.
func (c *connector) Driver() driver.Driver { return c }

// Open is not used.
func (c *connector) Open(string) (driver.Conn, error) { return c.Connect(context.Background()) }

// Connect opens a connection.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.store.Open("file::memory:?_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	inner := raw.(sqliteConn)
	for i, schema := range c.schemas {
		file := filepath.Join(c.dir, fmt.Sprintf("schema%d.db", i))
		name := doubleQuoted(schema)
		for _, text := range []string{"ATTACH '" + file + "' AS " + name, "PRAGMA " + name + ".journal_mode = wal", "PRAGMA " + name + ".synchronous = off"} {
			if _, err := inner.ExecContext(ctx, text, nil); err != nil {
				inner.Close()
				return nil, fmt.Errorf("%s: %w", text, err)
			}
		}
	}
	if c.translate {
		return &adminConn{inner, c.database}, nil
	}
	return inner, nil
}

// sqliteConn is what the SQLite driver's connections can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

// adminConn takes T-SQL.
type adminConn struct {
	sqliteConn
	database *Database
}

// ExecContext translates and runs a statement.
func (c *adminConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	translated := toSQLite(text)
	result, err := c.sqliteConn.ExecContext(ctx, translated, named(args))
	words := tokens(translated)
	if err == nil && keyword(words, "CREATE", "TABLE") {
		c.database.created(translated)
	}
	if !keyword(words, "INSERT") && !keyword(words, "UPDATE") && !keyword(words, "DELETE") {
		c.database.mu.Lock()
		c.database.ddl++
		c.database.mu.Unlock()
	}
	return result, err
}

// QueryContext translates and runs a query.
func (c *adminConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return c.sqliteConn.QueryContext(ctx, toSQLite(text), named(args))
}

// named gives arguments their T-SQL names.
func named(args []driver.NamedValue) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		a.Name = fmt.Sprintf("p%d", a.Ordinal)
		out[i] = a
	}
	return out
}

// created gives a table a new object id.
func (d *Database) created(translated string) {
	head, _, _ := strings.Cut(translated, " (")
	words := strings.SplitN(strings.TrimSpace(head), " ", 3)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	d.objects[words[len(words)-1]] = d.next
}

// Answer answers a query: it is a Handler. WAITFOR hangs until the query is cancelled.
func (d *Database) Answer(text string, args []any) Result {
	if strings.Contains(text, "WAITFOR") {
		return Result{Then: Hang}
	}
	ctx := context.Background()
	conn, err := d.pool.Conn(ctx)
	if err != nil {
		return failed(err)
	}
	defer conn.Close()
	if strings.Contains(text, "INFORMATION_SCHEMA.") {
		if err := d.fillCatalog(ctx, conn); err != nil {
			return failed(err)
		}
	}
	bound := make([]any, len(args))
	for i, a := range args {
		if s, ok := a.(VarChar); ok {
			a = string(s)
		}
		bound[i] = sql.Named(fmt.Sprintf("p%d", i+1), a)
	}
	rows, err := conn.QueryContext(ctx, toSQLite(text), bound...)
	if err != nil {
		return failed(err)
	}
	defer rows.Close()
	return collect(rows)
}

// failed gives SQLite's errors SQL Server's numbers.
func failed(err error) Result {
	text := err.Error()
	switch {
	case strings.Contains(text, "no such table"):
		return Fail(208, "Invalid object name: "+text)
	case strings.Contains(text, "no such column"):
		return Fail(207, "Invalid column name: "+text)
	case strings.Contains(text, "no such function"):
		return Fail(195, "not a recognized built-in function name: "+text)
	case strings.Contains(text, "syntax error"):
		return Fail(102, text)
	}
	return Fail(50000, text)
}

// collect reads a result. A column that is no table's column gets a type that fits its values.
func collect(rows *sql.Rows) Result {
	types, err := rows.ColumnTypes()
	if err != nil {
		return failed(err)
	}
	result := Result{NBC: len(types) > 8}
	for _, t := range types {
		result.Columns = append(result.Columns, Column{Name: t.Name(), Type: typeOfPrefixed(t.DatabaseTypeName())})
	}
	for rows.Next() {
		row, dest := make([]any, len(types)), make([]any, len(types))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return failed(err)
		}
		result.Rows = append(result.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return failed(err)
	}
	for i := range result.Columns {
		if result.Columns[i].Type == "" {
			result.Columns[i].Type = fittingType(result.Rows, i)
		}
	}
	return result
}

func fittingType(rows [][]any, i int) string {
	for _, row := range rows {
		switch row[i].(type) {
		case int64:
			return "bigint"
		case float64:
			return "float"
		case []byte:
			return "varbinary(max)"
		case string:
			return "nvarchar(max)"
		}
	}
	return "nvarchar(max)"
}
