package source

import (
	"context"

	"ctbridge/bridge/change"
)

// Layout is one kind of change table on one engine.
type Layout interface {
	// Discover finds the captured tables. A table that cannot be read is a problem of its own and does not hide the others.
	Discover(ctx context.Context) (Discovery, error)
	// Detect gives the newest position of every table with one query of stable text; the result is parallel to tables. A table that
	// cannot be read is a *change.TableError.
	Detect(ctx context.Context, tables []*Captured) ([]change.Position, error)
	// Page reads the events of one table with after < position <= upto, in order, before-images paired (I7). It holds about limit events
	// and never splits rows of equal position.
	Page(ctx context.Context, t *Captured, after, upto change.Position, limit int) (*Page, error)
	// Positions lists the positions of the events in (after, upto], for the look-back, in order, duplicates included.
	Positions(ctx context.Context, t *Captured, after, upto change.Position) ([]change.Position, error)
	// Count is len(Positions) without reading them.
	Count(ctx context.Context, t *Captured, after, upto change.Position) (int64, error)
	// Peek finds the first event after a position over the tables: its position and transaction id, empty if there is none.
	Peek(ctx context.Context, tables []*Captured, after change.Position) (change.Position, []byte, error)
}

// Captured is one table with its change table.
type Captured struct {
	Table    *change.Table
	Changes  change.TableID // the change table
	Identity string         // the change table's catalog identity
	HasTx    bool           // rows carry a transaction id
	Reader   any            // the layout's own compiled statements
}

// Discovery is what a layout found.
type Discovery struct {
	Tables   []*Captured // sorted by TableID
	Problems []*change.TableError
}

// Page is a run of events of one table. Its events and their bytes live as long as it does.
type Page struct {
	Events []change.Event
	More   bool // rows may remain up to the asked position
	Arena  change.Arena
	// Failed is the error that ended the page early: the event after the last one cannot be read (fault.Poison). The events before it
	// are good.
	Failed error
}
