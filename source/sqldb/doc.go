// Package sqldb is the machinery that engines over database/sql share: statements whose columns have decoders built once, rows that
// decode straight from the driver's values, catalog queries, and the mapping of vendor errors to fault classes. Where a product allows it, its statements are read past
// database/sql (Product.Raw, Product.Query), which costs a lock, a conversion and often an allocation for each value.
//
// Invariants: a value is decoded while the driver still owns it, so no byte of a result outlives its row unless a decoder copied it into
// the arena; a value that its column cannot hold exactly is a fault.Poison that names column and value (I6); the end of a result is
// never confused with its failure; every error that leaves is a *fault.Error.
package sqldb
