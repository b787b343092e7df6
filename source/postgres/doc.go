// Package postgres is the PostgreSQL engine (13 and newer), over pgx's native interface.
//
// Rows are decoded straight from the wire bytes, binary or text whatever the server chose for a column, without an allocation per value.
// Types without a decoder of their own (interval, timetz, money, inet, bit, arrays, ranges, enums, composites, geometric and extension
// types) are selected as col::text and carried as String; domains are read as their base type.
//
// Types that need a word:
//   - text, citext-like unlimited text and xml are Clob, bytea is Blob: replication tools for PostgreSQL treat them as large objects, so their
//     bits never show in a message's change mask. varchar without a limit stays String.
//   - varchar(n) and char(n) count characters; Type.Length counts bytes and is n × 4, the longest UTF-8 form. char(n) keeps its blanks.
//   - numeric without precision has Precision 0 and Scale 0; each value keeps its own scale. A negative scale becomes scale 0 with more digits.
//   - NaN and infinity in numeric, infinity, BC and years over 9999 in dates and timestamps are fault.Poison (I6). NaN in real and
//     double precision is a number like any other.
//   - timestamptz is an instant with offset 0: PostgreSQL keeps no offset.
//
// Connections are made read-only, in UTC, with ISO dates. Behind a connection pooler in transaction mode use
// default_query_exec_mode=simple_protocol or =exec in the DSN: then no session setting is sent but those that poolers track
// (application_name, client_encoding, datestyle, timezone), and all values come as text. The database must then keep
// extra_float_digits at its default (1 or more), else the server itself rounds real and double precision.
//
// A context that ends closes the connection and asks the server to cancel; a silent server cannot hold a caller.
package postgres
