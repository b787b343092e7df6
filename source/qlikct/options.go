package qlikct

import "ctbridge/bridge/change"

// OrphanPolicy says what to do with a before-image that has no update.
type OrphanPolicy string

// The orphan policies.
const (
	OrphanFail OrphanPolicy = "fail" // stop the table (default)
	OrphanSkip OrphanPolicy = "skip" // leave it out, counted
)

// Tables chooses the base tables.
type Tables interface {
	Match(id change.TableID) bool
	// Exact lists the tables named without a pattern: one that is not found is a problem.
	Exact() []change.TableID
}

// Options of the layout. The zero value of a field means its default.
type Options struct {
	Tables        Tables
	Keys          map[change.TableID][]string // key columns where the base table's catalog entry has none or is not there
	Prefix        string                      // of the header columns, default "header__"
	Suffix        string                      // of the change tables, default "__ct"
	Schema        string                      // schema of the change tables where it is not the base tables' own
	ControlSchema string                      // schema of attrep_status and its like, default: wherever one is found
	ControlTask   string                      // task name in the control tables, default: every task
	MaskOrder     ByteOrder
	Orphans       OrphanPolicy
	Ignore        []string // columns of change tables that are not data
	PageBytes     int      // see source.Captured
	// Filter gives the SQL predicate that the rows of a table's change table must meet to be events, empty for all; nil = all rows of all tables.
	Filter func(base change.TableID) string
}

func (o Options) withDefaults() Options {
	if o.Prefix == "" {
		o.Prefix = "header__"
	}
	if o.Suffix == "" {
		o.Suffix = "__ct"
	}
	if o.MaskOrder == "" {
		o.MaskOrder = OrderAuto
	}
	if o.Orphans == "" {
		o.Orphans = OrphanFail
	}
	return o
}
