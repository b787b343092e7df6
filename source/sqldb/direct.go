package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Result is a result that a product reads by itself. database/sql stands between a driver and its reader with a lock, a conversion and a boxed
// value for every column of every row; a Result has none of that. One goroutine reads it.
type Result interface {
	// Width is how many columns it has.
	Width() int
	// Next moves to the next row; io.EOF after the last one. It fails once the context of the query has ended.
	Next() error
	// Value is a value of the row, nil for NULL. It is good until the next call of any method.
	Value(i int) (any, error)
	// Close gives the connection back, or closes one that is no good any more. It may be called again.
	Close() error
}

// direct reads a Result as rows reads sql.Rows.
type direct struct {
	ctx    context.Context
	st     *statement
	result Result
	err    error // why Next said false
}

// directly runs the statement past database/sql.
func (s *statement) directly(ctx context.Context, args []any) (source.Rows, error) {
	query := s.db.product.Query
	if query == nil {
		query = s.db.raw
	}
	result, err := query(ctx, s.text, args)
	if err != nil {
		return nil, s.db.Fail(ctx, "query", err)
	}
	if result.Width() != len(s.columns) {
		err := fmt.Errorf("%d columns came, not %d", result.Width(), len(s.columns))
		return nil, s.db.Fail(ctx, "query", errors.Join(err, result.Close()))
	}
	return &direct{ctx: ctx, st: s, result: result}, nil
}

// Next moves to the next row. Like sql.Rows it gives the connection back when there is none, and what fails then does not concern the rows.
func (r *direct) Next() bool {
	if r.err != nil {
		return false
	}
	if r.err = r.result.Next(); r.err == nil {
		return true
	}
	_ = r.result.Close()
	return false
}

// Scan decodes the row into dst, left to right.
func (r *direct) Scan(dst []change.Value, arena *change.Arena) error {
	if len(dst) != len(r.st.columns) {
		return r.st.db.Fail(r.ctx, "scan", fmt.Errorf("%d destinations for %d columns", len(dst), len(r.st.columns)))
	}
	if r.err != nil {
		return r.st.db.Fail(r.ctx, "scan", errNoRow)
	}
	var poison error
	for i := range dst {
		src, err := r.result.Value(i)
		if err != nil {
			return r.st.db.Fail(r.ctx, "scan", err)
		}
		if err := r.st.decode(i, &dst[i], src, arena); err != nil && poison == nil {
			poison = err
		}
	}
	return poison
}

var errNoRow = errors.New("there is no row")

// Err tells the end of the result (nil) from a failure.
func (r *direct) Err() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.st.db.Fail(r.ctx, "read rows", r.err)
}

// Close gives the connection back.
func (r *direct) Close() error {
	if r.err == nil {
		r.err = io.EOF
	}
	return r.st.db.Fail(r.ctx, "close rows", r.result.Close())
}
