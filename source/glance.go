package source

import (
	"context"
	"time"

	"ctbridge/bridge/change"
)

// glance is what a first look saw: a detection like that of any poll, whose mark waits for the tables to be known that are polled.
type glance struct {
	newest map[change.TableID]change.Position
	fence  Fence
	at     time.Time
}

// Glance looks at the newest positions before anything can be read, so that settle runs while the sink is opened. The first poll makes it a mark of
// the tables that it asks for; it weakens nothing, because the rows below a mark have to be there for as long as ever. Where no settle is in force it
// does nothing. No other method but Recall may be called meanwhile.
func (p *Poller) Glance(ctx context.Context, of func(change.TableID) bool) error {
	if p.guarded() || !p.horizon.settles() {
		return nil
	}
	found, err := p.layout.Discover(ctx)
	if err != nil {
		return err
	}
	var tables []*Captured
	for _, t := range found.Tables {
		if of(t.Table.ID) {
			tables = append(tables, t)
		}
	}
	newest, err := p.layout.Detect(ctx, tables)
	if err != nil {
		return err
	}
	seen := &glance{newest: make(map[change.TableID]change.Position, len(tables))}
	if seen.fence, err = p.horizon.fence(ctx); err != nil {
		return err
	}
	for i, t := range tables {
		if newest[i].Problem == nil {
			seen.newest[t.Table.ID] = newest[i].Position
		}
	}
	seen.at = p.horizon.now()
	p.glanced = seen
	return nil
}

// recollect makes the glance a mark. It comes before those of the poll.
func (p *Poller) recollect(tables []Progress) {
	seen := p.glanced
	if seen == nil {
		return
	}
	p.glanced = nil
	var highest change.Position
	for i := range tables {
		highest = max(highest, seen.newest[tables[i].Captured.Table.ID])
	}
	p.horizon.note(highest, seen.fence, seen.at)
}

// Due is how long it takes until the oldest rows that are seen and not readable yet have been there for settle; 0 where none are, or where something
// else holds them.
func (p *Poller) Due() time.Duration { return p.horizon.due() }
