// Package jsonenc writes a tree of fields as JSON (RFC 8259), appending to a buffer without allocating per value.
//
// Members stand in the order of the tree and are never left out: a missing value is null. Strings are escaped as encoding/json does it
// without HTML escaping. What JSON cannot hold exactly (NaN, text that is not UTF-8) is an error, never a replacement (I6).
package jsonenc
