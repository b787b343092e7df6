// Package debezium declares messages in the form of Debezium's connectors: {before, after, source, transaction, op, ts_ms, ts_us, ts_ns}, so
// that consumers of that format read ctbridge as they read a connector. JSON comes with or without the {schema, payload} wrapper; the text of
// the Connect schema is derived from the same tree that the values are written by. Avro schemas have the names, namespaces and connect.*
// members that Kafka Connect's Avro converter gives them.
//
// Sources of the format: Debezium's documentation of its connectors ("Data change events", "Data type mappings", "Transaction metadata"),
// Kafka Connect's data types, and messages of a real connector (testdata/real).
//
// Where it differs from a connector, on purpose:
//   - A value that a mode cannot hold exactly is an error, never cut or rounded (I6); only decimal mode double rounds, as its name says.
//   - By default only key columns are required in a row's schema, so that a NOT NULL column can be added to a table and one that was not
//     captured can be null. Required restores the connectors' way.
//   - event_serial_no is 1 for a delete and 2 for what follows it, an insert or an update: it tells apart rows that share their LSNs without
//     having seen the row before.
//
// Invariants: the same table version gives the same bytes of schema text; getters allocate nothing; both halves of a changed key have the
// position of the update (I7).
package debezium
