// Package enginetest is the conformance suite of source.Engine: one set of checks that every engine room runs against its real product.
//
// An engine room writes a Harness (how to open, how the product spells types and literals, how to reach its server) and calls Run from one
// test. The scratch database belongs to the suite: it makes tables as it likes and leaves them there; the room drops the database.
package enginetest
