// Package qlikct is the layout of Qlik "Store Changes" tables: <table>__ct with header columns before the data columns.
//
// The facts come from the vendor's description of change tables: the change sequence orders all rows of a task, a before-image carries
// the sequence of its update, and a change mask numbers the columns of the change table, headers included. Every header column
// may be missing but the sequence and one of the two operation columns.
package qlikct
