// Package wiring builds a running task from a configuration. It is the only place that maps names to engines, layouts, envelopes, formats
// and sinks, by explicit maps; the verbs run and demo share it, and the tests of the whole line build their tasks by it.
package wiring
