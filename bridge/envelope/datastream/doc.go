// Package datastream declares messages in the form of Google Datastream's events: generic metadata, source_metadata and payload, as JSON or
// Avro.
//
// One event is one row. There is no before-image and no transaction marker: the other envelopes have them. Consumers put events in order by
// sort_keys and drop repeated ones by uuid, so both are the same whenever an event is sent again; read_timestamp alone is the time of encoding.
//
// Sources of the format: the vendor's help page "Events and streams" (fields, change types, unified types) and the Avro and JSON files that the
// service writes. What is inferred (the names of the SQL Server read methods, its source_metadata) is an option or said in docs/envelope-datastream.md.
//
// Invariants: payload is there in every event, of deletes with the whole old row; a value that its unified type cannot hold exactly is an
// error of class Poison, and so, unless the user chose otherwise, is a column of a new row that was not captured (I6); positions are text of fixed
// width wherever we write them ourselves, because consumers compare them as text; an update of the key leaves as two events, the old key's first,
// with two uuids (I7).
package datastream
