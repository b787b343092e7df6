package source

import (
	"context"
	"errors"

	"ctbridge/bridge/change"
)

// EachRow runs a statement and calls use for every row of so many values; they live until use returns.
func EachRow(ctx context.Context, s Statement, width int, use func(row []change.Value) error, args ...any) error {
	rows, err := s.Query(ctx, args...)
	if err != nil {
		return err
	}
	row := make([]change.Value, width)
	for rows.Next() {
		var arena change.Arena
		err := rows.Scan(row, &arena)
		if err == nil {
			err = use(row)
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
