package source

import (
	"context"

	"ctbridge/bridge/change"
)

// Span is a range of one table to be read beside the task: positions above After, up to Upto.
type Span struct {
	Captured    *Captured
	After, Upto change.Position
	Earlier     []Earlier // structures that rows in it have, oldest first
}

// ReadSpans reads ranges whatever the horizon: who asks knows that they are complete. Close of the result must be called.
func (p *Poller) ReadSpans(ctx context.Context, spans []Span) *Merge {
	w := &Window{}
	for _, s := range spans {
		if s.After < s.Upto {
			w.readings = append(w.readings, *chain(Progress{Captured: s.Captured, Earlier: s.Earlier}, s.After, s.Upto, nil))
		}
	}
	return p.Read(ctx, w)
}

// Count tells how many events a table has above one position, up to another.
func (p *Poller) Count(ctx context.Context, t *Captured, after, upto change.Position) (int64, error) {
	return p.layout.Count(ctx, t, after, upto)
}

// Oldest gives the lowest position that a change table holds, empty where it is empty.
func (p *Poller) Oldest(ctx context.Context, t *Captured) (change.Position, error) {
	oldest, _, err := p.layout.Oldest(ctx, t, "")
	return oldest, err
}
