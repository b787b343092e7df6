// Package sqldb is the machinery that engines over database/sql share: statements whose columns have decoders built once, rows that
// decode straight from the driver's values, catalog queries, and the mapping of vendor errors to fault classes.
//
// Invariants: a value is decoded while the driver still owns it, so no byte of a result outlives its row unless a decoder copied it into
// the arena; a value that its column cannot hold exactly is a fault.Poison that names column and value (I6); the end of a result is
// never confused with its failure; every error that leaves is a *fault.Error.
package sqldb
