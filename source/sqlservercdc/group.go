package sqlservercdc

import (
	"cmp"
	"context"
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// within is the range of positions that a page is asked for: behind after, up to upto.
type within struct{ after, upto change.Position }

// whole reads a group row by row and adds those of its events that lie in a range. The join cannot tell what belongs together where one tuple
// holds several updates, which it would multiply, or where rows have no command id.
func (r *reader) whole(ctx context.Context, page *source.Page, s *span, k key, numbered bool, w within) error {
	statement := s.q.group
	if !numbered {
		statement = s.q.unnumbered
	}
	rows, err := statement.Query(ctx, s.groupArgs(k, numbered || s.headers.command == nil)...)
	if err != nil {
		return err
	}
	var group [][]change.Value
	var unread error // a row cannot be decoded: its event is a bad one (source.Captured.KeepBad)
	for rows.Next() {
		row := page.Arena.Values(s.marker())
		err := rows.Scan(row, &page.Arena)
		if fault.ClassOf(err) == fault.Poison {
			err = r.bad(row, err)
			if unread = cmp.Or(unread, err); r.captured.KeepBad {
				err = nil
			}
		}
		if err != nil {
			return errors.Join(err, rows.Close())
		}
		group = append(group, row)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	first := len(page.Events)
	if err := r.addGroup(page, s, group, w); err != nil {
		return err
	}
	if unread != nil {
		markBad(page.Events[first:], unread)
	}
	return nil
}

// addGroup makes the events of one group, in the order of their operations. Each update takes the before-image of its own key.
func (r *reader) addGroup(page *source.Page, s *span, group [][]change.Value, w within) error {
	var befores, events [][]change.Value
	for _, row := range group {
		switch row[3].Num {
		case opBefore:
			befores = append(befores, row)
		case opDelete, opInsert, opAfter:
			events = append(events, row)
		default:
			return r.badOperation(row)
		}
	}
	first := len(page.Events)
	for _, row := range events {
		var before []change.Value
		if row[3].Num == opAfter {
			before, befores = r.take(s, befores, row)
		}
		if p := keyOf(row).event(); p > w.after && p <= w.upto {
			r.add(page, s, row, before)
		}
	}
	if len(befores) > 0 {
		page.Events = page.Events[:first]
		return r.bad(befores[0], errOrphan)
	}
	return nil
}

// take picks the data of an update's before-image and returns what remains.
func (r *reader) take(s *span, befores [][]change.Value, row []change.Value) ([]change.Value, [][]change.Value) {
	if len(befores) == 0 {
		return nil, nil
	}
	pick := 0
	for i, b := range befores {
		if r.sameKey(s, b[slotData:], row[slotData:]) {
			pick = i
			break
		}
	}
	rest := append(append([][]change.Value(nil), befores[:pick]...), befores[pick+1:]...)
	return befores[pick][slotData:], rest
}

func (r *reader) sameKey(s *span, a, b []change.Value) bool {
	for i, in := range r.inKey {
		if place := s.places[i]; in && place >= 0 && !a[place].Equal(b[place]) {
			return false
		}
	}
	return true
}
