// Package chaos is the fault campaign: the built program on real servers, with faults from a table of scenarios, and a ledger of every committed
// change against which the topics are read back.
//
// After each fault nothing may be lost, nothing doubled (at_least_once: nothing lost), partitions in order, counters and last flags of
// transactions as the ledger has them, memory within bounds; and the process goes on by itself, except where the fault is its end.
//
// `go test` runs the scenarios marked for every day; CHAOS=all (`make chaos`) runs all, with faults in full length. The servers are the campaign's
// own: it starts them when CTBRIDGE_TEST_KAFKA tells that servers are wanted, or with CHAOS=all. See docs/fault-campaign.md.
package chaos
