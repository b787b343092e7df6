package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// raw reads a driver's rows on a connection of the pool that is held for them. What database/sql does beside that is done here: to prepare, to
// take another connection for one that turns out to be dead, and to give it back only where the driver calls it good.
type raw struct {
	conn *sql.Conn
	stmt driver.Stmt
	rows driver.Rows // nil once closed
	row  []driver.Value
}

var _ Result = (*raw)(nil)

// raw prepares and runs a statement. A connection that the driver gives up before it has sent anything is closed, and the next one taken: at
// worst each of the pool, and then a new one.
func (d *DB) raw(ctx context.Context, text string, args []any) (Result, error) {
	for spare := d.pool.Stats().MaxOpenConnections; ; spare-- {
		r := &raw{}
		err := r.open(ctx, d.pool, text, args)
		if err == nil {
			return r, nil
		}
		if spare <= 0 || !errors.Is(err, driver.ErrBadConn) {
			return nil, err
		}
	}
}

func (r *raw) open(ctx context.Context, pool *sql.DB, text string, args []any) (err error) {
	if r.conn, err = pool.Conn(ctx); err != nil {
		return err
	}
	// Raw closes the connection on driver.ErrBadConn.
	err = r.conn.Raw(func(conn any) error { return r.query(ctx, conn, text, args) })
	if err != nil {
		_ = r.conn.Close() // the error says more
	}
	return err
}

func (r *raw) query(ctx context.Context, conn any, text string, args []any) (err error) {
	preparer, ok := conn.(driver.ConnPrepareContext)
	if !ok {
		return fmt.Errorf("a %T does not prepare with a context", conn)
	}
	if r.stmt, err = preparer.PrepareContext(ctx, text); err != nil {
		return err
	}
	if r.rows, err = start(ctx, r.stmt, args); err != nil {
		_ = r.stmt.Close() // the error says more
		return err
	}
	r.row = make([]driver.Value, len(r.rows.Columns()))
	return nil
}

// start runs a prepared statement. Arguments are of types that every driver takes as they are.
func start(ctx context.Context, stmt driver.Stmt, args []any) (driver.Rows, error) {
	queryer, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, fmt.Errorf("a %T does not query with a context", stmt)
	}
	if want := stmt.NumInput(); want >= 0 && want != len(args) {
		return nil, fmt.Errorf("%d arguments for %d parameters", len(args), want)
	}
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return queryer.QueryContext(ctx, named)
}

// Width is how many columns the rows have.
func (r *raw) Width() int { return len(r.row) }

// Next moves to the next row.
func (r *raw) Next() error {
	if r.rows == nil {
		return io.EOF
	}
	return r.rows.Next(r.row)
}

// Value is a value as the driver gave it.
func (r *raw) Value(i int) (any, error) { return r.row[i], nil }

// Close ends the rows, whether or not all have been read, and gives the connection back.
func (r *raw) Close() error {
	rows := r.rows
	if rows == nil {
		return nil
	}
	r.rows = nil
	err := r.conn.Raw(func(any) error {
		err := rows.Close()
		_ = r.stmt.Close() // a driver that cannot say goodbye to a statement does not call the connection good
		return err
	})
	if closed := r.conn.Close(); !errors.Is(closed, sql.ErrConnDone) { // which Raw has closed
		err = errors.Join(err, closed)
	}
	return err
}
