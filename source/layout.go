package source

import (
	"context"
	"time"

	"ctbridge/bridge/change"
)

// Layout is one kind of change table on one engine.
type Layout interface {
	// Discover finds the captured tables. A table that cannot be read is a problem of its own and does not hide the others.
	Discover(ctx context.Context) (Discovery, error)
	// Detect gives the newest position of every table with one query of stable text; the result is parallel to tables. Only when that
	// query fails on a table are the tables asked one by one.
	Detect(ctx context.Context, tables []*Captured) ([]Newest, error)
	// Page reads the events of one table with after < position <= upto, in order, before-images paired (I7). It holds about limit events
	// and never splits rows of equal position.
	Page(ctx context.Context, t *Captured, after, upto change.Position, limit int) (*Page, error)
	// Positions lists the positions of the events in (after, upto], for the look-back, in order, duplicates included. A row that a filter leaves out
	// is no event, here and for Count, Page and Peek; Detect and Oldest tell of all rows that are there.
	Positions(ctx context.Context, t *Captured, after, upto change.Position) ([]change.Position, error)
	// Count is len(Positions) without reading them.
	Count(ctx context.Context, t *Captured, after, upto change.Position) (int64, error)
	// Changed asks the catalog, in one go, which of the tables it describes otherwise than they were captured; the result is parallel to tables.
	// Asked after a page was read, "no" proves that the page was read under the captured structure.
	Changed(ctx context.Context, tables []*Captured) ([]bool, error)
	// Under compiles a reader that gives the rows of t as an earlier structure of the table had them; memo is the Memo of that structure's
	// Captured. It is an error where rows of that structure can no longer be told without hiding a value.
	Under(t *Captured, earlier *change.Table, memo []byte) (*Captured, error)
	// Oldest gives the lowest position that the change table holds, empty where it is empty, and whether a row has the position at.
	Oldest(ctx context.Context, t *Captured, at change.Position) (oldest change.Position, has bool, err error)
	// Peek finds the first event after a position over the tables: its position and transaction id, empty if there is none.
	Peek(ctx context.Context, tables []*Captured, after change.Position) (change.Position, []byte, error)
}

// Newest is what detection says of one table.
type Newest struct {
	Position change.Position // empty for an empty change table
	Problem  error           // why the table cannot be read, nil if it can
	Reset    *Reset          // the table no longer holds what it held; filled by the poller
	Purged   bool            // the row at the asked position has gone, and nothing unread with it; filled by the poller
}

// Captured is one table with its change table.
type Captured struct {
	Table     *change.Table
	Changes   change.TableID // the change table
	Identity  string         // the change table's catalog identity
	Succeeded []string       // identities of change tables that it follows as planned, and whose rows are still read
	HasTx     bool           // rows carry a transaction id
	Filter    string         // SQL predicate that the rows of the change table must meet to be events; empty = all are
	PageBytes int            // how many bytes a page may hold before it ends early; 0 = DefaultPageBytes
	KeepBad   bool           // give rows that cannot be decoded as bad events (change.Event) instead of ending the page before them
	Reader    any            // the layout's own compiled statements
	Memo      []byte         // what the layout must know of this structure to read its rows after the table was changed
	Former    []Former       // structures that rows before those of Table have, oldest first: for a table that was never read yet
}

// Former is a structure that a layout finds together with a table's newest one.
type Former struct {
	Columns []change.Column
	Memo    []byte
	Upto    change.Position // no row above it has this structure
}

// Discovery is what a layout found.
type Discovery struct {
	Tables   []*Captured // sorted by TableID
	Problems []*change.TableError
}

// Rememberer is a layout that learns something of its data which must outlive a restart.
type Rememberer interface {
	Memory() []byte // nil when nothing is known yet
	Recall(memory []byte) error
}

// Clocked is a layout whose control tables tell how far the writer of the change tables has come.
type Clocked interface {
	// Applied gives the position up to which the writer has applied everything; ok is false where no control table tells.
	Applied(ctx context.Context) (upto change.Position, ok bool, err error)
	// Closed gives the end of the newest closed change-data partition as a position.
	Closed(ctx context.Context) (upto change.Position, ok bool, err error)
}

// Historian is a layout whose control tables tell at which position a table's structure changed.
type Historian interface {
	// FirstDDL gives the position of the table's first structure change after a position; ok is false where no control table tells of one.
	FirstDDL(ctx context.Context, t *Captured, after change.Position) (at change.Position, ok bool, err error)
}

// Based is a layout whose change tables belong to base tables that can be read whole.
type Based interface {
	// Base describes the base table of t as it was captured. Its error has class Table and says why the base table cannot be read.
	Base(t *Captured) (*Base, error)
}

// Base is a base table to be read.
type Base struct {
	ID      change.TableID
	Columns []change.Column // parallel to the columns of the captured table
	Key     []change.Column // in key order; unique, without NULLs; empty for a table without key
}

// Timed is a layout whose positions tell when a change happened.
type Timed interface {
	// Before gives a position that lies above all changes before a moment and below all others.
	Before(at time.Time) change.Position
}

// Dated is a layout whose control tables tell when a change happened.
type Dated interface {
	// Since gives a position of a table that lies below all its changes of a moment or later. Where clocks do not tell exactly, or nobody knows of so late
	// a moment yet, it lies lower: nothing that was asked for is left out.
	Since(ctx context.Context, t *Captured, at time.Time) (change.Position, error)
}

// Restructured is the error of a table whose structure has changed since it was captured: it must be discovered again before it is read on.
type Restructured struct{ Changes change.TableID }

// Error says so.
func (r *Restructured) Error() string {
	return "the structure of " + r.Changes.String() + " has changed"
}
