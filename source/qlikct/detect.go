package qlikct

import (
	"context"
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

var detectColumns = []change.Column{
	{Name: "t", Type: change.Type{Kind: change.Int8}},
	{Name: "newest", Type: change.Type{Kind: change.String, Length: SequenceLength}, Nullable: true},
	{Name: "nulls", Type: change.Type{Kind: change.Int8}},
}

// Detect asks for the newest sequence of every table in one query.
func (l *Layout) Detect(ctx context.Context, tables []*source.Captured) ([]source.Newest, error) {
	return source.DetectApart(tables, func(tables []*source.Captured) ([]source.Newest, error) { return l.detect(ctx, tables) },
		func(_ *source.Captured, err error) error { return err })
}

func (l *Layout) detect(ctx context.Context, tables []*source.Captured) ([]source.Newest, error) {
	rows, err := l.detection(tables).Query(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]source.Newest, len(tables))
	row := make([]change.Value, len(detectColumns))
	var arena change.Arena
	for rows.Next() {
		if err := rows.Scan(row, &arena); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		out[row[0].Num] = newestOf(tables[row[0].Num], row)
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

func newestOf(t *source.Captured, row []change.Value) source.Newest {
	n := source.Newest{Position: change.Position(row[1].Raw)}
	if row[2].Num != 0 {
		n.Problem = fault.New(fault.Table, "read "+t.Changes.String(), errors.New("a row has no change sequence (NULL): it cannot be ordered"),
			"repair or delete the row; nothing is skipped by itself")
		return n
	}
	if row[1].HasContent() {
		if err := checkSequence(string(row[1].Raw)); err != nil {
			n.Problem = fault.New(fault.Table, "read "+t.Changes.String(), err, "repair or delete the row")
		}
	}
	return n
}

// detection gives the statement for a set of tables; its text depends only on the set.
func (l *Layout) detection(tables []*source.Captured) source.Statement {
	selects := make([]string, len(tables))
	for i, t := range tables {
		selects[i] = fmt.Sprintf("SELECT %d AS t, %s", i, readerOf(t).q.newest)
	}
	return l.detected.Statement(l.engine, selects, detectColumns)
}
