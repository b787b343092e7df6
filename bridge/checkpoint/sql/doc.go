// Package sql keeps a checkpoint in a table of any database that database/sql reaches: one row per entry, a column for the task, so that
// several tasks share a table.
//
// A Save is one transaction (I5). Each Load claims the task: a Save of the instance that lost it fails, so that two instances of one task
// never mix their checkpoints.
package sql
