package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// statement is a query with a fixed text; pgx keeps the server's handle per connection where the mode of the DSN allows it.
type statement struct {
	engine  *Engine
	sql     string
	columns []change.Column
}

// Query runs the statement.
func (s *statement) Query(ctx context.Context, args ...any) (source.Rows, error) {
	pool, err := s.engine.conns(ctx)
	if err != nil {
		return nil, err
	}
	result, err := pool.Query(ctx, s.sql, args...)
	if err != nil {
		return nil, fail(ctx, "query", err)
	}
	return &rows{ctx: ctx, columns: s.columns, result: result}, nil
}

// rows decodes a result from its wire bytes.
type rows struct {
	ctx      context.Context
	columns  []change.Column
	result   pgx.Rows
	decoders []decoder
}

// Next moves to the next row.
func (r *rows) Next() bool { return r.result.Next() }

// Err tells the end of the result (nil) from a failure.
func (r *rows) Err() error { return fail(r.ctx, "read rows", r.result.Err()) }

// Close reads the rest of the result and gives the connection back.
func (r *rows) Close() error {
	r.result.Close()
	return r.Err()
}

// Scan decodes the row into dst, left to right.
func (r *rows) Scan(dst []change.Value, arena *change.Arena) error {
	if r.decoders == nil {
		if err := r.compile(); err != nil {
			return err
		}
	}
	raw := r.result.RawValues()
	if len(dst) != len(r.decoders) || len(raw) != len(r.decoders) {
		return fault.New(fault.Retry, "scan", fmt.Errorf("%d destinations, %d values for %d columns", len(dst), len(raw), len(r.decoders)), "")
	}
	var bad error
	for i, decode := range r.decoders {
		if raw[i] == nil {
			dst[i] = change.Null
			continue
		}
		if err := decode(&dst[i], raw[i], arena); err != nil {
			if bad == nil {
				bad = poison(r.columns[i], err)
			}
			dst[i] = change.UndecodedValue(arena.Copy(sent(err, raw[i])))
		}
	}
	return bad
}

// sent is the text of a value that could not be decoded, or its wire form where it has no text.
func sent(cause error, wire []byte) []byte {
	var u unfit
	if errors.As(cause, &u) && u.value != "" {
		return []byte(u.value)
	}
	return wire
}

// compile chooses the decoders for the types and formats that the server announced.
func (r *rows) compile() error {
	fields := r.result.FieldDescriptions()
	if len(fields) != len(r.columns) {
		return fault.New(fault.Retry, "scan", fmt.Errorf("the result has %d columns, %d were expected", len(fields), len(r.columns)), "")
	}
	decoders := make([]decoder, len(fields))
	for i, f := range fields {
		c := codecOf(f.DataTypeOID)
		decoders[i] = c.text
		if f.Format == pgx.BinaryFormatCode {
			decoders[i] = c.binary
		}
		if decoders[i] == nil || !c.holds(r.columns[i].Type.Kind) {
			err := fmt.Errorf("column %q is not of type %s", r.columns[i].Name, r.columns[i].Native)
			return fault.New(fault.Retry, "scan", err, "the table has changed since it was described; it is described anew before the next try")
		}
	}
	r.decoders = decoders
	return nil
}

// unfit is a value that no kind can carry: its text, why, and what can be done.
type unfit struct{ value, why, hint string }

func (u unfit) Error() string { return u.why }

// poison is the error of a value that its column cannot hold exactly (I6).
func poison(c change.Column, cause error) error {
	var u unfit
	errors.As(cause, &u)
	return fault.New(fault.Poison, "decode column "+strconv.Quote(c.Name), fmt.Errorf("value %q of type %s: %w", u.value, c.Native, cause), u.hint)
}
