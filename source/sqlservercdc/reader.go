package sqlservercdc

import (
	"context"
	"errors"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// reader is what the layout compiles for one base table under one structure.
type reader struct {
	layout   *Layout
	captured *source.Captured
	table    *change.Table
	physical *physical
	spans    []*span
	inKey    []bool // by column of the table
	notNull  []bool
	large    []bool // NULL in an update means unchanged where the mask says so
	longText []bool // text, ntext, image: never in a before-image or delete
	rowBytes int    // of a row that was read, about
}

// span is a run of positions that one capture instance has the rows of.
type span struct {
	*part
	from, to change.Position // after from, up to to; to is empty for the newest instance
	q        statements
	filtered bool  // rows tell whether they meet the filter
	places   []int // by column of the reader's table: its place among the columns that are read, -1 = not captured
}

func newReader(l *Layout, c *source.Captured, p *physical) *reader {
	t := c.Table
	r := &reader{layout: l, captured: c, table: t, physical: p}
	for n, part := range p.parts {
		s := &span{part: part, from: p.from(n), filtered: c.Filter != "", q: newStatements(l.engine, part, l.options.Schema, c.Filter)}
		if n+1 < len(p.parts) {
			s.to = p.from(n + 1)
		}
		for _, column := range t.Columns {
			s.places = append(s.places, part.place(column.Name))
		}
		r.spans = append(r.spans, s)
	}
	for _, column := range t.Columns {
		r.inKey = append(r.inKey, column.KeyPosition > 0)
		r.notNull = append(r.notNull, !column.Nullable)
		r.large = append(r.large, (column.Type.LOB() || column.Type.Kind == change.JSON) && column.Native != "sql_variant")
		r.longText = append(r.longText, column.Native == "text" || column.Native == "ntext" || column.Native == "image")
	}
	return r
}

func (p *part) place(name string) int {
	for i := range p.table {
		if p.table[i].Name == name {
			return i
		}
	}
	return -1
}

func readerOf(t *source.Captured) *reader { return t.Reader.(*reader) }

// Count counts the events in (after, upto].
func (l *Layout) Count(ctx context.Context, t *source.Captured, after, upto change.Position) (int64, error) {
	found, err := l.Positions(ctx, t, after, upto)
	return int64(len(found)), err
}

// Positions lists the positions of the events in (after, upto].
func (l *Layout) Positions(ctx context.Context, t *source.Captured, after, upto change.Position) ([]change.Position, error) {
	var out []change.Position
	for _, s := range readerOf(t).spans {
		low, high := s.clip(after, upto)
		if low >= high {
			continue
		}
		from, until, err := bounds(low, high)
		if err != nil {
			return nil, err
		}
		err = source.EachRow(ctx, s.q.positions, 4, func(row []change.Value) error {
			if p := keyOf(row).event(); p <= high {
				out = append(out, p)
			}
			return nil
		}, s.after(from, until.lsn)...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Oldest gives the position of the first row that is there, and whether there is one at a position.
func (l *Layout) Oldest(ctx context.Context, t *source.Captured, at change.Position) (change.Position, bool, error) {
	if t.Filter != "" { // what is there, whether it is an event or not
		all := *t
		all.Filter = ""
		all.Reader = newReader(l, &all, readerOf(t).physical)
		t = &all
	}
	var oldest change.Position
	page, err := l.Page(ctx, t, "", endOf(strings.Repeat("f", lsnDigits)), 1)
	if err != nil {
		return "", false, err
	}
	if len(page.Events) > 0 {
		oldest = page.Events[0].Position
	}
	if len(at) <= opAt {
		return oldest, false, page.Failed // a bound, no position of a row
	}
	here, err := l.Positions(ctx, t, startOf(lsnOf(at)), at)
	return oldest, len(here) > 0 && here[len(here)-1] == at, errors.Join(page.Failed, err)
}

// marker is the place behind a row's own columns.
func (s *span) marker() int {
	if s.filtered {
		return slotData + len(s.read) + 1
	}
	return slotData + len(s.read)
}

// clip cuts a range to what the span has.
func (s *span) clip(after, upto change.Position) (low, high change.Position) {
	low, high = max(after, s.from), upto
	if s.to != "" {
		high = min(high, s.to)
	}
	return low, high
}

func bounds(after, upto change.Position) (from, until key, err error) {
	if from, err = parse(after); err == nil {
		until, err = parse(upto)
	}
	return from, until, err
}

// Peek finds nothing beyond a horizon: a transaction is complete when its LSN lies below, so no row there can belong to one that was read. It is closed
// when the newest LSN has passed it, not when another row comes (case 19).
func (l *Layout) Peek(context.Context, []*source.Captured, change.Position) (change.Position, []byte, error) {
	return "", nil, nil
}
