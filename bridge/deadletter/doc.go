// Package deadletter is the format of dead letters: rows that cannot become messages, kept so that nothing of them is lost (I3).
//
// A letter is one JSON document of a documented version. It holds the row as it was read, both images with the type of every value and the
// structure of its table, so that it can be rendered later, elsewhere, and under another configuration. What it cannot hold it names.
//
// Invariants: decoding what was encoded gives the same event, value by value, whatever the values are (I6); a letter never exceeds the size that it
// is given, and leaves out values, the largest first, before anything else; unknown versions are refused, unknown members are not.
package deadletter
