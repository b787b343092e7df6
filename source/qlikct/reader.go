package qlikct

import (
	"context"
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// reader is what the layout compiles for one change table.
type reader struct {
	layout   *Layout
	captured *source.Captured
	table    *change.Table
	h        *headers
	physical *physical
	q        statements

	slots    slots
	places   []int  // by column of the table: its place among the columns that are read, -1 = it is no longer there; nil = all in order
	maskBits []int  // bit number of each data column in the change mask
	isHeader []bool // by bit number
	lob      []bool // by data column
	notNull  []bool // by data column: NULL there means not captured
	inKey    []bool

	// Pages of one table are read one after the other.
	rowBytes int                       // what a row of the last page took
	rows     [][]change.Value          // of this page, as they were read
	bad      map[change.Position]error // rows of this page that could not be decoded: see source.Captured.KeepBad

	text  []byte // see position
	ended bool   // this page ends before the group at hand

	firstOrphan string // before-image that this page left out
}

// slots are the places of the header columns in a result row; -1 where the change table lacks one.
type slots struct {
	sequence, oper, mask, streamPosition, operation, transactionID, timestamp int

	data int // first data column
	kept int // whether the row meets the filter, where there is one; the end of the data columns in any case
}

// newReader compiles the reader of a table whose columns may be those of an earlier structure.
func newReader(l *Layout, captured *source.Captured, p *physical, m memo) (*reader, error) {
	t := captured.Table
	places, read, err := p.locate(t, m)
	if err != nil {
		return nil, err
	}
	r := &reader{layout: l, captured: captured, table: t, h: p.headers, physical: p, places: places, maskBits: m.Ordinals, isHeader: m.Headers}
	r.q = newStatements(l.engine, captured, read, p.headers)
	r.placeSlots(len(read))
	r.lob, r.notNull, r.inKey = make([]bool, len(t.Columns)), make([]bool, len(t.Columns)), make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		r.lob[i], r.notNull[i], r.inKey[i] = c.Type.LOB(), !c.Nullable, c.KeyPosition > 0
	}
	return r, nil
}

// image gives the columns of the table from the columns that were read.
func (r *reader) image(arena *change.Arena, read []change.Value) []change.Value {
	if r.places == nil || read == nil {
		return read
	}
	out := arena.Values(len(r.places))
	for i, place := range r.places {
		out[i] = change.Absent
		if place >= 0 {
			out[i] = read[place]
		}
	}
	return out
}

func (r *reader) placeSlots(columns int) {
	n := 0
	place := func(c *change.Column) int {
		if c == nil {
			return -1
		}
		n++
		return n - 1
	}
	r.slots = slots{
		sequence: place(r.h.sequence), oper: place(r.h.oper), mask: place(r.h.mask), streamPosition: place(r.h.streamPosition),
		operation: place(r.h.operation), transactionID: place(r.h.transactionID), timestamp: place(r.h.timestamp),
	}
	r.slots.data, r.slots.kept = n, n+columns
}

// width is the number of columns of a page's and a group's rows.
func (r *reader) width() int {
	if r.filtered() {
		return r.slots.kept + 1
	}
	return r.slots.kept
}

func (r *reader) filtered() bool { return r.captured.Filter != "" }

func readerOf(t *source.Captured) *reader { return t.Reader.(*reader) }

func (r *reader) where() string { return "read " + r.captured.Changes.String() }

// queryRow runs a statement whose result is one row.
func queryRow(ctx context.Context, s source.Statement, arena *change.Arena, width int, args ...any) ([]change.Value, bool, error) {
	rows, err := s.Query(ctx, args...)
	if err != nil {
		return nil, false, err
	}
	row := arena.Values(width)
	found := rows.Next()
	if found {
		err = rows.Scan(row, arena)
	}
	return row, found, errors.Join(err, rows.Err(), rows.Close())
}

func (r *reader) countOf(ctx context.Context, s source.Statement, after, upto change.Position) (int64, error) {
	var arena change.Arena
	row, _, err := queryRow(ctx, s, &arena, 1, string(after), string(upto))
	if err != nil {
		return 0, err
	}
	return row[0].Num, nil
}

// Count counts the events in (after, upto].
func (l *Layout) Count(ctx context.Context, t *source.Captured, after, upto change.Position) (int64, error) {
	r := readerOf(t)
	return r.countOf(ctx, r.q.count, after, upto)
}

// Positions lists the sequences of the events in (after, upto].
func (l *Layout) Positions(ctx context.Context, t *source.Captured, after, upto change.Position) ([]change.Position, error) {
	return readSequences(ctx, readerOf(t).q.positions, string(after), string(upto))
}

func readSequences(ctx context.Context, s source.Statement, args ...any) ([]change.Position, error) {
	rows, err := s.Query(ctx, args...)
	if err != nil {
		return nil, err
	}
	var out []change.Position
	var arena change.Arena
	row := make([]change.Value, 1)
	for rows.Next() {
		if err := rows.Scan(row, &arena); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		out = append(out, change.Position(row[0].Raw))
	}
	return out, errors.Join(rows.Err(), rows.Close())
}

// Peek finds the first event after a position over all tables.
func (l *Layout) Peek(ctx context.Context, tables []*source.Captured, after change.Position) (change.Position, []byte, error) {
	var first change.Position
	var id []byte
	for _, t := range tables {
		r := readerOf(t)
		var arena change.Arena
		width := 1
		if r.h.transactionID != nil {
			width = 2
		}
		row, found, err := queryRow(ctx, r.q.peek, &arena, width, string(after), int64(1))
		if err != nil {
			return "", nil, source.TableFault(t.Table.ID, err)
		}
		if found && (first == "" || change.Position(row[0].Raw) < first) {
			first, id = change.Position(row[0].Raw), nil
			if width == 2 && row[1].HasContent() {
				id = row[1].Raw
			}
		}
	}
	return first, id, nil
}
