// Package values is what users decide about columns: which are published, and which are told otherwise than the source has them.
//
// It stands between the source and the envelopes. An envelope is declared over the table that Plan.Table gives, and sees events that Plan.Apply has
// changed: it knows nothing of rules. What holds:
//
//   - A table that no rule changes has no plan, and its events cost nothing.
//   - A plan allocates nothing per value: changed images, masks and texts live in memory of its own until the next event.
//   - A value that was not captured stays not captured. NULL stays NULL, but for constants.
//   - The salt is nowhere but in the keyed hash: no error, no log line and no checkpoint has it, and no error has a value that a rule hides.
//   - What could harm the identity of rows (leaving out or masking key columns), or names a column that is not there, is refused.
package values
