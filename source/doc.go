// Package source reads change tables: detection, horizon, pages, look-back, merge by position.
//
// It stands on two seams. An engine is a database product: quoting, paging syntax, catalog, value decoding, error codes. A layout is a
// kind of change table: which columns mean what, in which order rows leave, what marks a transaction. Neither knows the other's
// implementations; adding a database is one engine room, adding a kind of change table one layout room.
package source
