// Command ctbridge streams relational change tables into Kafka.
//
// This package holds the verbs and their wiring: the only place that maps names to engines, envelopes, formats and sinks. A verb writes what it
// was asked for to standard output, and everything else to standard error. Exit codes are fixed: 0 fine, 1 failed, 2 usage or
// configuration, 3 environment.
package main
