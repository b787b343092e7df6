// Package change is the vocabulary of the bridge: tables, columns, values, rows turned into events, and the position that orders them.
//
// It imports only the standard library, and every other room imports it. A source fills events, an envelope reads them, nobody
// changes an event after the sequence stage has set its counters.
package change
