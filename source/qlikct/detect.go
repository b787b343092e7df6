package qlikct

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// detection caches the detection statement of the last set of tables.
type detection struct {
	mu        sync.Mutex
	text      string
	statement source.Statement
}

var detectColumns = []change.Column{
	{Name: "t", Type: change.Type{Kind: change.Int8}},
	{Name: "newest", Type: change.Type{Kind: change.String, Length: SequenceLength}, Nullable: true},
	{Name: "nulls", Type: change.Type{Kind: change.Int8}},
}

// Detect asks for the newest sequence of every table in one query.
func (l *Layout) Detect(ctx context.Context, tables []*source.Captured) ([]source.Newest, error) {
	if len(tables) == 0 {
		return nil, nil
	}
	out, err := l.detect(ctx, tables)
	if err == nil || fault.ClassOf(err) != fault.Table || len(tables) == 1 {
		return withProblem(out, err, len(tables))
	}
	// One table spoils the query for all: find out which.
	out = make([]source.Newest, len(tables))
	for i := range tables {
		one, err := l.Detect(ctx, tables[i:i+1])
		if err != nil {
			return nil, err
		}
		out[i] = one[0]
	}
	return out, nil
}

// withProblem turns an error that concerns the only table into that table's problem.
func withProblem(out []source.Newest, err error, tables int) ([]source.Newest, error) {
	if err != nil && tables == 1 && fault.ClassOf(err) == fault.Table {
		return []source.Newest{{Problem: err}}, nil
	}
	return out, err
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
	text := strings.Join(selects, "\n")
	l.detected.mu.Lock()
	defer l.detected.mu.Unlock()
	if l.detected.text != text {
		l.detected.text, l.detected.statement = text, l.engine.Prepare(l.engine.Union(selects), detectColumns)
	}
	return l.detected.statement
}
