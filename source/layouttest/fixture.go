package layouttest

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Fixture is an empty scratch database and a layout on it. It writes changes in the layout's own way.
type Fixture interface {
	Engine() source.Engine
	Layout(o Options) source.Layout
	ID(table string) change.TableID // of a base table
	// Create makes a base table and its change table.
	Create(t testing.TB, table Table)
	// Fill puts rows into the base table alone.
	Fill(t testing.TB, table Table, rows ...[]any)
	// Write adds changes to the change table alone. Changes of one number are one transaction and one position; a higher number is a higher position,
	// wherever in the table its rows stand.
	Write(t testing.TB, table Table, changes ...Change)
	// Grow adds a column at the end, to the base table and to what the change table has of changes above a number.
	Grow(t testing.TB, table Table, column Column, above int) Table
	// Vanish drops the change table.
	Vanish(t testing.TB, table Table)
	// Number is the number of a change, as text, by its position; Position lies behind what has the number and before what has a higher one.
	Number(p change.Position) string
	Position(number int) change.Position
}

// Limited is a fixture on a server that stands in for another and lacks something.
type Limited interface {
	Lacks(check string) (reason string) // "" = nothing that the check needs
}

// Options are those that every layout has. The zero value of a field means its default, and Tables those of the scratch database.
type Options struct {
	Tables    Choice
	Keys      map[change.TableID][]string
	PageBytes int
}

// Choice chooses base tables.
type Choice interface {
	Match(id change.TableID) bool
	Exact() []change.TableID
}

// Table is a base table.
type Table struct {
	Name    string
	Columns []Column
	Key     []string
}

// Column is a column of a base table; its type is written as every product takes it.
type Column struct {
	Name, Type string
	NotNull    bool
}

// Change is a change of one row. An update without Before has no before-image; one without After is a before-image that stands alone. An Op that is
// none stands for an operation that nobody knows.
type Change struct {
	Number        int
	Op            change.Op
	Before, After []any
}

// unknown is an operation that nobody knows.
const unknown change.Op = 200

// parcelOf is the table of most checks.
func parcelOf(name string) Table {
	return Table{Name: name, Key: []string{"id"}, Columns: []Column{{"id", "int", true}, {"status", "varchar(20)", false}, {"fee", "decimal(10,2)", false}}}
}

func inserted(number int, values ...any) Change {
	return Change{Number: number, Op: change.OpInsert, After: values}
}

func updated(number int, before, after []any) Change {
	return Change{Number: number, Op: change.OpUpdate, Before: before, After: after}
}

func deleted(number int, values ...any) Change {
	return Change{Number: number, Op: change.OpDelete, Before: values}
}

func of(values ...any) []any { return values }
