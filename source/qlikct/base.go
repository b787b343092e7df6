package qlikct

import (
	"fmt"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

var (
	_ source.Based = (*Layout)(nil)
	_ source.Timed = (*Layout)(nil)
)

// Base finds the columns of a change table in its base table, by name.
func (l *Layout) Base(t *source.Captured) (*source.Base, error) {
	r := readerOf(t)
	base := r.physical.base
	if base == nil {
		return nil, noLoad(t, fmt.Errorf("base table %s is not there, or may not be read", t.Table.ID), "grant SELECT on it, or set full_load.mode: none")
	}
	out := &source.Base{ID: base.ID, Key: keyOf(base.Columns)}
	for i := range t.Table.Columns {
		c := &t.Table.Columns[i]
		at := columnNamed(base.Columns, c.Name)
		switch {
		case at < 0:
			return nil, noLoad(t, fmt.Errorf("base table %s has no column %q, which its change table has", base.ID, c.Name),
				"add the column, or leave it out with source.qlik.ignore_columns")
		case !sameValues(c.Type.Kind, base.Columns[at].Type.Kind):
			return nil, noLoad(t, fmt.Errorf("column %q is %s in the change table and %s in base table %s", c.Name, c.Native, base.Columns[at].Native, base.ID), "")
		}
		out.Columns = append(out.Columns, base.Columns[at])
	}
	return out, nil
}

func noLoad(t *source.Captured, err error, hint string) error {
	return fault.New(fault.Table, "full load of "+t.Table.ID.String(), err, hint)
}

func columnNamed(columns []change.Column, name string) int {
	for i := range columns {
		if columns[i].Name == name {
			return i
		}
	}
	return -1
}

// keyOf gives the key columns in key order. The key must be the catalog's own: columns that were only named in the options may hold NULLs or
// equal rows, which chunks by key would pass over.
func keyOf(columns []change.Column) []change.Column {
	var key []change.Column
	for _, i := range change.NewTable(change.TableID{}, 0, columns).Key {
		key = append(key, columns[i])
	}
	return key
}

// Before is the end of the hundredth of a second that lies before a moment.
func (l *Layout) Before(at time.Time) change.Position {
	const unit = 10 * time.Millisecond
	return endOf(at.Add(unit - 1).Truncate(unit).Add(-unit))
}
