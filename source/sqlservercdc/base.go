package sqlservercdc

import (
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

var _ source.Based = (*Layout)(nil)

// Base finds the captured columns in the base table, by name. Types that only their text can show are read as that text from both.
func (l *Layout) Base(t *source.Captured) (*source.Base, error) {
	base := readerOf(t).physical.base
	if base == nil {
		return nil, noLoad(t, fmt.Errorf("base table %s is not there, or may not be read", t.Table.ID), "GRANT SELECT on it, or set full_load.mode: none")
	}
	out := &source.Base{ID: base.ID}
	for _, c := range t.Table.Columns {
		found := columnNamed(base.Columns, c.Name)
		if found == nil {
			return nil, noLoad(t, fmt.Errorf("base table %s has no column %q, which is captured", base.ID, c.Name), "make a new capture instance")
		}
		column := *found
		if column.Type.Kind == change.Unsupported {
			column.Type = c.Type
		}
		if column.Type.Kind != c.Type.Kind {
			return nil, noLoad(t, fmt.Errorf("column %q is %s in the change table and %s in base table %s", c.Name, c.Native, column.Native, base.ID), "make a new capture instance")
		}
		out.Columns = append(out.Columns, column)
	}
	// The key must be the catalog's own: one that is only named in the options may hold NULLs or equal rows.
	for _, i := range change.NewTable(change.TableID{}, 0, base.Columns).Key {
		out.Key = append(out.Key, base.Columns[i])
	}
	return out, nil
}

func noLoad(t *source.Captured, err error, hint string) error {
	return fault.New(fault.Table, "full load of "+t.Table.ID.String(), err, hint)
}
