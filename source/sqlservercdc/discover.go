package sqlservercdc

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// family is a base table with its capture instances, the oldest first.
type family struct {
	base      change.TableID
	instances []*instance
}

func (f *family) newest() *instance { return f.instances[len(f.instances)-1] }

// Discover reads the capture instances, describes their tables in one go and compiles a reader for each base table.
func (l *Layout) Discover(ctx context.Context) (source.Discovery, error) {
	all, err := l.instances(ctx)
	if err != nil {
		return source.Discovery{}, err
	}
	families := l.families(all)
	relations, err := l.describe(ctx, families)
	if err != nil {
		return source.Discovery{}, err
	}
	var found source.Discovery
	for _, f := range families {
		captured, err := l.capture(f, relations)
		if err != nil {
			found.Problems = append(found.Problems, &change.TableError{Table: f.base, Err: err})
			continue
		}
		found.Tables = append(found.Tables, captured)
	}
	l.warnUnnamed(all)
	found.Problems = append(found.Problems, l.missing(families, all)...)
	return found, l.warnForeign(ctx, found.Tables)
}

// families groups the instances by the base tables that the options choose, sorted by table.
func (l *Layout) families(all []*instance) []*family {
	byBase := make(map[change.TableID]*family)
	var out []*family
	for _, i := range all {
		if i.base.Name == "" || !l.options.Tables.Match(i.base) {
			continue
		}
		f := byBase[i.base]
		if f == nil {
			f = &family{base: i.base}
			byBase[i.base] = f
			out = append(out, f)
		}
		f.instances = append(f.instances, i)
	}
	for _, f := range out {
		sort.Slice(f.instances, func(a, b int) bool {
			x, y := f.instances[a], f.instances[b]
			return x.start < y.start || x.start == y.start && x.object < y.object
		})
	}
	sort.Slice(out, func(a, b int) bool { return out[a].base.String() < out[b].base.String() })
	return out
}

// describe asks the engine for the change tables and their base tables, by lower-case name: the catalog may spell names otherwise.
func (l *Layout) describe(ctx context.Context, families []*family) (map[change.TableID]*source.Relation, error) {
	var ids []change.TableID
	for _, f := range families {
		ids = append(ids, f.base)
		for _, i := range f.instances {
			ids = append(ids, i.changes)
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
		out[folded(relations[i].ID)] = &relations[i]
	}
	return out, nil
}

func folded(id change.TableID) change.TableID {
	return change.TableID{Schema: strings.ToLower(id.Schema), Name: strings.ToLower(id.Name)}
}

// warnUnnamed tells of instances whose base table the login may not see, under the name of the instance. An exactly named table that is left
// out so is a problem of its own: see missing.
func (l *Layout) warnUnnamed(all []*instance) {
	for _, i := range all {
		id := change.TableID{Schema: l.options.Schema, Name: i.name}
		if i.base.Name == "" && l.said.anew("unnamed "+i.name, "") {
			l.log.Warn("the table of a capture instance is not seen: it is left out", "instance", id.String(), "hint", "GRANT SELECT or VIEW DEFINITION on the table to the login")
		}
	}
}

// missing reports the exactly named tables that no capture instance belongs to. Where the login may not see the tables of some, that is the likely reason
// (case 90).
func (l *Layout) missing(families []*family, all []*instance) []*change.TableError {
	var unnamed []string
	for _, i := range all {
		if i.base.Name == "" {
			unnamed = append(unnamed, i.name)
		}
	}
	have := make(map[change.TableID]bool, len(families))
	for _, f := range families {
		have[f.base] = true
	}
	var out []*change.TableError
	for _, id := range l.options.Tables.Exact() {
		if have[id] {
			continue
		}
		hint := "run " + enableCall(id, "") + ", or check the spelling and that the login may see the table"
		if len(unnamed) > 0 {
			hint = "the login may not see the tables of the capture instances " + strings.Join(unnamed, ", ") + ": if one of them is this table's, GRANT VIEW DEFINITION ON " +
				l.engine.Table(id) + " (or SELECT) to the login; else " + hint
		}
		err := fault.New(fault.Table, "discover", fmt.Errorf("no capture instance of %s found", id), hint)
		out = append(out, &change.TableError{Table: id, Err: &Missing{err}})
	}
	return out
}

// enableCall is what the operator of the database has to run to have a table captured; instance may be empty.
func enableCall(id change.TableID, instance string) string {
	literal := func(s string) string { return "N'" + strings.ReplaceAll(s, "'", "''") + "'" }
	call := "EXEC sys.sp_cdc_enable_table @source_schema = " + literal(id.Schema) + ", @source_name = " + literal(id.Name) + ", @role_name = NULL"
	if instance != "" {
		call += ", @capture_instance = " + literal(instance)
	}
	return call
}

// Missing marks a table whose change table is not there.
type Missing struct{ error }

// Unwrap gives the cause.
func (m *Missing) Unwrap() error { return m.error }

// TableMissing tells the runner that the table is not broken but absent.
func (m *Missing) TableMissing() bool { return true }

// capture compiles the reader of a base table under the structure of its newest instance.
func (l *Layout) capture(f *family, relations map[change.TableID]*source.Relation) (*source.Captured, error) {
	p := &physical{family: f, base: relations[folded(f.base)]}
	for _, i := range f.instances {
		m, err := l.match(i, relations[folded(i.changes)], p.base)
		if err != nil {
			return nil, err
		}
		p.parts = append(p.parts, m)
	}
	p.signature = signature(f, relations)
	newest := p.parts[len(p.parts)-1]
	l.options.Observer.LeftOut(f.base, newest.leftOut)
	l.reportNotCaptured(f, p.base)
	out, err := l.read(p, change.NewTable(f.base, 1, newest.table), newest.memo())
	if err != nil {
		return nil, err
	}
	out.Former = p.former()
	return out, nil
}

// match finds the columns of an instance in its change table, by name (case 39).
func (l *Layout) match(i *instance, changes, base *source.Relation) (*part, error) {
	if changes == nil {
		hint := "GRANT SELECT ON SCHEMA::" + l.options.Schema + " to the login"
		if i.role != "" {
			hint += " (the instance's gating role is " + i.role + ")"
		}
		return nil, &Missing{fault.New(fault.Table, "discover", fmt.Errorf("change table %s is gone or may not be read", i.changes), hint)}
	}
	p := &part{instance: i, changes: changes.ID}
	if err := p.findHeaders(changes); err != nil {
		return nil, err
	}
	if p.headers.command == nil && l.said.anew("command "+i.name, "") {
		l.log.Warn("the change table has no __$command_id: changes of one row in one transaction are ordered by __$seqval alone", "table", changes.ID.String(),
			"hint", "update the server, or make the capture instance anew")
	}
	for _, c := range i.columns {
		if c.computed {
			continue
		}
		if err := l.addColumn(p, c, changes, base); err != nil {
			return nil, err
		}
	}
	if len(p.table) == 0 {
		return nil, fault.New(fault.Table, "discover", fmt.Errorf("capture instance %q has no column that can be read", i.name), "")
	}
	return p, l.setKey(p, base)
}

func (l *Layout) addColumn(p *part, c captured, changes, base *source.Relation) error {
	found := columnNamed(changes.Columns, c.name)
	if found == nil {
		return fault.New(fault.Table, "discover", fmt.Errorf("captured column %q is not in change table %s", c.name, changes.ID), "")
	}
	col := *found
	col.Name, col.KeyPosition, col.Nullable = c.name, 0, true
	if base != nil {
		if b := columnNamed(base.Columns, c.name); b != nil {
			col.Nullable = b.Nullable
			if b.Native == "text" || b.Native == "ntext" || b.Native == "image" {
				col.Native = b.Native
			}
		}
	}
	if col.Type.Kind == change.Unsupported {
		skip, err := l.unsupported(&col, p.instance.base, changes.ID)
		if skip {
			p.leftOut++
		}
		if skip || err != nil {
			return err
		}
	}
	p.table = append(p.table, col)
	p.bits = append(p.bits, c.ordinal-1)
	p.read = append(p.read, change.Column{Name: found.Name, Type: col.Type, Native: col.Native, Nullable: true})
	return nil
}

// asText are the types whose values the server itself can show as text; see the engine's Column.
var asText = map[string]change.Type{"geometry": {Kind: change.NClob}, "geography": {Kind: change.NClob}, "sql_variant": {Kind: change.NClob}}

func (l *Layout) unsupported(c *change.Column, base, changes change.TableID) (skip bool, err error) {
	policy := l.options.unsupported(base, c)
	switch text, known := asText[c.Native]; {
	case policy == UnsupportedSkip:
		if l.said.anew("skip "+changes.String()+" "+c.Name, c.Native) {
			l.log.Warn("column left out: no message can hold its type", "table", changes.String(), "column", c.Name, "type", c.Native)
		}
		return true, nil
	case policy == UnsupportedString && known:
		c.Type = text
		return false, nil
	}
	return false, fault.New(fault.Table, "discover", fmt.Errorf("column %q of %s has type %s, which cannot be carried", c.Name, changes, c.Native),
		"set source.sqlserver_cdc.unsupported_types to skip, or to string for sql_variant, geometry and geography; or for this type or column alone with "+
			"unsupported_by_type or unsupported_by_column")
}

// columnNamed finds a column: exactly, else whatever the case of its name.
func columnNamed(columns []change.Column, name string) *change.Column {
	var found *change.Column
	for i := range columns {
		switch {
		case columns[i].Name == name:
			return &columns[i]
		case found == nil && strings.EqualFold(columns[i].Name, name):
			found = &columns[i]
		}
	}
	return found
}

// setKey takes the key from the options, else from the instance's index columns, else from the base table.
func (l *Layout) setKey(p *part, base *source.Relation) error {
	names, named := l.options.Keys[p.instance.base]
	if !named {
		names = p.instance.key
	}
	for n, name := range names {
		c := columnNamed(p.table, name)
		if c == nil {
			return fault.New(fault.Table, "discover", fmt.Errorf("key column %q is not captured by %q", name, p.instance.name), "name the key columns in source.keys")
		}
		c.KeyPosition = n + 1
	}
	if len(names) == 0 && base != nil {
		takeKey(p.table, base.Columns)
	}
	return nil
}

// takeKey copies the base table's key if all of it is captured.
func takeKey(columns, base []change.Column) {
	var key []*change.Column
	positions := make([]int, 0, 4)
	for i := range base {
		if base[i].KeyPosition == 0 {
			continue
		}
		c := columnNamed(columns, base[i].Name)
		if c == nil {
			return
		}
		key, positions = append(key, c), append(positions, base[i].KeyPosition)
	}
	for i, c := range key {
		c.KeyPosition = positions[i]
	}
}

// reportNotCaptured tells of columns of the table that its newest instance does not have.
func (l *Layout) reportNotCaptured(f *family, base *source.Relation) {
	names := notCaptured(f, base)
	if base == nil {
		return
	}
	l.options.Observer.NotCaptured(f.base, len(names))
	if len(names) == 0 || !l.said.anew("columns "+f.base.String(), strings.Join(names, ",")) {
		return
	}
	i := f.newest()
	l.log.Warn("columns of the table are not captured", "table", f.base.String(), "columns_not_captured", names, "instance", i.name, "ddl", i.ddl,
		"hint", "if they are wanted: "+enableCall(f.base, nextInstance(f)))
}

// notCaptured lists the columns of a base table that its newest instance does not have: an ALTER TABLE never reaches an instance (case 31).
func notCaptured(f *family, base *source.Relation) (names []string) {
	if base == nil {
		return nil
	}
	for _, c := range base.Columns {
		captured := false
		for _, have := range f.newest().columns {
			captured = captured || strings.EqualFold(have.name, c.Name)
		}
		if !captured && !contains(base.Computed, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// nextInstance is a name that none of the table's instances has.
func nextInstance(f *family) string {
	for n := 2; ; n++ {
		name := fmt.Sprintf("%s_%s_v%d", f.base.Schema, f.base.Name, n)
		taken := false
		for _, i := range f.instances {
			taken = taken || strings.EqualFold(i.name, name)
		}
		if !taken {
			return name
		}
	}
}

var errNoHeader = errors.New("it is no change table")
