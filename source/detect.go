package source

import (
	"strings"
	"sync"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Detection is a layout's detection query. Its text depends only on the set of tables; the statement of the last set is kept. The zero value
// is ready.
type Detection struct {
	mu        sync.Mutex
	text      string
	statement Statement
}

// Statement gives the union of the selects as a statement with those columns.
func (d *Detection) Statement(e Engine, selects []string, columns []change.Column) Statement {
	text := strings.Join(selects, "\n")
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text != text {
		d.text, d.statement = text, e.Prepare(e.Union(selects), columns)
	}
	return d.statement
}

// DetectApart asks for all tables at once. Where one table spoils the question for all, each is asked alone, and what is wrong with one becomes its
// problem, as told by problem.
func DetectApart(tables []*Captured, detect func([]*Captured) ([]Newest, error), problem func(*Captured, error) error) ([]Newest, error) {
	if len(tables) == 0 {
		return nil, nil
	}
	out, err := detect(tables)
	switch {
	case err == nil || fault.ClassOf(err) != fault.Table:
		return out, err
	case len(tables) == 1:
		return []Newest{{Problem: problem(tables[0], err)}}, nil
	}
	out = make([]Newest, len(tables))
	for i := range tables {
		one, err := DetectApart(tables[i:i+1], detect, problem)
		if err != nil {
			return nil, err
		}
		out[i] = one[0]
	}
	return out, nil
}
