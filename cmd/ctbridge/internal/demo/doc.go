// Package demo is the verb demo: a small shop in an SQLite file whose triggers fill change tables in Qlik's layout, a workload that changes
// its rows, the embedded broker and registry, the very same bridge that the verb run starts, and a consumer that reads the topics back,
// prints what arrives and checks it against the source.
//
// Invariants:
//
//   - The change tables are filled by triggers alone, inside the source transaction, so that a row changed by any other program counts the
//     same as one of the workload's. They use old functions of SQLite only, as they run in the user's own sqlite3, too.
//   - The verdict is the consumer's: it looks at what the topics hold, never at what the bridge says of itself.
//   - Everything listens on the loopback address. Without Keep nothing is left behind.
package demo
