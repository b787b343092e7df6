package bridge

import (
	"context"
	"reflect"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

// Expectation renders events as an output of a task publishes them, for whoever compares. Nothing is published; the output's format may register
// schemas. The counters count what was rendered.
type Expectation struct {
	runner *Runner
	tables map[change.TableID]*table
}

// The reasons for which no message is expected of an event, beside those under which dropped rows are counted.
const (
	LeftBad          = "bad"          // the row cannot be read
	LeftUnrenderable = "unrenderable" // the output cannot carry it
)

// NewExpectation takes the options of the task with the one output that is looked at.
func NewExpectation(src Source, o Options) *Expectation {
	r := New(src, nil, o)
	r.sequencer = newSequencer(o.outputNames(), nil)
	return &Expectation{runner: r, tables: make(map[change.TableID]*table)}
}

// Span prepares a table to be read as far as it was published: under the structures that its rows were published with, as far as the checkpoint still
// knows them. The state is used up.
func (e *Expectation) Span(captured *source.Captured, state *checkpoint.Table) (source.Span, error) {
	now := captured.Table.Columns
	plan, err := e.runner.options.Values.Plan(captured.Table)
	if err != nil {
		return source.Span{}, err
	}
	if newest := state.Newest(); newest == nil || !reflect.DeepEqual(newest.Columns, now) || newest.Shape != plan.Shape() {
		state.Restructure(now, captured.Memo, max(state.Verified, state.Position))
	}
	captured.Table.Version = state.Newest().Version
	t := &table{id: captured.Table.ID, captured: captured, state: state}
	e.runner.readEarlier(t)
	return source.Span{Captured: captured, Upto: state.Position, Earlier: t.earlier}, nil
}

// Metadata gives the messages that come before the first record of a table version.
func (e *Expectation) Metadata(ctx context.Context, version *change.Table) ([]change.Record, error) {
	n, err := e.runner.rendererOf(ctx, e.table(version.ID), version)
	if err != nil {
		return nil, err
	}
	return n.outputs[0].notices, nil
}

// Records gives the records of an event; they live until the next call. left is why there are none. Events of a table come in order.
func (e *Expectation) Records(ctx context.Context, ev *change.Event) (records []change.Record, left string, err error) {
	r, t := e.runner, e.table(ev.Table.ID)
	r.batch.reset()
	again := ev.Position == t.came
	t.came = ev.Position
	switch {
	case again && r.options.Deduplicate > 0:
		return nil, DroppedDuplicate, nil
	case ev.Op == change.OpTruncate:
		return nil, DroppedTruncate, nil
	case ev.Bad != nil:
		return nil, LeftBad, nil
	case r.unchanged(t, ev):
		r.skipped = r.skipped[:0]
		return nil, DroppedUnchanged, nil
	}
	n, err := r.rendererOf(ctx, t, ev.Table)
	if err != nil {
		return nil, "", err
	}
	r.changes.give(ev)
	if err := r.renderRow(ctx, t, n, ev, true); err != nil {
		if fault.ClassOf(err) == fault.Poison {
			return nil, LeftUnrenderable, nil
		}
		return nil, "", err
	}
	r.changes.published()
	for _, record := range r.batch.pending {
		if record.Topic == n.outputs[0].topic { // and not another that the output tells of transactions on
			records = append(records, record)
		}
	}
	return records, "", nil
}

func (e *Expectation) table(id change.TableID) *table {
	t := e.tables[id]
	if t == nil {
		t = &table{id: id, rendered: make(map[int]*renderer), plans: make(map[int]*values.Plan), sequencer: newSequencer(e.runner.sequencer.outputs, nil), state: &checkpoint.Table{ID: id}}
		e.tables[id] = t
	}
	return t
}
