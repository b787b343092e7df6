package sqlservercdc

import (
	"context"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

var detectColumns = []change.Column{
	column("t", change.Int8), column("lsn", change.Bytes), column("cmd", change.Int8), column("seqval", change.Bytes), column("op", change.Int8),
}

// Detect asks for the newest row of every table in one query.
func (l *Layout) Detect(ctx context.Context, tables []*source.Captured) ([]source.Newest, error) {
	return source.DetectApart(tables, func(tables []*source.Captured) ([]source.Newest, error) { return l.detect(ctx, tables) }, l.denied)
}

func (l *Layout) detect(ctx context.Context, tables []*source.Captured) ([]source.Newest, error) {
	out := make([]source.Newest, len(tables))
	err := source.EachRow(ctx, l.detection(tables), len(detectColumns), func(row []change.Value) error {
		n := &out[row[0].Num]
		n.Position = max(n.Position, keyOf(row[1:]).event())
		return nil
	})
	return out, err
}

// denied names the table and, where the trouble may be a right, the rights that reading takes (case 90).
func (l *Layout) denied(t *source.Captured, err error) error {
	hint := "GRANT SELECT ON SCHEMA::" + l.options.Schema + " to the login"
	parts := readerOf(t).physical.parts
	if role := parts[len(parts)-1].instance.role; role != "" {
		hint += ", and make it a member of the gating role " + role
	}
	return fault.New(fault.Table, "read "+t.Changes.String(), err, hint)
}

// detection gives the statement for a set of tables; its text depends only on the set.
func (l *Layout) detection(tables []*source.Captured) source.Statement {
	var selects []string
	for i, t := range tables {
		for _, p := range readerOf(t).physical.parts {
			selects = append(selects, (&builder{dialect: l.engine, part: p}).newest(i))
		}
	}
	return l.detected.Statement(l.engine, selects, detectColumns)
}

// keyOf reads the four key columns at the beginning of a row.
func keyOf(row []change.Value) key {
	return key{lsn: row[0].Raw, cmd: row[1].Num, seq: row[2].Raw, op: row[3].Num}
}

// event is the position of the event that a row belongs to: a before-image leaves with its update.
func (k key) event() change.Position {
	if k.op == opBefore {
		k.op = opAfter
	}
	return k.position()
}
