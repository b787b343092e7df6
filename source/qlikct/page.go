package qlikct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// Page reads one page: the next rows in order, up to the last sequence that is surely complete, so that neither rows of equal sequence nor a
// before/update pair are ever split (I7).
func (l *Layout) Page(ctx context.Context, t *source.Captured, after, upto change.Position, limit int) (*source.Page, error) {
	r := readerOf(t)
	page, err := r.page(ctx, after, upto, limit)
	if err == nil {
		r.tellOrphans(page)
	}
	return page, source.FilterFault(t, err)
}

func (r *reader) page(ctx context.Context, after, upto change.Position, limit int) (*source.Page, error) {
	if r.filtered() {
		return r.filteredPage(ctx, after, upto, limit)
	}
	page := &source.Page{}
	limit = r.fitting(limit) + 1 // the sequence of the last one may go on behind it
	whole, err := r.readRows(ctx, page, string(after), string(upto), int64(limit))
	if err != nil {
		return nil, err
	}
	if len(r.rows) == limit {
		page.More, whole = true, false
	}
	return page, r.build(ctx, page, whole)
}

func (r *reader) filteredPage(ctx context.Context, after, upto change.Position, limit int) (*source.Page, error) {
	page := &source.Page{}
	reach, err := r.reach(ctx, after, upto, r.fitting(limit))
	if err != nil || reach.rows == 0 {
		return page, err
	}
	page.More, page.Passed = reach.more, reach.newest
	whole, err := r.readRows(ctx, page, string(after), string(reach.upto))
	if err == nil {
		err = r.build(ctx, page, whole)
	}
	if err != nil {
		return nil, err
	}
	return page, r.checkLeftOut(ctx, page, after, reach.upto)
}

// reach is the range of a page.
type reach struct {
	upto   change.Position
	newest change.Position // of the rows that were there when it was looked for
	rows   int64
	more   bool // rows may remain behind it
}

func (r *reader) reach(ctx context.Context, after, upto change.Position, limit int) (reach, error) {
	var arena change.Arena
	row, _, err := queryRow(ctx, r.q.bound, &arena, 2, string(after), string(upto), int64(limit))
	if err != nil {
		return reach{}, err
	}
	out := reach{upto: upto, newest: change.Position(row[0].Raw), rows: row[1].Num}
	if out.rows >= int64(limit) {
		out.upto, out.more = out.newest, true
	}
	return out, nil
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

// readRows scans rows until the result or the byte limit ends. The last sequence may not be whole at the byte limit.
func (r *reader) readRows(ctx context.Context, page *source.Page, args ...any) (whole bool, err error) {
	r.rows, r.bad = r.rows[:0], nil
	rows, err := r.q.page.Query(ctx, args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	width := r.width()
	for rows.Next() {
		row := page.Arena.Values(width)
		if err := r.keepBad(row, rows.Scan(row, &page.Arena)); err != nil {
			page.Failed = err
			r.dropGroup(row)
			return true, nil
		}
		r.rows = append(r.rows, row)
		if page.Arena.Size() > r.mostBytes() {
			page.More, page.Cut = true, true
			break
		}
	}
	if len(r.rows) > 0 {
		r.rowBytes = page.Arena.Size()/len(r.rows) + 1
	}
	return !page.Cut, rows.Err()
}

// position gives a row's sequence as a string that outlives the page. Many of them share memory, which is only ever appended to.
func (r *reader) position(row []change.Value) change.Position {
	sequence := row[r.slots.sequence].Raw
	if len(sequence) != SequenceLength {
		return change.Position(sequence)
	}
	if cap(r.text)-len(r.text) < SequenceLength {
		r.text = make([]byte, 0, positionsTogether*SequenceLength)
	}
	n := len(r.text)
	r.text = append(r.text, sequence...)
	return change.Position(unsafe.String(&r.text[n], SequenceLength))
}

// positionsTogether bounds what is held for the sake of one of them.
const positionsTogether = 64

func (r *reader) sequenceOf(row []change.Value) string { return string(row[r.slots.sequence].Raw) }

func (r *reader) sameSequence(a, b []change.Value) bool {
	return bytes.Equal(a[r.slots.sequence].Raw, b[r.slots.sequence].Raw)
}

// keepBad lets a row pass that could not be decoded, where that is wanted and the row can be put in order; else its error stays.
func (r *reader) keepBad(row []change.Value, err error) error {
	if err == nil {
		return nil
	}
	return r.keepBadAt(row[r.slots.sequence], r.poison(row, err))
}

func (r *reader) keepBadAt(sequence change.Value, err error) error {
	if fault.ClassOf(err) != fault.Poison || !r.captured.KeepBad || checkSequence(string(sequence.Raw)) != nil {
		return err
	}
	if r.bad == nil {
		r.bad = make(map[change.Position]error)
	}
	r.bad[change.Position(sequence.Raw)] = err
	return nil
}

// poison names the row that could not be decoded, where its sequence was.
func (r *reader) poison(row []change.Value, err error) error {
	if fault.ClassOf(err) != fault.Poison {
		return err
	}
	return fault.New(fault.Poison, fmt.Sprintf("%s, change sequence %s", r.where(), r.sequenceOf(row)), err, "")
}

// dropGroup removes the rows at the end that share the sequence of a row.
func (r *reader) dropGroup(row []change.Value) {
	n := len(r.rows)
	for n > 0 && r.sameSequence(r.rows[n-1], row) {
		n--
	}
	r.rows = r.rows[:n]
}

// build turns rows into events, sequence by sequence. The last one is left out where it may not be whole, unless it is the only one: then it is
// read anew.
func (r *reader) build(ctx context.Context, page *source.Page, whole bool) error {
	if n := len(r.rows); !whole && n > 0 {
		only := r.rows[0]
		if r.dropGroup(r.rows[n-1]); len(r.rows) == 0 {
			group, err := r.readGroup(ctx, page, r.sequenceOf(only))
			if err != nil {
				return r.stopAt(page, err)
			}
			r.rows = append(r.rows, group...)
		}
	}
	r.learn(r.rows)
	page.Room(len(r.rows))
	r.ended = false
	for rest := r.rows; len(rest) > 0 && !r.ended; { // page.Failed may tell of a row behind these
		n := 1
		for n < len(rest) && r.sameSequence(rest[n], rest[0]) {
			n++
		}
		if err := r.addGroup(ctx, page, rest[:n]); err != nil {
			return r.stopAt(page, err)
		}
		rest = rest[n:]
	}
	if page.Skipped[skippedOrphan] > 0 && page.Failed == nil { // no event tells of what was left out at the end
		page.Passed = r.position(r.rows[len(r.rows)-1])
	}
	return nil
}

// stopAt ends a page before a row that cannot become an event; other errors fail the page as a whole.
func (r *reader) stopAt(page *source.Page, err error) error {
	if fault.ClassOf(err) != fault.Poison {
		return err
	}
	page.Failed = err
	return nil
}

func (r *reader) addRow(page *source.Page, row, before []change.Value) error {
	if before != nil {
		before = before[r.slots.data:r.slots.kept]
	}
	return r.addEvent(page, row[:r.slots.data], r.image(&page.Arena, row[r.slots.data:r.slots.kept]), r.image(&page.Arena, before))
}

// orphan applies the policy to a before-image without update, which must not vanish (I3).
func (r *reader) orphan(page *source.Page, sequence string) {
	if r.layout.options.Orphans == OrphanSkip {
		if page.Skip(skippedOrphan, 1); page.Skipped[skippedOrphan] == 1 {
			r.firstOrphan = sequence
		}
		return
	}
	r.ended = true
	page.Failed = fault.New(fault.Poison, r.where(), fmt.Errorf("before-image without update at change sequence %s", sequence),
		"repair the row, or set source.qlik.orphan_before_image: skip")
}

const skippedOrphan = "orphan_before_image"

func (r *reader) tellOrphans(page *source.Page) {
	if n := page.Skipped[skippedOrphan]; n > 0 {
		r.layout.log.Warn("before-images without update left out", "table", r.table.ID.String(), "rows", n, "first", r.firstOrphan)
	}
}

// checkLeftOut counts what a filter has left out of a page's range, and looks whether a before-image there stands alone: the rows at hand do not
// tell it from one whose update was left out. It counts after the reading, so that rows that come meanwhile can only raise a question, not
// answer one.
func (r *reader) checkLeftOut(ctx context.Context, page *source.Page, after, upto change.Position) error {
	switch {
	case page.Failed != nil:
		page.Passed = ""
		if len(page.Events) == 0 {
			return nil
		}
		upto = page.Events[len(page.Events)-1].Position
	case page.Cut: // perhaps behind rows of which none is an event
		upto = r.position(r.rows[len(r.rows)-1])
		page.Passed = upto
	}
	pairs := int64(0)
	for i := range page.Events {
		if page.Events[i].Op == change.OpUpdate && page.Events[i].Before != nil {
			pairs++
		}
	}
	var arena change.Arena
	row, _, err := queryRow(ctx, r.q.rows, &arena, 2, string(after), string(upto))
	if err != nil {
		return err
	}
	events, befores := row[0].Num-row[1].Num, row[1].Num
	if left := events - int64(len(page.Events)); left > 0 {
		page.Skip(source.SkippedFilter, int(left)) // their before-images are left out with them
	}
	if befores <= pairs {
		return nil
	}
	return r.takeOrphans(ctx, page, after, upto)
}

const orphansNamed = 1000

func (r *reader) takeOrphans(ctx context.Context, page *source.Page, after, upto change.Position) error {
	orphans, err := readSequences(ctx, r.q.orphans, string(after), string(upto), int64(orphansNamed))
	if err != nil || len(orphans) == 0 {
		return err
	}
	for _, sequence := range orphans {
		if r.layout.options.Orphans != OrphanSkip {
			n, _ := slices.BinarySearchFunc(page.Events, sequence, func(ev change.Event, p change.Position) int { return strings.Compare(string(ev.Position), string(p)) })
			page.Events = page.Events[:n]
		}
		if r.orphan(page, string(sequence)); page.Failed != nil {
			return nil
		}
	}
	return nil
}
