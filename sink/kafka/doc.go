// Package kafka carries records and checkpoints to Kafka, and reads them back. It is the only room that knows the Kafka client.
//
// Four things are kept here:
//
//   - Transactional, the sink of `delivery: exactly_once`: the records and the checkpoint entries that cover them leave in one Kafka
//     transaction (I5), and the transactional id fences a second instance of the same task.
//   - Idempotent, the sink of `delivery: at_least_once`: records first, and after all their acks the checkpoint, in any checkpoint.Store (I1).
//   - Store, a checkpoint.Store on a compacted topic.
//   - Tail, which reads topics as their consumers do.
//
// A sink lives in sessions: Open starts one, any error ends it, and the next Open trusts only what it reads back from Kafka (I11). All
// connections of a session hang on one line that can be cut, so that no call of the client outlives its context by more than moments.
//
// Connections, login, requests and metadata are the client library's. The producer (writer, batch, node, transaction) and the reader are our
// own: a record costs a third to a half of the CPU time and no allocation, errors name their cause and table, and what is on its way ends when
// told to.
package kafka
