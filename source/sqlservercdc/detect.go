package sqlservercdc

import (
	"context"
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
	column("t", change.Int8), column("lsn", change.Bytes), column("cmd", change.Int8), column("seqval", change.Bytes), column("op", change.Int8),
}

// Detect asks for the newest row of every table in one query.
func (l *Layout) Detect(ctx context.Context, tables []*source.Captured) ([]source.Newest, error) {
	if len(tables) == 0 {
		return nil, nil
	}
	out := make([]source.Newest, len(tables))
	err := each(ctx, l.detection(tables), len(detectColumns), func(row []change.Value) error {
		n := &out[row[0].Num]
		n.Position = max(n.Position, keyOf(row[1:]).event())
		return nil
	})
	if err == nil || fault.ClassOf(err) != fault.Table {
		return out, err
	}
	if len(tables) == 1 {
		return []source.Newest{{Problem: l.denied(tables[0], err)}}, nil
	}
	// One table spoils the query for all: find out which.
	for i := range tables {
		one, err := l.Detect(ctx, tables[i:i+1])
		if err != nil {
			return nil, err
		}
		out[i] = one[0]
	}
	return out, nil
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
	text := strings.Join(selects, "\n")
	l.detected.mu.Lock()
	defer l.detected.mu.Unlock()
	if l.detected.text != text {
		l.detected.text, l.detected.statement = text, l.engine.Prepare(l.engine.Union(selects), detectColumns)
	}
	return l.detected.statement
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
