package qlik

import "ctbridge/bridge/change"

// Expand gives the event itself, or with KeyChange delete_insert, for an UPDATE between whose images a key column differs, the DELETE of
// the old row and the INSERT of the new one: consumers of a compacted topic get rid of the old key that way. Both keep the position, the
// change sequence and the transaction of the UPDATE. It allocates only then.
func (e *Envelope) Expand(dst []*change.Event, ev *change.Event) []*change.Event {
	if e.opts.KeyChange != AsDeleteInsert || !e.keyChanged(ev) {
		return append(dst, ev)
	}
	return append(dst, e.deletion(ev), insertion(ev))
}

// keyChanged reports whether a column of the primary key or of the chosen message key has another value than before.
func (e *Envelope) keyChanged(ev *change.Event) bool {
	if ev.Op != change.OpUpdate || ev.Before == nil || ev.After == nil {
		return false
	}
	for _, i := range ev.Table.Key {
		if differ(ev.Before[i], ev.After[i]) {
			return true
		}
	}
	for _, name := range e.opts.KeyColumns {
		if i := ev.Table.ColumnIndex(name); i >= 0 && differ(ev.Before[i], ev.After[i]) {
			return true
		}
	}
	return false
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
