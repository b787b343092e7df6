package bridge

import (
	"context"
	"slices"

	"ctbridge/bridge/change"
)

// kept is a row that is rendered and not handed over yet. Where bad rows become dead letters, the newest good row of an open transaction waits for the
// next good one. If only bad ones follow, it is told again as the last of its transaction, so that a last flag always comes (I4).
//
// It takes no part in a commit: before one its numbers are given back, and after it it is rendered anew.
type kept struct {
	table    *table // nil = nothing is kept
	renderer *renderer
	event    *change.Event
	origin   string

	events  []countedEvent
	records []change.Record
	headers []change.Header
	slab    []byte       // the bytes of the records
	behind  []skippedRow // rows between it and the next good one, in order
	bytes   int          // of the letters among them

	// What was so before it was numbered.
	counts, tableCounts []int64
	sequence            []byte // last one that the runner had given
	given               bool   // it has one that the runner gave
}

// mostBehind bounds how many rows may wait behind a kept one (I10): a transaction that ends with more bad rows than that has no last flag.
const mostBehind = 1000

// keepBack keeps the row that was rendered last, with the rows that were left out behind it.
func (r *Runner) keepBack(t *table, n *renderer, ev *change.Event) {
	k := &r.kept
	k.table, k.renderer, k.event, k.origin, k.bytes = t, n, ev, r.batch.origin, 0
	k.behind, r.skipped = append(k.behind[:0], r.skipped...), r.skipped[:0]
	k.take(r)
}

// take moves the rendered records out of the batch, and notes what giving their numbers back must restore.
func (k *kept) take(r *Runner) {
	b := &r.batch
	k.events, b.events = b.events, k.events[:0]
	k.records, b.pending = b.pending, k.records[:0]
	k.headers, b.headers = b.headers, k.headers[:0]
	k.slab, b.slab = b.slab, k.slab[:0]
	k.counts, k.tableCounts = append(k.counts[:0], r.sequencer.before...), append(k.tableCounts[:0], k.table.sequencer.before...)
	k.sequence = append(k.sequence[:0], r.changes.last...)
	k.given = r.changes.published()
}

// mayKeep tells that a row may have to become the last of its transaction after all. Rows of equal position leave together, lest a commit part
// them (I2).
func (r *Runner) mayKeep(ev *change.Event, last bool) bool {
	return r.options.BadRows.Topic != "" && !last && len(ev.TransactionID) > 0 && ev.Position != r.handed
}

// inUse is the row that waits here, nil when none does.
func (k *kept) inUse() *change.Event {
	if k.table == nil {
		return nil
	}
	return k.event
}

// holds tells that rows of a table wait here.
func (k *kept) holds(t *table) bool {
	return k.table != nil && (k.table == t || slices.ContainsFunc(k.behind, func(s skippedRow) bool { return s.table == t }))
}

// setAside gives the numbers of the kept row back.
func (r *Runner) setAside() {
	k := &r.kept
	if k.table == nil || len(k.event.TransactionID) == 0 {
		return
	}
	copy(r.sequencer.transaction(k.event.TransactionID).counts, k.counts)
	copy(k.table.sequencer.transaction(k.event.TransactionID).counts, k.tableCounts)
	if k.given {
		k.event.ChangeSequence = nil
		r.changes.last = append(r.changes.last[:0], k.sequence...)
	}
}

// takeUp numbers and renders the kept row anew.
func (r *Runner) takeUp(ctx context.Context, last bool) error {
	k := &r.kept
	if k.table == nil {
		return nil
	}
	r.batch.origin = k.origin
	r.changes.give(k.event)
	if err := r.renderRow(ctx, k.table, k.renderer, k.event, last); err != nil {
		return r.tableFault(StageRender, &change.TableError{Table: k.table.id, Err: err})
	}
	k.take(r)
	return nil
}

// release hands the kept row over, as it was rendered or as the last of its transaction, and then what lies behind it.
func (r *Runner) release(ctx context.Context, last bool) error {
	k := &r.kept
	if k.table == nil {
		return nil
	}
	if last {
		r.setAside()
		if err := r.takeUp(ctx, true); err != nil {
			return err
		}
	}
	t := k.table
	k.table = nil
	for i := range k.records {
		if err := r.send(ctx, &k.records[i]); err != nil {
			return r.tableFault(StagePublish, err)
		}
	}
	r.note(t, k.event, k.events)
	r.handed = k.event.Position
	return r.pass(ctx, k.behind)
}

// letGo forgets the kept row and the letters behind it: they are read again.
func (r *Runner) letGo() {
	k := &r.kept
	if k.table == nil {
		return
	}
	r.setAside()
	k.table.at, k.table = "", nil
	for _, row := range k.behind {
		row.table.at = ""
		if q := r.letters.quotas[row.table.id]; q != nil && row.letter != nil {
			q.now = max(q.now-1, q.committed)
		}
	}
}
