package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"ctbridge/bridge/fault"
)

// vendorError is a numbered error, as vendors have them.
type vendorError int

func (e vendorError) Error() string { return fmt.Sprintf("vendor error %d", int(e)) }

func classify(err error) (fault.Class, string) {
	var vendor vendorError
	if errors.As(err, &vendor) && vendor == 1146 {
		return fault.Table, "was it dropped?"
	}
	return fault.Retry, ""
}

// fakeDriver answers every query with the same rows. Like MySQL's driver it gives []byte values in a buffer of its own, which it
// overwrites when it moves on or closes.
type fakeDriver struct {
	rows     [][]driver.Value
	err      error // after the last row
	queryErr error
	onNext   func(row int)

	mu       sync.Mutex
	queries  []string
	args     [][]driver.NamedValue
	prepared int
	open     int // results and prepared statements not closed
	dead     int // how many of the next connections turn out to be dead when they prepare
	conns    int // not closed
}

func newPool(t *testing.T, d *fakeDriver) *sql.DB {
	pool := sql.OpenDB(d)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if d.open != 0 {
			t.Errorf("%d results and statements are still open", d.open)
		}
	})
	return pool
}

func (d *fakeDriver) count(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open += n
}

func (d *fakeDriver) Connect(context.Context) (driver.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns++
	return fakeConn{d}, nil
}

func (d *fakeDriver) Driver() driver.Driver { return nil }

type fakeConn struct{ d *fakeDriver }

func (c fakeConn) Close() error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.conns--
	return nil
}

func (c fakeConn) Begin() (driver.Tx, error) { return nil, errors.New("no transactions") }

func (c fakeConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.d.mu.Lock()
	dead := c.d.dead > 0
	if dead {
		c.d.dead--
	}
	c.d.mu.Unlock()
	if dead {
		return nil, driver.ErrBadConn
	}
	return c.Prepare(query)
}

func (c fakeConn) Prepare(query string) (driver.Stmt, error) {
	c.d.count(1)
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.prepared++
	return fakeStmt{c, query}, nil
}

func (c fakeConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.d.mu.Lock()
	c.d.queries, c.d.args = append(c.d.queries, query), append(c.d.args, args)
	c.d.mu.Unlock()
	if c.d.queryErr != nil {
		return nil, c.d.queryErr
	}
	c.d.count(1)
	return &fakeRows{d: c.d}, nil
}

type fakeStmt struct {
	c     fakeConn
	query string
}

func (s fakeStmt) NumInput() int { return strings.Count(s.query, "?") }

func (s fakeStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.query, args)
}

func (s fakeStmt) Close() error {
	s.c.d.count(-1)
	return nil
}
func (s fakeStmt) Exec([]driver.Value) (driver.Result, error) { return nil, errors.New("no writes") }
func (s fakeStmt) Query(args []driver.Value) (driver.Rows, error) {
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	return s.c.QueryContext(context.Background(), s.query, named)
}

type fakeRows struct {
	d      *fakeDriver
	next   int
	buffer []byte
}

func (r *fakeRows) Columns() []string {
	if len(r.d.rows) == 0 {
		return []string{"a"}
	}
	return make([]string, len(r.d.rows[0]))
}

func (r *fakeRows) Close() error {
	r.scribble()
	r.d.count(-1)
	return nil
}

// scribble overwrites the bytes that were handed out.
func (r *fakeRows) scribble() {
	for i := range r.buffer {
		r.buffer[i] = '!'
	}
}

func (r *fakeRows) Next(dst []driver.Value) error {
	r.scribble()
	r.buffer = r.buffer[:0]
	if r.next == len(r.d.rows) {
		return or(r.d.err, io.EOF)
	}
	if r.d.onNext != nil {
		r.d.onNext(r.next)
	}
	for i, v := range r.d.rows[r.next] {
		if b, ok := v.([]byte); ok {
			start := len(r.buffer)
			r.buffer = append(r.buffer, b...)
			v = r.buffer[start:len(r.buffer):len(r.buffer)]
		}
		dst[i] = v
	}
	r.next++
	return nil
}

func or(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
