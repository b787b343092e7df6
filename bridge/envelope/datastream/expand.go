package datastream

import (
	"errors"
	"fmt"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Expand gives the event itself, or for an UPDATE between whose images a key column differs two: UPDATE-DELETE of the old row, then
// UPDATE-INSERT of the new one. Both keep position, change sequence and transaction. It allocates only then, and where the new row lacks a
// column that the old one has.
func (e *Envelope) Expand(dst []*change.Event, ev *change.Event) []*change.Event {
	if ev.Op != change.OpUpdate || ev.Before == nil || ev.After == nil {
		return append(dst, ev)
	}
	ev = completed(ev)
	if !envelope.KeyChanged(ev, e.opts.KeyColumns) {
		return append(dst, ev)
	}
	gone, come := *ev, *ev
	gone.Op, gone.After, gone.Half, gone.Counterpart = change.OpDelete, nil, change.OldKey, ev.After
	come.Op, come.Before, come.Half, come.Counterpart = change.OpInsert, nil, change.NewKey, ev.Before
	return append(dst, &gone, &come)
}

// completed takes columns that the new row lacks from the old one: they were not captured because they did not change.
func completed(ev *change.Event) *change.Event {
	whole := ev
	for i := range ev.After {
		if ev.After[i].Kind != change.KindAbsent || ev.Before[i].Kind == change.KindAbsent || ev.HasChanged && ev.Changed.Has(i) {
			continue
		}
		if whole == ev {
			filled := *ev
			filled.After = slices.Clone(ev.After)
			whole = &filled
		}
		whole.After[i] = ev.Before[i]
	}
	return whole
}

// check refuses a new row with columns that were not captured, unless the user takes null for them (I6). Of a deleted row nothing but the key
// is needed.
func (v *version) check(ev *change.Event) error {
	if v.opts.Absent == AbsentNull {
		return nil
	}
	for i := range ev.After {
		if ev.After[i].Kind == change.KindAbsent {
			return fault.New(fault.Poison, "", fmt.Errorf("column %q was not captured, and readers would write null over the value they have", v.columns[i].Name),
				"capture the column with before-images, leave it out, or set datastream.absent: null")
		}
	}
	return nil
}

// errNoKey refuses to write a wrong key.
var errNoKey = errors.New("a key column was not captured")

func (v *version) checkKey(ev *change.Event) error {
	row := ev.Row()
	for _, i := range v.key {
		if i >= len(row) || row[i].Kind == change.KindAbsent {
			return errNoKey
		}
	}
	return nil
}
