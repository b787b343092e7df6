package bridge

import (
	"context"
	"slices"
	"strings"

	"ctbridge/bridge/change"
)

// bounds publishes where transactions begin and end, on a topic of the output's own. A transaction begins with its first published event, whose
// counter is 1, and ends behind its last one. The messages leave in the commit of that event, as the counters do: bounds and counters cannot disagree,
// whatever happens between two commits (I4, I5). A row that comes late to a transaction that has ended ends it again, with the counts of then.
type bounds struct {
	*Output
	compiled map[int]*bound // by the number of tables that the message tells of
	names    map[change.TableID][]byte
	event    change.Event
	row      []change.Value // its After: names and counts of tables
	tally    []tableCount
}

// bound writes the messages of one number of tables; none is a begin.
type bound struct{ value, key Encoder }

// tableCount is how many events of a transaction a table has.
type tableCount struct {
	id     change.TableID
	events int64
}

func newBounds(outputs []Output) (all []*bounds) {
	for i := range outputs {
		if outputs[i].Bounds == nil {
			continue
		}
		if all == nil {
			all = make([]*bounds, len(outputs))
		}
		all[i] = &bounds{Output: &outputs[i], compiled: make(map[int]*bound), names: make(map[change.TableID][]byte), row: []change.Value{}}
	}
	return all
}

// compileBounds registers the schema of an output's bounds before the first record of any table (I9).
func (r *Runner) compileBounds(ctx context.Context, output int) error {
	if r.bounds == nil || r.bounds[output] == nil {
		return nil
	}
	_, err := r.bounds[output].of(ctx, 0)
	return err
}

// of gives the encoders for a number of tables. All numbers have one schema: after the first the registry is not asked again.
func (b *bounds) of(ctx context.Context, tables int) (*bound, error) {
	if c := b.compiled[tables]; c != nil {
		return c, nil
	}
	declared := b.Bounds.DeclareBound(tables)
	value, err := b.Format.Value(ctx, b.BoundsTopic, declared.Value)
	if err != nil {
		return nil, err
	}
	key, err := b.Format.Key(ctx, b.BoundsTopic, declared.Key)
	if err != nil {
		return nil, err
	}
	b.compiled[tables] = &bound{value: value, key: key}
	return b.compiled[tables], nil
}

// begin renders the begin of an event's transaction, if the event is its first.
func (r *Runner) begin(ctx context.Context, output int, ev *change.Event) error {
	if r.bounds == nil || r.bounds[output] == nil || ev.Counter != 1 {
		return nil
	}
	b := r.bounds[output]
	b.event = change.Event{Table: ev.Table, Position: ev.Position, TransactionID: ev.TransactionID, Timestamp: ev.Timestamp, After: b.row[:0]}
	return r.renderBound(ctx, b, 0)
}

// end renders the end of an event's transaction, if the event is its last.
func (r *Runner) end(ctx context.Context, output int, ev *change.Event, of *transaction) error {
	if r.bounds == nil || r.bounds[output] == nil || !ev.Last {
		return nil
	}
	b := r.bounds[output]
	r.count(b, output, of)
	b.event = change.Event{
		Table: ev.Table, Position: ev.Position, TransactionID: ev.TransactionID, Timestamp: ev.Timestamp, Counter: ev.Counter, Last: true,
	}
	b.row = b.row[:0]
	for _, c := range b.tally {
		b.row = append(b.row, change.TextValue(b.nameOf(c.id)), change.IntValue(c.events))
	}
	b.event.After = b.row
	return r.renderBound(ctx, b, len(b.tally))
}

func (r *Runner) renderBound(ctx context.Context, b *bounds, tables int) error {
	encoders, err := b.of(ctx, tables)
	if err != nil {
		return err
	}
	record := change.Record{Table: b.event.Table.ID, Topic: b.BoundsTopic}
	if record.Value, err = encoders.value.Append(r.batch.space(), &b.event); err != nil {
		return err
	}
	record.Value = r.batch.keep(record.Value)
	if record.Key, err = encoders.key.Append(r.batch.space(), &b.event); err != nil {
		return err
	}
	record.Key = r.batch.keep(record.Key)
	r.batch.pending = append(r.batch.pending, record)
	return nil
}

func (b *bounds) nameOf(id change.TableID) []byte {
	if b.names[id] == nil {
		b.names[id] = []byte(b.Bounds.Collection(id))
	}
	return b.names[id]
}

// count tallies a transaction by table, in the order of their names. Of one that began before this session the checkpoint knows the tables, also
// those that cannot be read now.
func (r *Runner) count(b *bounds, output int, of *transaction) {
	b.tally = b.tally[:0]
	add := func(id change.TableID, events int64) {
		if events > 0 {
			b.tally = append(b.tally, tableCount{id, events})
		}
	}
	if !of.resumed {
		for _, t := range of.tables {
			add(t.id, t.sequencer.countOf(of.id, output))
		}
	} else {
		for id, state := range r.state.Tables {
			if t := r.tables[id]; t != nil {
				add(id, t.sequencer.countOf(of.id, output))
				continue
			}
			for i := range state.Transactions {
				if state.Transactions[i].ID == of.id {
					add(id, state.Transactions[i].Of(b.Name))
				}
			}
		}
	}
	slices.SortFunc(b.tally, func(x, y tableCount) int { return strings.Compare(x.id.String(), y.id.String()) })
}

// countOf gives the number of a transaction's events; 0 for one that is not known.
func (s *sequencer) countOf(id string, output int) int64 {
	for i := len(s.recent) - 1; i >= 0; i-- {
		if s.recent[i].id == id {
			return s.recent[i].counts[output]
		}
	}
	return 0
}
