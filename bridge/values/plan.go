package values

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Plan changes the events of one table version. It is not safe for concurrent use.
type Plan struct {
	table   *change.Table
	columns []column // parallel to the columns of table
	cuts    []int    // those that may be cut
	mac     hash.Hash
	sum     []byte

	// Of the event that was changed last.
	event         change.Event
	after, before []change.Value
	mask          change.Mask
	text          []byte // texts that values point to
	scratch       []byte
	lengths       [2][]int // by image and cut: the length that a value had, 0 where it was not cut
	headers       []change.Header
	digits        []byte
}

// column is where a column of the changed table comes from and what happens to it.
type column struct {
	from   int
	source *change.Column
	decision
	value change.Value // of a constant
	cut   int          // index into cuts
	names [2]string    // of the headers that tell the length before the cut, by image
}

// The images.
const (
	newRow = iota
	oldRow
)

// Names of the record headers that tell how long a value was that was cut, in characters, or bytes where it is binary.
const (
	HeaderTruncated       = "ctbridge.truncated."        // + column, in the new row
	HeaderTruncatedBefore = "ctbridge.truncated_before." // + column, in the old or deleted row
)

// Plan compiles what the rules do to a table version; nil where they do nothing. Errors have class Table.
func (r *Rules) Plan(t *change.Table) (*Plan, error) {
	if r == nil || len(r.rules) == 0 {
		return nil, nil
	}
	p := &Plan{}
	var columns []change.Column
	changed := false
	for i := range t.Columns {
		c := &t.Columns[i]
		d, err := r.decide(t.ID, c)
		if err == nil {
			err = d.allowed(t, c)
		}
		if err != nil {
			return nil, fault.New(fault.Table, "columns of "+t.ID.String(), err, "")
		}
		changed = changed || d.do != keep
		if d.do != exclude {
			p.add(i, c, d)
			columns = append(columns, d.told(*c))
		}
	}
	switch {
	case !changed:
		return nil, nil
	case len(columns) == 0:
		return nil, fault.New(fault.Table, "columns of "+t.ID.String(), errors.New("the rules leave no column"), "leave the table out with source.tables")
	}
	renumberKey(columns, t)
	p.table = change.NewTable(t.ID, t.Version, columns)
	p.prepare(r.salt)
	return p, nil
}

// allowed refuses what would make rows hard to tell apart, and what a type cannot have done to it.
func (d *decision) allowed(t *change.Table, c *change.Column) error {
	if d.do == keep {
		return nil
	}
	if why := d.fits(c.Type); why != "" {
		return fault.New(fault.Table, d.by.Name, fmt.Errorf("column %q (%s) %s: it cannot fall under %s", c.Name, c.Native, why, d.do), "name other columns, or narrow the rule with types")
	}
	if c.KeyPosition == 0 || d.by.AllowKey || d.do == asText {
		return nil
	}
	return fault.New(fault.Table, d.by.Name, fmt.Errorf("column %q is in the key of %s and falls under %s: consumers could no longer tell rows apart", c.Name, t.ID, d.do),
		"leave it alone, or set allow_key: true in the rule if you mean it")
}

func (p *Plan) add(from int, c *change.Column, d decision) {
	out := column{from: from, source: c, decision: d}
	switch d.do {
	case constant:
		out.value = change.TextValue([]byte(d.text))
	case truncate:
		out.cut = len(p.cuts)
		p.cuts = append(p.cuts, len(p.columns))
		out.names = [2]string{HeaderTruncated + c.Name, HeaderTruncatedBefore + c.Name}
	case keep, exclude, hashed, nullify, asText:
	}
	p.columns = append(p.columns, out)
}

// renumberKey closes the gaps that left-out key columns make.
func renumberKey(columns []change.Column, t *change.Table) {
	position := 0
	for _, i := range t.Key {
		for j := range columns {
			if columns[j].KeyPosition > 0 && columns[j].Name == t.Columns[i].Name {
				position++
				columns[j].KeyPosition = position
			}
		}
	}
}

func (p *Plan) prepare(salt []byte) {
	n := len(p.columns)
	p.after, p.before, p.mask = make([]change.Value, n), make([]change.Value, n), make(change.Mask, change.MaskBytes(n))
	for i := range p.lengths {
		p.lengths[i] = make([]int, len(p.cuts))
	}
	p.headers = make([]change.Header, 0, 2*len(p.cuts))
	for i := range p.columns {
		if p.columns[i].do == hashed {
			p.mac = hmac.New(sha256.New, salt)
			return
		}
	}
}

// Table is the table as envelopes see it.
func (p *Plan) Table() *change.Table { return p.table }

// Shown gives an event without the values that the rules exclude or change, and how many those were: they stand as not captured. It is for events that
// Apply cannot take, such as those with values that could not be decoded.
func (p *Plan) Shown(ev *change.Event) (shown *change.Event, hidden int) {
	open := make([]bool, len(ev.Table.Columns))
	for i := range p.columns {
		open[p.columns[i].from] = p.columns[i].do == keep || p.columns[i].do == asText
	}
	image := func(row []change.Value) []change.Value {
		if row == nil {
			return nil
		}
		out := append([]change.Value{}, row...)
		for i := range out {
			if !open[i] {
				out[i] = change.Absent
				hidden++
			}
		}
		return out
	}
	out := *ev
	out.After, out.Before = image(ev.After), image(ev.Before)
	return &out, hidden
}

// Shape tells shapes apart: two versions of the rules that make the same columns of a table have the same. A nil plan has none.
func (p *Plan) Shape() string {
	if p == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", p.table.Columns))
	return hex.EncodeToString(sum[:8])
}
