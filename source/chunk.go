package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Chunks reads a base table: in chunks by key, each from where the last one ended, or by one streamed query where the table has no key. Keys
// travel as text that the database wrote, and only the database compares them. One goroutine at a time calls its methods.
type Chunks struct {
	layout   Layout
	captured *Captured
	base     *Base
	bytes    int
	keepBad  bool

	first Statement   // limit
	level []Statement // by number n of equal key columns: those n texts and the next one, limit
	count Statement
	all   Statement // of a table without key
	rows  Rows      // of all, while it is being read
}

// Chunk is a run of rows of a base table.
type Chunk struct {
	Captured *Captured        // the structure that the rows have, verified after they were read
	Rows     [][]change.Value // parallel to the captured table's columns
	Keys     [][]change.Value // parallel to Rows: the key columns as text; empty for a table without key
	Last     bool             // nothing is left behind it
	Failed   error            // a fault.Poison: the row after the last one cannot be read
	Bad      map[int]error    // by index into Rows: what could not be decoded; only with Options.KeepBad
	Arena    change.Arena
}

// Chunks compiles the reading of a table's base table. where is an SQL condition on it, in which t stands for the base table; empty = all
// rows.
func (p *Poller) Chunks(t *Captured, where string) (*Chunks, error) {
	based, ok := p.layout.(Based)
	if !ok {
		return nil, fault.New(fault.Table, "full load of "+t.Table.ID.String(), errors.New("this kind of change table has no base tables"), "")
	}
	base, err := based.Base(t)
	if err != nil {
		return nil, err
	}
	if len(base.Key) == 0 && p.options.Parallel < 2 {
		return nil, fault.New(fault.Table, "full load of "+t.Table.ID.String(), errors.New("a table without key takes a connection for itself"),
			"set source.max_connections to 2 at least")
	}
	c := &Chunks{layout: p.layout, captured: t, base: base, bytes: DefaultPageBytes, keepBad: p.options.KeepBad}
	if p.options.MaxBytes > 0 {
		c.bytes = max(minPageBytes, min(c.bytes, p.options.MaxBytes/8))
	}
	filter := ""
	if p.options.LoadFilter != nil {
		filter = p.options.LoadFilter(t.Table.ID)
	}
	c.compile(p.engine, filter, where)
	return c, nil
}

// compile writes the queries. What follows a key (a, b, c) is, in order: (a, b, more than c), (a, more than b), (more than a). Each is a range
// of the key's index, which one condition with OR would not be on every product.
func (c *Chunks) compile(e Engine, predicates ...string) {
	var texts, list, order []string
	var columns []change.Column
	for _, k := range c.base.Key {
		texts = append(texts, e.KeyText("t", k))
		order = append(order, "t."+e.Quote(k.Name))
		columns = append(columns, change.Column{Name: k.Name, Type: change.Type{Kind: change.String}, Nullable: true})
	}
	for _, column := range c.base.Columns {
		list = append(list, e.Column("t", column))
	}
	columns = append(columns, c.base.Columns...)
	query := func(conditions ...string) (text string) {
		for _, predicate := range predicates {
			if predicate != "" {
				conditions = append(conditions, "("+predicate+")")
			}
		}
		if len(conditions) > 0 {
			text = " WHERE " + strings.Join(conditions, " AND ")
		}
		return " FROM " + e.Table(c.base.ID) + " t" + text
	}
	selected := "SELECT " + strings.Join(append(texts, list...), ", ")
	c.count = e.Prepare("SELECT COUNT(*)"+query(), []change.Column{{Name: "n", Type: change.Type{Kind: change.Int8}}})
	c.all = e.Prepare(selected+query(), columns)
	page := func(n int) string {
		return " ORDER BY " + strings.Join(order, ", ") + " " + e.Limit(e.Param(n, ArgInt))
	}
	if len(order) > 0 {
		c.first = e.Prepare(selected+query()+page(1), columns)
	}
	for n := range order {
		var conditions []string
		for i := range n {
			conditions = append(conditions, order[i]+" = "+e.KeyParam(i+1, c.base.Key[i]))
		}
		conditions = append(conditions, order[n]+" > "+e.KeyParam(n+1, c.base.Key[n]))
		c.level = append(c.level, e.Prepare(selected+query(conditions...)+page(n+2), columns))
	}
}

// Key names the key columns; empty for a table without key, which can only be read from the beginning, in one go.
func (c *Chunks) Key() []string {
	var names []string
	for _, k := range c.base.Key {
		names = append(names, k.Name)
	}
	return names
}

// Count counts the rows.
func (c *Chunks) Count(ctx context.Context) (int64, error) {
	rows, err := c.count.Query(ctx)
	if err != nil {
		return 0, err
	}
	var arena change.Arena
	row := make([]change.Value, 1)
	if rows.Next() {
		err = rows.Scan(row, &arena)
	}
	return row[0].Num, errors.Join(err, rows.Err(), rows.Close())
}

// Read reads at most so many rows behind a key, the texts of a row's Keys; nil = from the beginning. A table without key goes on where its
// last chunk ended. A *Restructured tells that the table is no longer as it was captured.
func (c *Chunks) Read(ctx context.Context, after []string, rows int) (*Chunk, error) {
	out := &Chunk{Captured: c.captured}
	var err error
	if len(c.base.Key) == 0 {
		err = c.readOn(ctx, out, rows)
	} else {
		err = c.readKeys(ctx, out, after, rows)
	}
	if err != nil && fault.ClassOf(err) != fault.Table {
		return nil, err
	}
	changed, failed := c.layout.Changed(ctx, []*Captured{c.captured})
	switch {
	case failed != nil:
		return nil, failed
	case changed[0]:
		return nil, &Restructured{c.captured.Changes}
	}
	return out, err
}

// readKeys runs the queries for what follows a key until the chunk is full.
func (c *Chunks) readKeys(ctx context.Context, out *Chunk, after []string, rows int) error {
	if len(after) == 0 {
		full, err := c.query(ctx, out, c.first, rows, int64(rows))
		out.Last = !full
		return err
	}
	for n := len(c.level) - 1; n >= 0; n-- {
		var args []any
		for _, text := range after[:n+1] {
			args = append(args, text)
		}
		room := rows - len(out.Rows)
		full, err := c.query(ctx, out, c.level[n], rows, append(args, int64(room))...)
		if err != nil || full {
			return err
		}
	}
	out.Last = true
	return nil
}

func (c *Chunks) query(ctx context.Context, out *Chunk, s Statement, rows int, args ...any) (full bool, err error) {
	result, err := s.Query(ctx, args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	return c.take(out, result, rows)
}

// take scans rows until the result ends (full is false) or the chunk is full: of rows, of bytes, or by a row that cannot be read.
func (c *Chunks) take(out *Chunk, result Rows, most int) (full bool, err error) {
	keys := len(c.base.Key)
	for len(out.Rows) < most && out.Arena.Size() < c.bytes {
		if !result.Next() {
			return false, result.Err()
		}
		row := out.Arena.Values(keys + len(c.base.Columns))
		if err := result.Scan(row, &out.Arena); err != nil {
			if fault.ClassOf(err) != fault.Poison {
				return true, err
			}
			err = fault.New(fault.Poison, "read "+c.base.ID.String()+keyText(row[:keys]), err, "")
			if !c.keepBad || undecoded(row[:keys]) {
				out.Failed = err
				return true, nil
			}
			out.bad(err)
		}
		out.Keys, out.Rows = append(out.Keys, row[:keys:keys]), append(out.Rows, row[keys:])
	}
	return true, nil
}

// bad notes that the next row cannot be decoded.
func (c *Chunk) bad(err error) {
	if c.Bad == nil {
		c.Bad = make(map[int]error)
	}
	c.Bad[len(c.Rows)] = err
}

// undecoded tells that one of the values is not what its column should hold.
func undecoded(values []change.Value) bool {
	return slices.ContainsFunc(values, func(v change.Value) bool { return v.Kind == change.KindUndecoded })
}

func keyText(key []change.Value) string {
	var texts []string
	for _, v := range key {
		texts = append(texts, fmt.Sprintf("%q", v.Raw))
	}
	if texts == nil {
		return ""
	}
	return ", row with key " + strings.Join(texts, ", ")
}

// readOn takes the next rows of the one query over a table without key.
func (c *Chunks) readOn(ctx context.Context, out *Chunk, rows int) (err error) {
	if c.rows == nil {
		if c.rows, err = c.all.Query(ctx); err != nil {
			return err
		}
	}
	full, err := c.take(out, c.rows, rows)
	out.Last = !full
	return err
}

// Close ends the query over a table without key. The context of its Read should have ended before: else the rest is read.
func (c *Chunks) Close() error {
	if c.rows == nil {
		return nil
	}
	rows := c.rows
	c.rows = nil
	return rows.Close()
}

// Since gives a position of a table below what was changed at a moment or later; the empty one where nothing tells of times.
func (p *Poller) Since(ctx context.Context, t *Captured, at time.Time) (change.Position, error) {
	if d, ok := p.layout.(Dated); ok {
		return d.Since(ctx, t, at)
	}
	position, _ := p.before(at)
	return position, nil
}

// before gives the position that parts what was changed before a moment from the rest; ok is false where positions tell no time.
func (p *Poller) before(at time.Time) (change.Position, bool) {
	if t, ok := p.layout.(Timed); ok {
		return t.Before(at), true
	}
	return "", false
}

// Recently lists the positions of a table that lie within the look-back below a position, at most so many, and the floor that they begin
// above: what a table that begins at that position must know, so that rows that appear below it are told from those that were there.
func (p *Poller) Recently(ctx context.Context, t *Captured, upto change.Position, most int) (floor change.Position, positions []change.Position, err error) {
	for back := p.options.Lookback; back >= time.Second; back /= 4 {
		from, ok := p.before(p.options.Now().Add(-back))
		if !ok || from >= upto {
			continue
		}
		n, err := p.layout.Count(ctx, t, from, upto)
		if err != nil {
			return upto, nil, err
		}
		if n <= int64(most) {
			positions, err = p.layout.Positions(ctx, t, from, upto)
			return from, positions, err
		}
	}
	return upto, nil, nil
}
