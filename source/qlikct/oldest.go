package qlikct

import (
	"context"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Oldest asks for the low end of a change table: two look-ups in the index of the sequence.
func (l *Layout) Oldest(ctx context.Context, t *source.Captured, at change.Position) (change.Position, bool, error) {
	var arena change.Arena
	row, _, err := queryRow(ctx, readerOf(t).q.oldest, &arena, 2, string(at))
	if err != nil {
		return "", false, err
	}
	return change.Position(row[0].Raw), row[1].Num != 0, nil
}
