package demo

import (
	"context"
	"fmt"
	"strings"
)

// check is one thing that the demo promises, and whether it was kept.
type check struct {
	ok   bool
	what string
	why  []string // what went wrong
}

// verify compares what arrived with what the change tables hold up to the boundary, or up to what arrived beyond it.
func (l *ledger) verify(ctx context.Context, s *shop, boundary string) ([]check, error) {
	complete := check{what: "every change at the source arrived, once and in order"}
	total := 0
	for _, t := range tables() {
		source, err := s.changes(ctx, t.name, max(boundary, l.tables[t.name].last))
		if err != nil {
			return nil, err
		}
		total += source.changes
		if why := l.compare(t.name, source); why != "" {
			complete.why = append(complete.why, why)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	complete.what += fmt.Sprintf(" (%d)", total)
	whole := check{what: fmt.Sprintf("every transaction has counters without gap and one last flag (%d)", l.complete)}
	for id := range l.open {
		if len(whole.why) < maxFaults {
			whole.why = append(whole.why, "transaction "+short(id)+" is not complete")
		}
	}
	sound := check{what: "no counter and no position ran backwards", why: l.faults}
	out := []check{complete, whole, sound}
	for i := range out {
		out[i].ok = len(out[i].why) == 0
	}
	return out, nil
}

// compare says how a topic differs from its change table, "" if it does not.
func (l *ledger) compare(table string, source digest) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	arrived := l.tables[table].all.digest()
	switch {
	case arrived.changes != source.changes:
		return fmt.Sprintf("%s: %d changes at the source, %d messages", table, source.changes, arrived.changes)
	case arrived != source:
		return table + ": the messages are not those of the source, or not in its order"
	}
	return ""
}

// short is a transaction id without its leading zeros.
func short(id string) string { return strings.TrimLeft(id, "0") }
