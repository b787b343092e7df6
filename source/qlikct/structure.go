package qlikct

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// physical is a change table as the catalog describes it now. Rows of an earlier structure are read from it, too.
type physical struct {
	candidate candidate
	changes   *source.Relation
	base      *source.Relation // nil where the catalog has none
	headers   *headers
	columns   []change.Column // data columns
}

// memo is what must be known of a structure to read its rows after the table was changed: change masks number the columns that the table had
// then, and a column's stable id proves a rename.
type memo struct {
	IDs      []string `json:"ids,omitempty"` // by data column; none where the engine has no stable ids
	Ordinals []int    `json:"ordinals"`      // by data column: bit number in change masks
	Headers  []bool   `json:"headers"`       // by bit number
}

func (m memo) encode() []byte {
	out, _ := json.Marshal(m)
	return out
}

func (m memo) id(i int) string {
	if i >= len(m.IDs) {
		return ""
	}
	return m.IDs[i]
}

// memo describes the structure as it is now.
func (p *physical) memo() memo {
	m := memo{Headers: p.headers.isHeader}
	for ordinal := range p.changes.Columns {
		if !p.headers.isData[ordinal] {
			continue
		}
		m.Ordinals = append(m.Ordinals, ordinal)
		if ordinal < len(p.changes.ColumnIDs) {
			m.IDs = append(m.IDs, p.changes.ColumnIDs[ordinal])
		}
	}
	return m
}

// locate finds the columns of a structure among those of the change table: by stable id where the engine has one, else by name. It gives the
// place of each, -1 for a column that is gone, and the columns to read.
func (p *physical) locate(t *change.Table, m memo) (places []int, read []change.Column, err error) {
	now, inOrder := p.memo(), len(t.Columns) == len(p.columns)
	found := make(map[int]bool)
	for i := range t.Columns {
		at := p.find(&t.Columns[i], m.id(i), now)
		places = append(places, -1)
		if at < 0 {
			inOrder = false
			continue
		}
		if !sameValues(t.Columns[i].Type.Kind, p.columns[at].Type.Kind) {
			return nil, nil, fmt.Errorf("column %q was %s and is %s", t.Columns[i].Name, t.Columns[i].Native, p.columns[at].Native)
		}
		places[i], found[at] = len(read), true
		read = append(read, p.columns[at])
		inOrder = inOrder && at == i
	}
	if inOrder {
		places = nil
	}
	return places, read, p.hidesNothing(t, found)
}

func (p *physical) find(c *change.Column, id string, now memo) int {
	for at := range p.columns {
		if id != "" && now.id(at) != "" {
			if id == now.id(at) {
				return at
			}
		} else if p.columns[at].Name == c.Name {
			return at
		}
	}
	return -1
}

// hidesNothing refuses a structure with a column that is gone while another has come: without proof the new one may be the old one
// renamed, and rows told under the old names would lose its values (case 37).
func (p *physical) hidesNothing(t *change.Table, found map[int]bool) error {
	if len(found) < len(t.Columns) && len(found) < len(p.columns) {
		return fmt.Errorf("columns of %s have gone and others have come", p.changes.ID)
	}
	return nil
}

// sameValues tells that values of one kind can be told as the other; whether each value fits is the encoder's to check (I6).
func sameValues(was, is change.Kind) bool {
	return was == is || family(was) != 0 && family(was) == family(is)
}

func family(k change.Kind) int {
	switch k {
	case change.Int1, change.Int2, change.Int4, change.Int8, change.Uint1, change.Uint2, change.Uint4:
		return 1
	case change.String, change.WString, change.Clob, change.NClob, change.UUID, change.JSON:
		return 2
	case change.Bytes, change.Blob:
		return 3
	}
	return 0
}

// Under compiles a reader for an earlier structure.
func (l *Layout) Under(t *source.Captured, earlier *change.Table, encoded []byte) (*source.Captured, error) {
	var m memo
	if err := json.Unmarshal(encoded, &m); err != nil {
		return nil, fmt.Errorf("structure of %s version %d: %w", earlier.ID, earlier.Version, err)
	}
	if len(m.Ordinals) != len(earlier.Columns) {
		return nil, fmt.Errorf("structure of %s version %d has %d columns and %d ordinals", earlier.ID, earlier.Version, len(earlier.Columns), len(m.Ordinals))
	}
	return l.read(readerOf(t).physical, earlier, m)
}

// describes tells that the catalog says of the tables what it said when they were captured.
func (p *physical) describes(changes, base *source.Relation) bool {
	return sameRelation(p.changes, changes) && sameRelation(p.base, base)
}

// sameRelation compares everything that a capture depends on. It is asked for every page of a table, so that it makes no text of it.
func sameRelation(a, b *source.Relation) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Identity == b.Identity && slices.Equal(a.Columns, b.Columns) && slices.Equal(a.ColumnIDs, b.ColumnIDs)
}

// Changed describes the tables again and compares.
func (l *Layout) Changed(ctx context.Context, tables []*source.Captured) ([]bool, error) {
	candidates := make([]candidate, len(tables))
	for i, t := range tables {
		candidates[i] = readerOf(t).physical.candidate
	}
	relations, err := l.describe(ctx, candidates)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(tables))
	for i, c := range candidates {
		changes := relations[c.changes]
		out[i] = changes == nil || !readerOf(tables[i]).physical.describes(changes, relations[c.base])
	}
	return out, nil
}

// FirstDDL reads attrep_ddl_history, where the writer keeps it: the exact sequence of the table's first structure change after a position.
func (l *Layout) FirstDDL(ctx context.Context, t *source.Captured, after change.Position) (change.Position, bool, error) {
	l.control.mu.Lock()
	defer l.control.mu.Unlock()
	statement, err := l.ddlStatement(ctx)
	if err != nil || statement == nil {
		return "", false, err
	}
	var arena change.Arena
	id := t.Table.ID
	row, found, err := queryRow(ctx, statement, &arena, 1, id.Name, string(after))
	if err != nil || !found || !row[0].HasContent() {
		return "", false, err
	}
	at := change.Position(row[0].Raw)
	if err := checkSequence(string(at)); err != nil {
		return "", false, fault.New(fault.Table, "read "+l.control.seen.ddl.String(), err, "")
	}
	return at, true, nil
}

// ddlStatement compiles the query of the history; nil where there is none with the columns it needs.
func (l *Layout) ddlStatement(ctx context.Context) (source.Statement, error) {
	id := l.control.seen.ddl
	if id.Name == "" || l.control.ddlOf == id {
		return l.control.ddl, nil
	}
	relations, err := l.engine.Describe(ctx, []change.TableID{id})
	if err != nil || len(relations) == 0 {
		return nil, err
	}
	l.control.ddl, l.control.ddlOf = nil, id
	columns := columnsNamed(relations[0].Columns, "change_seq", "table_name", "ddl_type")
	if columns == nil {
		l.log.Warn("the control table has no columns change_seq, table_name, ddl_type: structure changes are found in the catalog", "table", id.String())
		return nil, nil
	}
	quote := l.engine.Quote
	text := "SELECT MIN(h." + quote(columns[0].Name) + ") FROM " + l.engine.Table(id) + " h WHERE h." + quote(columns[1].Name) + " = " + l.engine.Param(1, source.ArgText) +
		" AND h." + quote(columns[0].Name) + " > " + l.engine.Param(2, source.ArgText) + " AND h." + quote(columns[2].Name) + " = 'ALTER_TABLE'"
	result := columns[0]
	result.Nullable = true
	l.control.ddl = l.engine.Prepare(text, []change.Column{result})
	return l.control.ddl, nil
}
