package source

import (
	"context"

	"ctbridge/bridge/change"
)

// Engine is one database product behind one connection pool. Its errors are *fault.Error, classified by the vendor's number: connection
// trouble, deadlocks, lock time-outs and fail-overs are fault.Retry; a missing table or column and a missing right are fault.Table; a
// refused login is fault.Fatal. Methods may be called from several goroutines. Every read sees a fresh snapshot and never
// uncommitted rows.
type Engine interface {
	Name() string // "sqlserver", "postgres", "mysql", "sqlite"
	Dialect
	// Tables lists every table (and view) that the login can see, in catalog spelling, system schemas left out.
	Tables(ctx context.Context) ([]change.TableID, error)
	// Describe reads columns, key and identity of the named tables in a bounded number of queries. A table that is not there is left
	// out of the result. Column types without decoder are change.Unsupported; Native names them.
	Describe(ctx context.Context, ids []change.TableID) ([]Relation, error)
	// Prepare makes a statement whose result has the given columns, in order. It does not talk to the server.
	Prepare(sql string, columns []change.Column) Statement
	// Ping asks the server for a sign of life.
	Ping(ctx context.Context) error
	Close() error
}

// Dialect is how a product writes SQL. All names come from its catalog and are quoted with escaping.
type Dialect interface {
	Quote(identifier string) string
	// Table is the quoted, qualified name.
	Table(id change.TableID) string
	// Param is the placeholder of argument n, from 1, typed so that an index on a column of that kind is used. Numbers rise in the order of
	// the text, each written once: some products have only positional placeholders.
	Param(n int, kind ArgKind) string
	// Limit is the trailing clause, after ORDER BY, that keeps the first rows; rows is a placeholder.
	Limit(rows string) string
	// Column is the select expression that gives a column of table alias in a form the engine decodes.
	Column(alias string, c change.Column) string
	// KeyText is the select expression that gives a key column of table alias as text, and KeyParam a placeholder for such a text that is the
	// column's value again, of a type that compares with the column as ORDER BY sorts it: the server alone compares keys.
	KeyText(alias string, c change.Column) string
	KeyParam(n int, c change.Column) string
	// Union joins complete SELECT statements with UNION ALL, within the product's limits on compound statements.
	Union(selects []string) string
}

// ArgKind is the kind of a bound argument.
type ArgKind uint8

// The kinds of arguments.
const (
	ArgText  ArgKind = iota // Go string; a single-byte character type on the server (SQL Server varchar)
	ArgInt                  // Go int64
	ArgBytes                // Go []byte
)

// Statement is a query with a fixed text.
type Statement interface {
	// Query runs it. Arguments are string, int64 or []byte. The caller closes the rows before it asks the same engine for more
	// than its pool can give.
	Query(ctx context.Context, args ...any) (Rows, error)
}

// Rows is a result being read.
type Rows interface {
	// Next moves to the next row. After false, Err tells the end of the result from a failure.
	Next() bool
	// Scan decodes the row, left to right, into dst; bytes are kept in the arena. A value that its column's type cannot hold exactly is a
	// fault.Poison that names the first such column (I6); all others are set, and those that do not fit are change.KindUndecoded.
	Scan(dst []change.Value, arena *change.Arena) error
	Err() error
	Close() error
}

// Relation is a table as the catalog describes it.
type Relation struct {
	ID       change.TableID
	Identity string          // changes when the table is dropped and made again: object id, oid, root page; "" where unknown
	Columns  []change.Column // in table order; KeyPosition filled from the primary key, else from the first unique index without NULLs
	// ColumnIDs are parallel to Columns: ids that stay when a column is renamed, and that no column has again which comes later, in this table
	// or in another made under its name. nil where the product has none.
	ColumnIDs []string
	Computed  []string // names of computed (generated) columns among Columns
}

// Fencer is an engine that can tell when everything written before a moment has become visible (horizon policy "snapshot").
type Fencer interface {
	// Fence reads the engine's transaction counters. A writer that may have taken a change sequence before the call has a number
	// below Next; once a later call gives Done >= that Next, all such writers have ended. An engine with a single writer
	// returns equal numbers.
	Fence(ctx context.Context) (Fence, error)
}

// Fence is a moment in the life of the engine's writers.
type Fence struct {
	Done uint64 // every writer below this number has ended
	Next uint64 // the number that the next writer will get
}
