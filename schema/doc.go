// Package schema has the formats of messages: JSON, plain Avro, and Avro whose schemas are in a registry with a Confluent-compatible API.
// Each compiles a tree of fields into an encoder for one topic; the registry's format registers the schema before the encoder can be
// used (I9).
package schema
