package qlikct

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// addEvent appends the event of one row. header holds the header columns, data the row image, before the before-image or nil.
func (r *reader) addEvent(page *source.Page, header, data, before []change.Value) error {
	ev := change.Event{Table: r.table, Position: r.position(header), ChangeSequence: header[r.slots.sequence].Raw}
	if err := checkSequence(string(ev.Position)); err != nil {
		return r.refuse(header, err)
	}
	if err := r.fill(page, header, data, before, &ev); err != nil {
		err = r.refuse(header, &change.HeaderError{Err: err})
		if !r.captured.KeepBad {
			return err
		}
		ev.Bad = err
	}
	switch {
	case ev.Bad != nil:
	case len(r.bad) > 0 && undecoded(header):
		ev.Bad = &change.HeaderError{Err: r.bad[ev.Position]}
	case len(r.bad) > 0 && (undecoded(data) || undecoded(before)):
		ev.Bad = r.bad[ev.Position]
	}
	var odd *change.HeaderError
	if !errors.As(ev.Bad, &odd) {
		r.markAbsent(&ev)
	}
	page.Events = append(page.Events, ev)
	return nil
}

// fill sets what the header tells, and the images as the operation has them. After an error both images are there all the same.
func (r *reader) fill(page *source.Page, header, data, before []change.Value, ev *change.Event) (err error) {
	ev.StreamPosition = r.optional(header, r.slots.streamPosition)
	ev.TransactionID = r.optional(header, r.slots.transactionID)
	ev.After, ev.Before = data, before
	if ev.Op, err = r.operation(header); err != nil {
		return err
	}
	switch ev.Op {
	case change.OpDelete:
		ev.After, ev.Before = nil, data
	case change.OpTruncate:
		ev.After, ev.Before = nil, nil
	default:
	}
	if ev.Timestamp, err = r.timestamp(header); err != nil {
		return err
	}
	return r.setMask(page, header, ev)
}

// undecoded tells that one of the values is not what its column should hold.
func undecoded(values []change.Value) bool {
	return slices.ContainsFunc(values, func(v change.Value) bool { return v.Kind == change.KindUndecoded })
}

func (r *reader) refuse(header []change.Value, err error) error {
	return fault.New(fault.Poison, fmt.Sprintf("%s, change sequence %s", r.where(), clip(r.sequenceOf(header))), err, "")
}

func (r *reader) optional(header []change.Value, slot int) []byte {
	if slot < 0 || !header[slot].HasContent() || header[slot].Kind == change.KindUndecoded {
		return nil
	}
	return header[slot].Raw
}

// operation reads the two operation columns, either of which may be missing. A TRUNCATE shows only in the long one.
func (r *reader) operation(header []change.Value) (change.Op, error) {
	long := r.optional(header, r.slots.operation)
	if string(long) == "TRUNCATE" {
		return change.OpTruncate, nil
	}
	if r.slots.oper < 0 {
		return longOperation(long)
	}
	short := r.optional(header, r.slots.oper)
	switch string(short) {
	case "I":
		return change.OpInsert, nil
	case "U":
		return change.OpUpdate, nil
	case "D":
		return change.OpDelete, nil
	case "B":
		return change.OpBefore, nil
	default:
		return 0, fmt.Errorf("change_oper is %q, not I, U, D or B", clip(string(short)))
	}
}

func longOperation(name []byte) (change.Op, error) {
	switch string(name) {
	case "INSERT":
		return change.OpInsert, nil
	case "UPDATE":
		return change.OpUpdate, nil
	case "DELETE":
		return change.OpDelete, nil
	case "BEFOREIMAGE":
		return change.OpBefore, nil
	}
	return 0, fmt.Errorf("operation is %q, not INSERT, UPDATE, DELETE, BEFOREIMAGE or TRUNCATE", clip(string(name)))
}

// timestamp reads the UTC time of the change, whatever type the header column has.
func (r *reader) timestamp(header []change.Value) (change.Value, error) {
	if r.slots.timestamp < 0 {
		return change.Null, nil
	}
	v := header[r.slots.timestamp]
	if v.Kind == change.KindText {
		parsed, err := change.ParseDateTime(v.Raw)
		if err != nil {
			return change.Null, fmt.Errorf("header timestamp: %w", err)
		}
		v = parsed
	}
	switch v.Kind {
	case change.KindNull, change.KindInstant:
		return v, nil
	case change.KindDateTime:
		return change.InstantValue(v.Num, v.Nanos, 0), nil
	}
	return change.Null, errors.New("header timestamp is neither a time nor text")
}

// setMask decodes the change mask over the data columns.
func (r *reader) setMask(page *source.Page, header []change.Value, ev *change.Event) error {
	if r.optional(header, r.slots.mask) == nil {
		return nil
	}
	mask := header[r.slots.mask].Raw
	order := r.layout.effectiveOrder()
	if err := maskProblem(mask, r.isHeader, order); err != nil {
		return fmt.Errorf("%w (byte order %s: see source.qlik.mask_byte_order)", err, order)
	}
	out := change.Mask(page.Arena.Make(change.MaskBytes(len(r.maskBits))))
	clear(out)
	fillMask(out, mask, r.maskBits, order)
	ev.Changed, ev.HasChanged = out, true
	return nil
}

// markAbsent turns NULLs that stand for "not captured" into absent values: NULL in a column that the base table declares NOT NULL; an
// unchanged large object of an update; a column outside the mask of an insert; a NULL of an update whose before-image has a
// value and whose mask bit is clear.
func (r *reader) markAbsent(ev *change.Event) {
	for i := range ev.After {
		if ev.After[i].Kind == change.KindNull && r.absentAfter(ev, i) {
			ev.After[i] = change.Absent
		}
	}
	for i := range ev.Before {
		if ev.Before[i].Kind == change.KindNull && r.notNull[i] {
			ev.Before[i] = change.Absent
		}
	}
}

func (r *reader) absentAfter(ev *change.Event, i int) bool {
	switch {
	case r.notNull[i]:
		return true
	case !ev.HasChanged || ev.Changed.Has(i) || ev.Changed.Empty():
		return false
	case ev.Op == change.OpInsert:
		return !r.lob[i]
	case ev.Op == change.OpUpdate:
		return r.lob[i] || (ev.Before != nil && ev.Before[i].HasContent())
	}
	return false
}

// learn looks for evidence of the byte order of change masks until it is decided.
func (r *reader) learn(rows [][]change.Value) {
	if r.slots.mask < 0 || r.layout.MaskOrder() != "" {
		return
	}
	for i, row := range rows {
		op, err := r.operation(row)
		if op == change.OpBefore {
			continue
		}
		mask := row[r.slots.mask].Raw
		order := orderEvidence(mask, r.isHeader)
		if order == "" && r.places == nil && err == nil && op == change.OpUpdate && len(mask) > 1 {
			if before := r.beside(rows, i); before != nil {
				order = pairEvidence(mask, r.maskBits, r.lob, before[r.slots.data:r.slots.kept], row[r.slots.data:r.slots.kept])
			}
		}
		if order == "" {
			continue
		}
		if r.layout.vote(order, r.table.ID.String()); r.layout.MaskOrder() != "" {
			return
		}
	}
}

// beside is the before-image of rows[i], nil where none or more than the two have its sequence.
func (r *reader) beside(rows [][]change.Value, i int) (before []change.Value) {
	others := 0
	for j := max(0, i-2); j < min(len(rows), i+3); j++ {
		if j != i && r.sameSequence(rows[j], rows[i]) {
			before = rows[j]
			others++
		}
	}
	if others != 1 || !r.isBefore(before) {
		return nil
	}
	return before
}

// addGroup turns the rows of one sequence into events: a before-image belongs to the update whose key columns it shares, else to the
// next update without one (its key changed). Rows that hand-replayed changes have doubled stay as many as they are.
func (r *reader) addGroup(ctx context.Context, page *source.Page, group [][]change.Value) error {
	switch {
	case len(group) == 1 && r.met(group[0]) && !r.isBefore(group[0]):
		return r.addRow(page, group[0], nil)
	case len(group) == 2 && r.isPair(group[0], group[1]):
		return r.addRow(page, group[1], group[0])
	case len(group) == 2 && r.isPair(group[1], group[0]):
		return r.addRow(page, group[0], group[1])
	}
	events, befores := r.split(group)
	if r.filtered() && len(events) > 0 && len(befores) > 0 {
		whole, err := r.readGroup(ctx, page, r.sequenceOf(group[0])) // with the rows that were left out, which may be the before-images' own
		if err != nil {
			return err
		}
		events, befores = r.split(whole)
	}
	if len(events) == 0 && !r.filtered() {
		r.orphan(page, r.sequenceOf(group[0]))
		return nil
	}
	return r.addPaired(page, events, befores)
}

func (r *reader) addPaired(page *source.Page, events, befores [][]change.Value) error {
	pairs := r.pair(events, befores)
	for i, row := range events {
		if !r.met(row) {
			continue // paired all the same: its before-image is nobody else's
		}
		if err := r.addRow(page, row, pairs[i]); err != nil {
			return err
		}
	}
	return nil
}

// isPair tells that two rows of one sequence are an update with its before-image. Behind a filter there may be more of them, and only the key tells.
func (r *reader) isPair(before, update []change.Value) bool {
	return r.isBefore(before) && r.isUpdate(update) && (!r.filtered() || r.met(update) && r.sameKey(before[r.slots.data:], update[r.slots.data:]))
}

// met tells that a row meets the filter.
func (r *reader) met(row []change.Value) bool { return !r.filtered() || row[r.slots.kept].Num != 0 }

func (r *reader) split(group [][]change.Value) (events, befores [][]change.Value) {
	for _, row := range group {
		if r.isBefore(row) {
			befores = append(befores, row)
		} else {
			events = append(events, row)
		}
	}
	return events, befores
}

// readGroup reads all rows of one sequence.
func (r *reader) readGroup(ctx context.Context, page *source.Page, sequence string) (group [][]change.Value, err error) {
	rows, err := r.q.group.Query(ctx, sequence)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		row := page.Arena.Values(r.width())
		if err := r.keepBad(row, rows.Scan(row, &page.Arena)); err != nil {
			return nil, err
		}
		group = append(group, row)
	}
	return group, rows.Err()
}

// pair gives every update its before-image, or nil; result parallel to events.
func (r *reader) pair(events, befores [][]change.Value) [][]change.Value {
	out, used := make([][]change.Value, len(events)), make([]bool, len(befores))
	take := func(i int, fits func(before []change.Value) bool) {
		for j, b := range befores {
			if out[i] == nil && !used[j] && fits(b) {
				out[i], used[j] = b, true
			}
		}
	}
	for i, row := range events {
		if r.isUpdate(row) {
			take(i, func(before []change.Value) bool { return r.sameKey(before[r.slots.data:], row[r.slots.data:]) })
		}
	}
	for i, row := range events {
		if r.isUpdate(row) {
			take(i, func([]change.Value) bool { return true })
		}
	}
	return out
}

func (r *reader) isUpdate(row []change.Value) bool { return r.is(row, change.OpUpdate) }
func (r *reader) isBefore(row []change.Value) bool { return r.is(row, change.OpBefore) }

func (r *reader) is(row []change.Value, wanted change.Op) bool {
	op, err := r.operation(row)
	return err == nil && op == wanted
}

// sameKey compares the key columns of two rows as they were read.
func (r *reader) sameKey(a, b []change.Value) bool {
	for i, in := range r.inKey {
		if r.places != nil {
			i = r.places[i]
		}
		if in && i >= 0 && !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}
