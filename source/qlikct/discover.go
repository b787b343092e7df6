package qlikct

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// candidate is a change table with the base table it belongs to.
type candidate struct {
	base, changes change.TableID
	baseKnown     bool
}

// Discover finds the change tables by suffix, pairs them with their base tables and compiles a reader for each.
func (l *Layout) Discover(ctx context.Context) (source.Discovery, error) {
	ids, err := l.engine.Tables(ctx)
	if err != nil {
		return source.Discovery{}, err
	}
	l.control.find(ids, l.options.ControlSchema)
	candidates := l.candidates(ids)
	relations, err := l.describe(ctx, candidates)
	if err != nil {
		return source.Discovery{}, err
	}
	var found source.Discovery
	for _, c := range candidates {
		captured, err := l.capture(c, relations)
		if err != nil {
			found.Problems = append(found.Problems, &change.TableError{Table: c.base, Err: err})
			continue
		}
		found.Tables = append(found.Tables, captured)
	}
	found.Problems = append(found.Problems, l.missing(candidates)...)
	return found, nil
}

// candidates are the change tables whose base tables the options choose, sorted by base table.
func (l *Layout) candidates(ids []change.TableID) []candidate {
	byName := make(map[string][]change.TableID)
	for _, id := range ids {
		byName[id.Name] = append(byName[id.Name], id)
	}
	var out []candidate
	for _, id := range ids {
		if !l.isChangeTable(id) {
			continue
		}
		c := candidate{changes: id}
		c.base, c.baseKnown = l.baseOf(id, byName)
		if l.options.Tables.Match(c.base) {
			out = append(out, c)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].base.String() < out[j].base.String() })
	return out
}

func (l *Layout) isChangeTable(id change.TableID) bool {
	if l.options.Schema != "" && !strings.EqualFold(id.Schema, l.options.Schema) {
		return false
	}
	n := len(id.Name) - len(l.options.Suffix)
	return n > 0 && strings.EqualFold(id.Name[n:], l.options.Suffix)
}

// baseOf gives the base table of a change table and whether the catalog has it. With a schema of its own for change tables, the base
// table is the only one of that name elsewhere.
func (l *Layout) baseOf(changes change.TableID, byName map[string][]change.TableID) (change.TableID, bool) {
	name := changes.Name[:len(changes.Name)-len(l.options.Suffix)]
	var elsewhere []change.TableID
	for _, id := range byName[name] {
		if id.Schema == changes.Schema {
			return id, true
		}
		elsewhere = append(elsewhere, id)
	}
	if l.options.Schema != "" && len(elsewhere) == 1 {
		return elsewhere[0], true
	}
	return change.TableID{Schema: changes.Schema, Name: name}, false
}

func (l *Layout) describe(ctx context.Context, candidates []candidate) (map[change.TableID]*source.Relation, error) {
	ids := make([]change.TableID, 0, 2*len(candidates))
	for _, c := range candidates {
		ids = append(ids, c.changes)
		if c.baseKnown {
			ids = append(ids, c.base)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	relations, err := l.engine.Describe(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[change.TableID]*source.Relation, len(relations))
	for i := range relations {
		out[relations[i].ID] = &relations[i]
	}
	return out, nil
}

// missing reports the exactly named tables that no change table was found for.
func (l *Layout) missing(candidates []candidate) []*change.TableError {
	have := make(map[change.TableID]bool, len(candidates))
	for _, c := range candidates {
		have[c.base] = true
		have[change.TableID{Name: c.base.Name}] = true
	}
	var out []*change.TableError
	for _, id := range l.options.Tables.Exact() {
		if have[id] {
			continue
		}
		err := fault.New(fault.Table, "discover", fmt.Errorf("change table %s%s not found", id, l.options.Suffix),
			"check source.tables, source.qlik.suffix and source.qlik.schema, and that the login may see the table")
		out = append(out, &change.TableError{Table: id, Err: &Missing{err}})
	}
	return out
}

// Missing marks a table whose change table is not there.
type Missing struct{ error }

// Unwrap gives the cause.
func (m *Missing) Unwrap() error { return m.error }

// TableMissing tells the runner that the table is not broken but absent.
func (m *Missing) TableMissing() bool { return true }

func (l *Layout) capture(c candidate, relations map[change.TableID]*source.Relation) (*source.Captured, error) {
	changes := relations[c.changes]
	if changes == nil {
		return nil, &Missing{fault.New(fault.Table, "discover", fmt.Errorf("change table %s is gone or may not be read", c.changes), "grant SELECT on it")}
	}
	h, err := findHeaders(changes, l.options)
	if err != nil {
		return nil, err
	}
	columns, err := l.dataColumns(c.base, changes, relations[c.base], h)
	if err != nil {
		return nil, err
	}
	p := &physical{candidate: c, changes: changes, base: relations[c.base], headers: h, columns: columns}
	return l.read(p, change.NewTable(c.base, 1, columns), p.memo())
}

// read compiles a table's reader.
func (l *Layout) read(p *physical, t *change.Table, m memo) (*source.Captured, error) {
	captured := &source.Captured{Table: t, Changes: p.candidate.changes, Identity: p.changes.Identity, HasTx: p.headers.transactionID != nil, PageBytes: l.options.PageBytes, Memo: m.encode()}
	if l.options.Filter != nil {
		captured.Filter = l.options.Filter(t.ID)
	}
	r, err := newReader(l, captured, p, m)
	if err != nil {
		return nil, err
	}
	captured.Reader = r
	return captured, nil
}

// dataColumns are the columns behind the headers: names and types from the change table, NOT NULL and key from the base table or the
// options.
func (l *Layout) dataColumns(base change.TableID, changes, described *source.Relation, h *headers) ([]change.Column, error) {
	var columns []change.Column
	for i, c := range changes.Columns {
		if !h.isData[i] {
			continue
		}
		if c.Type.Kind == change.Unsupported {
			return nil, fault.New(fault.Table, "discover", fmt.Errorf("column %q of %s has type %s, which cannot be carried", c.Name, changes.ID, c.Native),
				"leave the column out with source.qlik.ignore_columns")
		}
		c.KeyPosition, c.Nullable = 0, true
		columns = append(columns, c)
	}
	if len(columns) == 0 {
		return nil, fault.New(fault.Table, "discover", fmt.Errorf("change table %s has no data column", changes.ID), "check source.qlik.prefix")
	}
	key := takeBase(columns, described)
	if named, ok := l.options.Keys[base]; ok {
		key = named
	}
	return columns, setKey(columns, key, changes.ID)
}

// takeBase copies what only the base table knows and returns the names of its key columns.
func takeBase(columns []change.Column, base *source.Relation) []string {
	if base == nil {
		return nil
	}
	key := make([]string, len(base.Columns)+1)
	for _, b := range base.Columns {
		for i := range columns {
			if columns[i].Name == b.Name {
				columns[i].Nullable = b.Nullable
			}
		}
		if b.KeyPosition > 0 {
			key[b.KeyPosition-1] = b.Name
		}
	}
	for i, name := range key {
		if name == "" {
			return key[:i]
		}
	}
	return key
}

func setKey(columns []change.Column, key []string, changes change.TableID) error {
	for position, name := range key {
		found := false
		for i := range columns {
			if columns[i].Name == name {
				columns[i].KeyPosition, found = position+1, true
			}
		}
		if !found {
			return fault.New(fault.Table, "discover", fmt.Errorf("key column %q is not in change table %s", name, changes), "name the key columns in source.keys")
		}
	}
	return nil
}
