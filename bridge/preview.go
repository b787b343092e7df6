package bridge

import (
	"context"
	"math"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/values"
)

// Preview renders one event as an output would publish it, under the rules of columns, as the only one of its transaction: the metadata that would come first, and the records.
// Nothing is published; the output's format may register schemas.
func Preview(ctx context.Context, o Output, headers Format, rules *values.Rules, ev *change.Event) (metadata, records []change.Record, err error) {
	r := &Runner{options: Options{Outputs: []Output{o}, Headers: headers, Values: rules, MaxRecordBytes: math.MaxInt, Now: time.Now}}
	r.sequencer = newSequencer(r.options.outputNames(), nil)
	if err := rules.Check(ev.Table); err != nil {
		return nil, nil, err
	}
	t := &table{id: ev.Table.ID, sequencer: newSequencer(r.sequencer.outputs, nil), plans: make(map[int]*values.Plan)}
	n, err := r.compile(ctx, t, ev.Table)
	if err != nil {
		return nil, nil, err
	}
	r.changes.give(ev)
	if err := r.renderRow(ctx, t, n, ev, true); err != nil {
		return nil, nil, err
	}
	return n.outputs[0].notices, r.batch.pending, nil
}
