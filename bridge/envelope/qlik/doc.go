// Package qlik declares messages in the form that Qlik's Kafka target writes: data messages (DT) and metadata messages (MD), as JSON or Avro.
//
// The JSON forms are the self-describing wrapper (magic, type, …, message) or the bare {data, beforeData, headers}; the Avro forms are the
// binary MessageEnvelope, or the bare DataRecord of the Confluent wire format. All of them are one tree, so they cannot disagree.
//
// Sources of the format: the vendor's help page "Metadata and data messages" (members, masks, operations) and messages seen on the wire (hex
// masks are most significant byte first, the hex width is floor(n/8)+1 bytes, a deleted row stands in data).
//
// Invariants: every declaration of one table version has the same bytes of schema text and the same schema id; getters are built once per
// version and allocate nothing per event; a value that its form cannot hold is the encoder's error, never a changed value (I6); the notice of
// a version names the schema id that its data messages carry (I9).
package qlik
