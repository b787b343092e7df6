package qlik

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// maskWidth is how many bytes a message's mask over n columns takes: 3 columns 1, 16 columns 3, 117 columns 15 (widths seen on the wire).
func maskWidth(n int) int { return n/8 + 1 }

// masks computes the two masks of an event over the data columns: bit i stands for ordinal i+1, without any header offset.
type masks struct {
	maskable change.Mask // every column that is not a large object
	key      change.Mask // the columns that tell rows apart, large objects excepted; empty where there are none
}

func newMasks(columns []column, key []int) *masks {
	m := &masks{maskable: make(change.Mask, change.MaskBytes(len(columns)))}
	for i := range columns {
		if !columns[i].typ.lob() {
			m.maskable.Set(i)
		}
	}
	if len(key) == 0 {
		return m
	}
	m.key = make(change.Mask, len(m.maskable))
	for _, i := range key {
		if m.maskable.Has(i) {
			m.key.Set(i)
		}
	}
	return m
}

// changed is headers.changeMask: what the source reported; the key columns for a DELETE of a table with a key; for an UPDATE whose source reports nothing, the
// columns that differ between its images. Else, and for REFRESH, null: no exact mask can be told.
func (m *masks) changed(ev *change.Event, scratch *envelope.Scratch) change.Value {
	switch {
	case ev.Op == change.OpRefresh:
		return change.Null
	case ev.Op == change.OpDelete && len(m.key) > 0:
		return change.BytesValue(m.key)
	case ev.HasChanged:
		return change.BytesValue(m.reported(ev.Changed, scratch))
	case ev.Op == change.OpUpdate && ev.Before != nil && ev.After != nil:
		return change.BytesValue(m.compared(ev.Before, ev.After, scratch))
	}
	return change.Null
}

// present is headers.columnMask: the columns that were captured in the row the message shows, NULL or not.
func (m *masks) present(ev *change.Event, scratch *envelope.Scratch) change.Value {
	if ev.Op == change.OpRefresh {
		return change.Null
	}
	mask := cleared(scratch, len(m.maskable))
	presentIn(mask, ev.Row())
	return change.BytesValue(mask)
}

func (m *masks) reported(source change.Mask, scratch *envelope.Scratch) change.Mask {
	mask := cleared(scratch, len(m.maskable))
	for i := range min(len(mask), len(source)) {
		mask[i] = source[i] & m.maskable[i]
	}
	return mask
}

func (m *masks) compared(before, after []change.Value, scratch *envelope.Scratch) change.Mask {
	mask := cleared(scratch, len(m.maskable))
	for i := range after {
		if m.maskable.Has(i) && envelope.Differ(&before[i], &after[i]) {
			mask.Set(i)
		}
	}
	return mask
}

func presentIn(mask change.Mask, row []change.Value) {
	for i := range row {
		if row[i].Kind != change.KindAbsent {
			mask.Set(i)
		}
	}
}

// cleared makes an empty mask of n bytes in the scratch buffer.
func cleared(scratch *envelope.Scratch, n int) change.Mask {
	if cap(*scratch) < n {
		*scratch = make(envelope.Scratch, n)
	}
	*scratch = (*scratch)[:n]
	clear(*scratch)
	return change.Mask(*scratch)
}
