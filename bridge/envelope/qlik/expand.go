package qlik

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Expand gives the event itself, or with KeyChange delete_insert, for an UPDATE between whose images a key column differs, the DELETE of
// the old row and the INSERT of the new one: consumers of a compacted topic get rid of the old key that way. Both keep the position, the
// change sequence and the transaction of the UPDATE. It allocates only then.
func (e *Envelope) Expand(dst []*change.Event, ev *change.Event) []*change.Event {
	if e.opts.KeyChange == AsDeleteInsert && (envelope.KeyChanged(ev, nil) || envelope.KeyChanged(ev, e.opts.KeyColumns)) {
		return append(dst, e.deletion(ev), insertion(ev))
	}
	return append(dst, ev)
}

func (e *Envelope) deletion(ev *change.Event) *change.Event {
	d := *ev
	d.Op, d.After = change.OpDelete, nil
	d.Changed, d.HasChanged = make(change.Mask, change.MaskBytes(len(ev.Before))), true
	for _, i := range e.opts.rowKey(ev.Table) {
		d.Changed.Set(i)
	}
	return &d
}

func insertion(ev *change.Event) *change.Event {
	n := *ev
	n.Op, n.Before = change.OpInsert, nil
	n.Changed, n.HasChanged = make(change.Mask, change.MaskBytes(len(ev.After))), true
	presentIn(n.Changed, ev.After)
	return &n
}
