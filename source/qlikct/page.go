package qlikct

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// Page reads one page: it looks how far the next rows reach and reads the joined rows up to that sequence, so that neither rows of equal
// sequence nor a before/update pair are ever split (I7).
func (l *Layout) Page(ctx context.Context, t *source.Captured, after, upto change.Position, limit int) (*source.Page, error) {
	page, err := readerOf(t).page(ctx, after, upto, limit)
	return page, source.FilterFault(t, err)
}

func (r *reader) page(ctx context.Context, after, upto change.Position, limit int) (*source.Page, error) {
	page := &source.Page{}
	r.bad = nil
	reach, err := r.reach(ctx, after, upto, r.fitting(limit))
	if err != nil || reach.rows == 0 {
		return page, err
	}
	if page.More = reach.more; r.filtered() {
		page.Passed = reach.newest
	}
	rows, err := r.readRows(ctx, page, after, reach.upto)
	if err != nil {
		return nil, err
	}
	if err := r.addBefores(ctx, page, rows, after); err != nil {
		return nil, err
	}
	if err := r.build(ctx, page, rows); err != nil {
		return nil, err
	}
	return page, r.checkOrphans(ctx, page, after, reach.upto)
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

// readRows scans joined rows until the result or the byte limit ends. At the byte limit it drops the last, perhaps unfinished, group.
func (r *reader) readRows(ctx context.Context, page *source.Page, after, upto change.Position) (batch [][]change.Value, err error) {
	rows, err := r.q.page.Query(ctx, string(after), string(upto), string(after), string(upto))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	scratch := make([]change.Value, r.pageWidth())
	for rows.Next() {
		if err := r.keepBad(scratch, rows.Scan(scratch, &page.Arena)); err != nil {
			page.Failed = err
			return r.dropGroup(batch, scratch), nil
		}
		batch = append(batch, r.keep(scratch, &page.Arena))
		if page.Arena.Size() > r.mostBytes() {
			page.More, page.Cut = true, true
			r.rowBytes = page.Arena.Size()/len(batch) + 1
			return r.dropLastGroup(batch), nil
		}
	}
	if len(batch) > 0 {
		r.rowBytes = page.Arena.Size()/len(batch) + 1
	}
	return batch, rows.Err()
}

// addBefores reads the before-images of a wide table and puts them behind their rows.
func (r *reader) addBefores(ctx context.Context, page *source.Page, batch [][]change.Value, after change.Position) error {
	if r.q.befores == nil || len(batch) == 0 {
		return nil
	}
	rows, err := r.q.befores.Query(ctx, string(after), r.sequenceOf(batch[len(batch)-1]))
	if err != nil {
		return err
	}
	images := make(map[string][]change.Value)
	for rows.Next() {
		image := page.Arena.Values(r.slots.before - r.slots.data)
		if err := r.keepBadAt(image[0], rows.Scan(image, &page.Arena)); err != nil {
			return errors.Join(err, rows.Close())
		}
		images[string(image[0].Raw)] = image[1:]
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for i, row := range batch {
		if len(row) <= r.slots.marker {
			continue
		}
		before := images[r.sequenceOf(row)]
		if before == nil {
			return fault.New(fault.Retry, r.where(), errors.New("a before-image vanished while it was read"), "")
		}
		batch[i] = append(append(page.Arena.Values(len(row) + len(before))[:0], row...), before...)
	}
	return nil
}

// keep copies a scanned row into the arena, without the columns of a before-image that is not there.
func (r *reader) keep(scratch []change.Value, arena *change.Arena) []change.Value {
	if scratch[r.slots.marker].Kind == change.KindNull {
		scratch = scratch[:r.slots.marker]
	}
	row := arena.Values(len(scratch))
	copy(row, scratch)
	return row
}

// beforeOf is the before-image of a kept row, nil without one.
func (r *reader) beforeOf(row []change.Value) []change.Value {
	if len(row) <= r.slots.marker {
		return nil
	}
	return row[r.slots.before:]
}

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

// dropGroup removes the rows at the end that share the sequence of a failed row.
func (r *reader) dropGroup(batch [][]change.Value, failed []change.Value) [][]change.Value {
	for len(batch) > 0 && r.sameSequence(batch[len(batch)-1], failed) {
		batch = batch[:len(batch)-1]
	}
	return batch
}

// dropLastGroup leaves out the last sequence unless it is the only one: then build reads that group whole.
func (r *reader) dropLastGroup(batch [][]change.Value) [][]change.Value {
	rest := r.dropGroup(batch, batch[len(batch)-1])
	if len(rest) == 0 {
		return batch[:1]
	}
	return rest
}

// build turns rows into events. A sequence with several rows is paired from its own complete group, because the join multiplies it.
func (r *reader) build(ctx context.Context, page *source.Page, rows [][]change.Value) error {
	r.learn(rows)
	page.Events = make([]change.Event, 0, len(rows))
	for i := 0; i < len(rows); {
		next := i + 1
		for next < len(rows) && r.sameSequence(rows[next], rows[i]) {
			next++
		}
		var err error
		if next-i > 1 || page.Cut && len(rows) == 1 {
			err = r.addGroup(ctx, page, r.sequenceOf(rows[i]))
		} else {
			err = r.addRow(page, rows[i])
		}
		if err != nil {
			return r.stopAt(page, err)
		}
		i = next
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

func (r *reader) addRow(page *source.Page, row []change.Value) error {
	return r.addEvent(page, row[:r.slots.data], r.image(&page.Arena, row[r.slots.data:r.slots.marker]), r.image(&page.Arena, r.beforeOf(row)))
}

// checkOrphans compares the number of rows in the page's range with what was read: the join does not show a before-image without update, and it
// must not vanish (I3). It counts after the reading, so that rows that come meanwhile can only raise a question, not answer one.
func (r *reader) checkOrphans(ctx context.Context, page *source.Page, after, upto change.Position) error {
	if page.Failed != nil || page.Cut {
		page.Passed = ""
		if len(page.Events) == 0 {
			return nil
		}
		upto = page.Events[len(page.Events)-1].Position
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
	if left := events - int64(len(page.Events)); r.filtered() && left > 0 {
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
	if r.layout.options.Orphans == OrphanSkip {
		r.layout.log.Warn("before-images without update left out", "table", r.table.ID.String(), "rows", len(orphans), "first", string(orphans[0]))
		page.Skip("orphan_before_image", len(orphans))
		return nil
	}
	for i := range page.Events {
		if page.Events[i].Position >= orphans[0] {
			page.Events = page.Events[:i]
			break
		}
	}
	page.Failed = fault.New(fault.Poison, r.where(), fmt.Errorf("before-image without update at change sequence %s", orphans[0]),
		"repair the row, or set source.qlik.orphan_before_image: skip")
	return nil
}
