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

// The places of the columns in a row that a page reads: the order key, the update mask, the data; with a filter, whether the row meets it; behind them, of
// a row that has a before-image, a marker and the before-image's data.
const (
	slotMask = 4
	slotData = 5
)

// Page reads the next events in order, each update joined with its before-image (I7). Rows of one commit LSN, command and sequence value are one
// group; it is never split between pages.
func (l *Layout) Page(ctx context.Context, t *source.Captured, after, upto change.Position, limit int) (*source.Page, error) {
	page, err := readerOf(t).page(ctx, after, upto, limit)
	return page, source.FilterFault(t, err)
}

func (r *reader) page(ctx context.Context, after, upto change.Position, limit int) (*source.Page, error) {
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

// readSpan reads about limit rows of one capture instance and makes their events.
func (r *reader) readSpan(ctx context.Context, page *source.Page, s *span, after, upto change.Position, limit int) error {
	from, until, err := bounds(after, upto)
	if err != nil {
		return fault.New(fault.Fatal, r.where(), err, "was the checkpoint written with another source.layout? Give the task another name")
	}
	b, err := r.scan(ctx, page, s, s.pageArgs(from, until.lsn, r.fitting(limit)), upto)
	if err != nil {
		return err
	}
	if err := r.build(ctx, page, s, b, within{after, upto}); err != nil {
		if fault.ClassOf(err) != fault.Poison {
			return err
		}
		page.Failed, page.More = err, false
	}
	return nil
}

// batch is what one query of a page gave.
type batch struct {
	rows   [][]change.Value
	open   bool  // the last group may go on behind the last row
	failed error // the row behind the last one cannot be read

	bad map[int]error // by index into rows: what cannot be decoded of them (source.Captured.KeepBad)
}

// scan reads joined rows until the result, its limit, the asked position or the byte limit ends them.
func (r *reader) scan(ctx context.Context, page *source.Page, s *span, args []any, upto change.Position) (b batch, err error) {
	rows, err := s.q.page.Query(ctx, args...)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	limit := int(args[len(args)-1].(int64))
	scratch := make([]change.Value, s.marker()+1+len(s.read))
	for rows.Next() {
		scanned := rows.Scan(scratch, &page.Arena)
		switch {
		case scanned != nil && fault.ClassOf(scanned) != fault.Poison:
			return b, scanned
		case keyOf(scratch).event() > upto:
			return b, nil
		case scanned != nil && r.captured.KeepBad:
			if b.bad == nil {
				b.bad = make(map[int]error)
			}
			b.bad[len(b.rows)] = r.bad(scratch, scanned)
		case scanned != nil:
			b.failed = r.bad(scratch, scanned)
			for len(b.rows) > 0 && sameGroup(b.rows[len(b.rows)-1], scratch) {
				b.rows = b.rows[:len(b.rows)-1]
			}
			return b, nil
		}
		b.rows = append(b.rows, s.keep(scratch, &page.Arena))
		if page.Arena.Size() > r.mostBytes() {
			page.Cut = true
			break
		}
	}
	b.open = page.Cut || len(b.rows) >= limit
	if n := len(b.rows); n > 0 {
		r.rowBytes = page.Arena.Size()/n + 1
	}
	return b, rows.Err()
}

// mostBytes is the byte limit of a page.
func (r *reader) mostBytes() int {
	if r.captured.PageBytes > 0 {
		return r.captured.PageBytes
	}
	return source.DefaultPageBytes
}

// fitting lowers a row limit to what the byte limit lets through, going by the rows read before: rows that do not fit would be sent for nothing.
func (r *reader) fitting(limit int) int {
	if r.rowBytes == 0 {
		return limit
	}
	return max(1, min(limit, r.mostBytes()/r.rowBytes))
}

// keep copies a scanned row into the arena, without the columns of a before-image that is not there.
func (s *span) keep(scratch []change.Value, arena *change.Arena) []change.Value {
	marker := s.marker()
	if scratch[marker].Kind == change.KindNull {
		scratch = scratch[:marker]
	}
	row := arena.Values(len(scratch))
	copy(row, scratch)
	return row
}

// build makes the events of the groups. A group that the batch may have cut waits for the next page; alone in its page, it is read whole.
func (r *reader) build(ctx context.Context, page *source.Page, s *span, b batch, w within) error {
	rows := b.rows
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && sameGroup(rows[0], rows[n]) {
			n++
		}
		group := rows[:n]
		rows = rows[n:]
		cut := b.open && len(rows) == 0
		page.More = cut
		if cut && n < len(b.rows) {
			return nil
		}
		var err error
		first := len(page.Events)
		if cut || !simple(s, group) {
			err = r.whole(ctx, page, s, keyOf(group[0]), group[0][1].Kind != change.KindNull, w)
		} else {
			err = r.addJoined(page, s, group)
		}
		if err != nil {
			return err
		}
		for i := range group {
			if bad := b.bad[len(b.rows)-len(rows)-n+i]; bad != nil {
				markBad(page.Events[first:], bad)
				break
			}
		}
	}
	return b.failed
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

// simple tells that the join has shown a group as it is: no operation stands in it twice, and it has a command id where the change table has one.
func simple(s *span, group [][]change.Value) bool {
	if s.headers.command != nil && group[0][1].Kind == change.KindNull {
		return false
	}
	for i := 1; i < len(group); i++ {
		if group[i][3].Num == group[i-1][3].Num {
			return false
		}
	}
	return true
}

// addJoined makes the events of a group from its joined rows.
func (r *reader) addJoined(page *source.Page, s *span, group [][]change.Value) error {
	marker := s.marker()
	for _, row := range group {
		var before []change.Value
		switch row[3].Num {
		case opBefore:
			return r.bad(row, errOrphan)
		case opDelete, opInsert:
		case opAfter:
			if len(row) > marker {
				before = row[marker+1:]
			}
		default:
			return r.badOperation(row)
		}
		r.add(page, s, row, before)
	}
	return nil
}

func sameGroup(a, b []change.Value) bool {
	return a[1].Kind == b[1].Kind && a[1].Num == b[1].Num && bytes.Equal(a[2].Raw, b[2].Raw) && bytes.Equal(a[0].Raw, b[0].Raw)
}

func (r *reader) where() string { return "read " + r.captured.Changes.String() }

func (r *reader) bad(row []change.Value, err error) error {
	return fault.New(fault.Poison, fmt.Sprintf("%s, position %s", r.where(), keyOf(row).position()), err, "")
}

var errOrphan = errors.New("before-image without its update")

func (r *reader) badOperation(row []change.Value) error {
	return r.bad(row, fmt.Errorf("__$operation is %d, not 1, 2, 3 or 4", row[3].Num))
}
