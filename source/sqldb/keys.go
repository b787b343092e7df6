package sqldb

import "ctbridge/bridge/change"

// Index is a primary key or unique index as a catalog lists it.
type Index struct {
	Name    string
	Primary bool
	Columns []string // in index order; "" stands for an expression
}

// SetKey fills the key positions of columns from the primary key, else from the first index, in the given order, whose columns are
// all there and NOT NULL. Without either the table has no key.
func SetKey(columns []change.Column, indexes []Index) {
	var best *Index
	for i := range indexes {
		candidate := &indexes[i]
		if candidate.Primary && present(columns, candidate.Columns) {
			best = candidate
			break
		}
		if best == nil && present(columns, candidate.Columns) && withoutNulls(columns, candidate.Columns) {
			best = candidate
		}
	}
	if best == nil {
		return
	}
	for position, name := range best.Columns {
		columns[find(columns, name)].KeyPosition = position + 1
	}
}

func present(columns []change.Column, names []string) bool {
	for _, name := range names {
		if find(columns, name) < 0 {
			return false
		}
	}
	return len(names) > 0
}

func withoutNulls(columns []change.Column, names []string) bool {
	for _, name := range names {
		if columns[find(columns, name)].Nullable {
			return false
		}
	}
	return true
}

func find(columns []change.Column, name string) int {
	for i := range columns {
		if columns[i].Name == name {
			return i
		}
	}
	return -1
}
