// Package wiring builds a running task from a configuration. It is the only place that maps names to engines, layouts, envelopes, formats
// and sinks, by explicit maps; the verbs run and demo share it.
package wiring
