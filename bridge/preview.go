package bridge

import (
	"context"
	"math"
	"time"

	"ctbridge/bridge/change"
)

// Preview renders one event as an output would publish it, as the only one of its transaction: the metadata that would come first, and the records.
// Nothing is published; the output's format may register schemas.
func Preview(ctx context.Context, o Output, headers Format, ev *change.Event) (metadata, records []change.Record, err error) {
	r := &Runner{options: Options{Outputs: []Output{o}, Headers: headers, MaxRecordBytes: math.MaxInt, Now: time.Now}}
	r.sequencer = newSequencer(r.options.outputNames(), nil)
	n, err := r.compile(ctx, ev.Table)
	if err != nil {
		return nil, nil, err
	}
	r.changes.give(ev)
	t := &table{id: ev.Table.ID, sequencer: newSequencer(r.sequencer.outputs, nil)}
	if err := r.renderRow(ctx, t, n, ev, true); err != nil {
		return nil, nil, err
	}
	return n.outputs[0].notices, r.batch.pending, nil
}
