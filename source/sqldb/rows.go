package sqldb

import (
	"context"
	"database/sql"
	"fmt"

	"ctbridge/bridge/change"
)

// rows reads one result. Its cells are the scan destinations of database/sql: each decodes its value inside sql.Rows.Scan, where the
// driver's bytes are protected from a cancellation that closes the result at the same time.
type rows struct {
	ctx    context.Context
	st     *statement
	result *sql.Rows
	cells  []cell
	dests  []any

	// The row being scanned.
	dst    []change.Value
	arena  *change.Arena
	poison error
}

// cell is the destination of one column.
type cell struct {
	rows *rows
	i    int
}

func newRows(ctx context.Context, s *statement, result *sql.Rows) *rows {
	n := len(s.columns)
	r := &rows{ctx: ctx, st: s, result: result, cells: make([]cell, n), dests: make([]any, n)}
	for i := range r.cells {
		r.cells[i] = cell{rows: r, i: i}
		r.dests[i] = &r.cells[i]
	}
	return r
}

// Next moves to the next row.
func (r *rows) Next() bool { return r.result.Next() }

// Scan decodes the row into dst, left to right.
func (r *rows) Scan(dst []change.Value, arena *change.Arena) error {
	if len(dst) != len(r.cells) {
		return r.st.db.Fail(r.ctx, "scan", fmt.Errorf("%d destinations for %d columns", len(dst), len(r.cells)))
	}
	r.dst, r.arena, r.poison = dst, arena, nil
	if err := r.result.Scan(r.dests...); err != nil {
		return r.st.db.Fail(r.ctx, "scan", err)
	}
	return r.poison
}

// Scan implements sql.Scanner.
func (c *cell) Scan(src any) error {
	r := c.rows
	if err := r.st.decode(c.i, &r.dst[c.i], src, r.arena); err != nil && r.poison == nil {
		r.poison = err
	}
	return nil
}

// Err tells the end of the result (nil) from a failure.
func (r *rows) Err() error { return r.st.db.Fail(r.ctx, "read rows", r.result.Err()) }

// Close gives the connection back.
func (r *rows) Close() error { return r.st.db.Fail(r.ctx, "close rows", r.result.Close()) }
