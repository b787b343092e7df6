// Package avro writes Avro (specification 1.12): the schema text of a tree of fields, and an encoder that appends the binary form of an
// event to a buffer without allocating per value. It also decodes any Avro binary for the inspection verbs.
//
// The schema text of equal trees is byte-identical on every run: members in a fixed order, named types written in full where they first
// stand and by full name afterwards. A nullable node is the union ["null", T] with null as default, so that a column added later stays
// compatible. What Avro cannot hold exactly is an error, never a rounding (I6).
package avro
