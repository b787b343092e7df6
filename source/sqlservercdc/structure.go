package sqlservercdc

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// part is one capture instance with its change table.
type part struct {
	instance *instance
	changes  change.TableID // as the catalog spells it
	headers  headers
	table    []change.Column // data columns, as messages name them
	read     []change.Column // parallel to table: the change table's own columns
	bits     []int           // parallel to table: bit of the column in update masks
	leftOut  int             // captured columns that a policy leaves out
}

// headers are the header columns of a change table; command is nil on old servers.
type headers struct{ lsn, command, seqval, operation, mask *change.Column }

func (p *part) findHeaders(changes *source.Relation) error {
	h := &p.headers
	h.lsn = columnNamed(changes.Columns, "__$start_lsn")
	h.command = columnNamed(changes.Columns, "__$command_id")
	h.seqval = columnNamed(changes.Columns, "__$seqval")
	h.operation = columnNamed(changes.Columns, "__$operation")
	h.mask = columnNamed(changes.Columns, "__$update_mask")
	if h.lsn == nil || h.seqval == nil || h.operation == nil || h.mask == nil {
		return fault.New(fault.Table, "discover", fmt.Errorf("%s lacks one of __$start_lsn, __$seqval, __$operation and __$update_mask: %w", changes.ID, errNoHeader), "")
	}
	return nil
}

// physical is everything that the rows of one base table are read from: the parts follow one another at their start LSNs (case 32).
type physical struct {
	family    *family
	base      *source.Relation // nil where the login may not see it
	parts     []*part
	signature string
}

// from is the position before the first row of a part; the first part has no beginning.
func (p *physical) from(n int) change.Position {
	if n == 0 {
		return ""
	}
	return startOf(p.parts[n].instance.start)
}

// former lists the structures of the older parts, where they differ from the next one's.
func (p *physical) former() []source.Former {
	var out []source.Former
	for n := range p.parts[:len(p.parts)-1] {
		older, newer := p.parts[n], p.parts[n+1]
		if older.instance.start < newer.instance.start && !reflect.DeepEqual(older.table, newer.table) {
			out = append(out, source.Former{Columns: older.table, Memo: older.memo(), Upto: p.from(n + 1)})
		}
	}
	return out
}

// memo names the instance that a structure belongs to; its rows can be read as long as that instance is there.
type memo struct {
	Object   int64  `json:"object"`
	Instance string `json:"instance"`
	Start    string `json:"start"`
}

func (p *part) memo() []byte {
	out, _ := json.Marshal(memo{p.instance.object, p.instance.name, p.instance.start})
	return out
}

// read compiles a table's reader.
func (l *Layout) read(p *physical, t *change.Table, memo []byte) (*source.Captured, error) {
	newest := p.parts[len(p.parts)-1]
	out := &source.Captured{
		Table: t, Changes: newest.changes, Identity: strconv.FormatInt(newest.instance.object, 10), HasTx: true, PageBytes: l.options.PageBytes, Memo: memo,
	}
	for _, older := range p.parts[:len(p.parts)-1] {
		out.Succeeded = append(out.Succeeded, strconv.FormatInt(older.instance.object, 10))
	}
	if l.options.Filter != nil {
		out.Filter = l.options.Filter(t.ID)
	}
	out.Reader = newReader(l, out, p)
	return out, nil
}

// Under compiles a reader that tells rows as an earlier structure had them.
func (l *Layout) Under(t *source.Captured, earlier *change.Table, encoded []byte) (*source.Captured, error) {
	var m memo
	if err := json.Unmarshal(encoded, &m); err != nil {
		return nil, fmt.Errorf("structure of %s version %d: %w", earlier.ID, earlier.Version, err)
	}
	p := readerOf(t).physical
	for _, part := range p.parts {
		if part.instance.object == m.Object || reflect.DeepEqual(part.table, earlier.Columns) {
			return l.read(p, earlier, encoded)
		}
	}
	return nil, fmt.Errorf("capture instance %q is gone", m.Instance)
}

// FirstDDL is the start of the newest capture instance: rows from it on have its structure.
func (l *Layout) FirstDDL(_ context.Context, t *source.Captured, after change.Position) (change.Position, bool, error) {
	p := readerOf(t).physical
	at := startOf(p.parts[len(p.parts)-1].instance.start)
	return at, at > after, nil
}

// signature is the text of everything in the catalog that a capture depends on. The start of an instance is part of it: the clean-up raises it, and a
// page that was read across that moment may lack rows.
func signature(f *family, relations map[change.TableID]*source.Relation) string {
	var b strings.Builder
	describe := func(r *source.Relation) {
		if r != nil {
			fmt.Fprintf(&b, "%s %q %+v %v\n", r.ID, r.Identity, r.Columns, r.Computed)
		}
	}
	describe(relations[folded(f.base)])
	for _, i := range f.instances {
		fmt.Fprintf(&b, "%d %q %s\n", i.object, i.name, i.start)
		describe(relations[folded(i.changes)])
	}
	return b.String()
}

// Changed reads the instances again, describes their tables and compares.
func (l *Layout) Changed(ctx context.Context, tables []*source.Captured) ([]bool, error) {
	all, err := l.bases(ctx)
	if err != nil {
		return nil, err
	}
	now := make(map[change.TableID]*family)
	var asked []*family
	wanted := make(map[change.TableID]bool, len(tables))
	for _, t := range tables {
		wanted[t.Table.ID] = true
	}
	for _, f := range l.families(all) {
		if wanted[f.base] {
			now[f.base] = f
			asked = append(asked, f)
		}
	}
	relations, err := l.describe(ctx, asked)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(tables))
	for i, t := range tables {
		f := now[t.Table.ID]
		out[i] = f == nil || signature(f, relations) != readerOf(t).physical.signature
	}
	return out, nil
}
