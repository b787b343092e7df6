package sqlservercdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// The places of the header columns in a row that a page reads; the data columns follow.
const (
	slotMask = 4
	slotData = 5
)

// Page reads the next rows in order. Rows of one commit LSN, command and sequence value are one group: an update's two halves lie side by side in it, and
// it is never split between pages (I7).
func (l *Layout) Page(ctx context.Context, t *source.Captured, after, upto change.Position, limit int) (*source.Page, error) {
	r := readerOf(t)
	page := &source.Page{}
	for _, s := range r.spans {
		low, high := s.clip(after, upto)
		if low >= high {
			continue
		}
		first := len(page.Events)
		if err := r.readSpan(ctx, page, s, low, high, max(limit-first, 1)); err != nil {
			return nil, err
		}
		if err := r.addCommits(ctx, page, s, first); err != nil {
			return nil, err
		}
		if page.More || page.Failed != nil {
			break
		}
	}
	return page, nil
}

// readSpan reads about limit rows. A group that alone fills the limit is read again with room for all of it.
func (r *reader) readSpan(ctx context.Context, page *source.Page, s *span, after, upto change.Position, limit int) error {
	from, until, err := bounds(after, upto)
	if err != nil {
		return fault.New(fault.Fatal, r.where(), err, "was the checkpoint written with another source.layout? Give the task another name")
	}
	for {
		g := &gatherer{reader: r, span: s, page: page, upto: upto, limit: limit}
		err := g.run(ctx, s.after(from, until.lsn, int64(limit)), limit)
		if err != nil || !g.full {
			return err
		}
		limit *= 2
	}
}

// gatherer turns the rows of one query into events, group by group.
type gatherer struct {
	*reader
	span  *span
	page  *source.Page
	upto  change.Position
	limit int

	group [][]change.Value
	rows  int
	full  bool // one group filled the limit: nothing was added

	unread error // a row of the group cannot be decoded: its event is a bad one (source.Captured.KeepBad)
}

func (g *gatherer) run(ctx context.Context, args []any, limit int) (err error) {
	rows, err := g.span.q.page.Query(ctx, append(args, int64(limit))...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	before := len(g.page.Events)
	for rows.Next() {
		row := g.page.Arena.Values(slotData + len(g.span.read))
		scanned := rows.Scan(row, &g.page.Arena)
		if scanned != nil && fault.ClassOf(scanned) != fault.Poison {
			return scanned
		}
		g.rows++
		if len(g.group) > 0 && !sameGroup(g.group[0], row) {
			if stop := g.endGroup(); stop {
				return nil
			}
		}
		switch {
		case keyOf(row).event() > g.upto:
			return nil
		case scanned != nil && !g.captured.KeepBad:
			g.group, g.page.Failed = nil, g.bad(row, scanned)
			return nil
		case scanned != nil && g.unread == nil:
			g.unread = g.bad(row, scanned)
		}
		g.group = append(g.group, row)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if g.rows < limit {
		g.endGroup()
		g.page.More = false
		return nil
	}
	// The last group may go on behind the limit.
	g.full = len(g.page.Events) == before && g.page.Failed == nil
	g.page.More = !g.full
	return nil
}

// endGroup makes a group's events. It tells whether the page ends here: at a row that cannot be carried, or at its byte limit.
func (g *gatherer) endGroup() (stop bool) {
	if len(g.group) == 0 {
		return false
	}
	first := len(g.page.Events)
	if err := g.addGroup(g.page, g.span, g.group); err != nil {
		g.page.Failed = err
		return true
	}
	if g.unread != nil {
		markBad(g.page.Events[first:], g.unread)
	}
	g.group, g.unread = g.group[:0], nil
	most := g.captured.PageBytes
	if most <= 0 {
		most = source.DefaultPageBytes
	}
	if g.page.Arena.Size() > most {
		g.page.More, g.page.Cut = true, true
	}
	return g.page.Cut
}

// markBad marks the events of a group that hold a value which could not be decoded.
func markBad(events []change.Event, err error) {
	undecoded := func(v change.Value) bool { return v.Kind == change.KindUndecoded }
	for i := range events {
		if ev := &events[i]; slices.ContainsFunc(ev.After, undecoded) || slices.ContainsFunc(ev.Before, undecoded) {
			ev.Bad = err
		}
	}
}

func sameGroup(a, b []change.Value) bool {
	return a[1].Num == b[1].Num && bytes.Equal(a[2].Raw, b[2].Raw) && bytes.Equal(a[0].Raw, b[0].Raw)
}

func (r *reader) where() string { return "read " + r.captured.Changes.String() }

func (r *reader) bad(row []change.Value, err error) error {
	return fault.New(fault.Poison, fmt.Sprintf("%s, position %s", r.where(), keyOf(row).position()), err, "")
}

// addGroup makes the events of one group, in the order of their operations. Each update takes its before-image: that of its own key, where a group has
// several.
func (r *reader) addGroup(page *source.Page, s *span, group [][]change.Value) error {
	var befores, events [][]change.Value
	for _, row := range group {
		switch row[3].Num {
		case opBefore:
			befores = append(befores, row)
		case opDelete, opInsert, opAfter:
			events = append(events, row)
		default:
			return r.bad(row, fmt.Errorf("__$operation is %d, not 1, 2, 3 or 4", row[3].Num))
		}
	}
	for _, row := range events {
		var before []change.Value
		if row[3].Num == opAfter {
			before, befores = r.take(s, befores, row)
		}
		r.addEvent(page, s, row, before)
	}
	if len(befores) > 0 {
		return r.bad(befores[0], errors.New("before-image without its update"))
	}
	return nil
}

// take picks the before-image of an update and returns what remains.
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
	return befores[pick], rest
}

func (r *reader) sameKey(s *span, a, b []change.Value) bool {
	for i, in := range r.inKey {
		if place := s.places[i]; in && place >= 0 && !a[place].Equal(b[place]) {
			return false
		}
	}
	return true
}
