package sqldb

import (
	"context"
	"database/sql"
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// statement is a query with a fixed text and one decoder per column.
type statement struct {
	db       *DB
	text     string
	columns  []change.Column
	decoders []Decode
}

// Query runs the statement.
func (s *statement) Query(ctx context.Context, args ...any) (source.Rows, error) {
	if err := s.decodable(); err != nil {
		return nil, err
	}
	if bind := s.db.product.Bind; bind != nil {
		bound := make([]any, len(args))
		for i, a := range args {
			bound[i] = bind(a)
		}
		args = bound
	}
	if s.db.product.Query != nil || s.db.product.Raw {
		return s.directly(ctx, args)
	}
	result, err := s.run(ctx, args)
	if err != nil {
		return nil, s.db.Fail(ctx, "query", err)
	}
	return newRows(ctx, s, result), nil
}

// decodable refuses a column without decoder before the server is asked.
func (s *statement) decodable() error {
	for i, c := range s.columns {
		if s.decoders[i] == nil {
			err := errors.New("no decoder for type " + c.Native + " of column " + c.Name)
			return fault.New(fault.Table, "query", err, "leave the column out")
		}
	}
	return nil
}

// run sends the query. A statement without arguments goes as plain text unless the product wants it prepared; database/sql keeps the
// prepared statement until its rows are closed.
func (s *statement) run(ctx context.Context, args []any) (*sql.Rows, error) {
	if len(args) > 0 || !s.db.product.Prepared {
		return s.db.pool.QueryContext(ctx, s.text, args...)
	}
	prepared, err := s.db.pool.PrepareContext(ctx, s.text)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	return prepared.QueryContext(ctx)
}

// decode decodes a value of column i. One that does not fit is there as it was sent, and the error is its fault.Poison.
func (s *statement) decode(i int, dst *change.Value, src any, arena *change.Arena) error {
	if src == nil {
		*dst = change.Null
		return nil
	}
	err := s.decoders[i](dst, src, arena)
	if err != nil {
		err = Poison(s.columns[i], src, err)
		*dst = change.UndecodedValue(arena.Copy(sent(src)))
	}
	return err
}
