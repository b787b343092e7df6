// Package envelope declares what a message looks like: a tree of fields, each with its name, its type and where its value comes
// from in the event. The Avro schema, the Avro encoder and the JSON encoder all walk that one tree, compiled once per table
// version: a new envelope adds no encoder, a new format no envelope.
package envelope
