package demo

import (
	"fmt"
	"strings"
	"time"
)

// summary is the table of what went through.
func (l *ledger) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	line := func(name string, n [5]int, h *histogram) {
		fmt.Fprintf(&b, "%-12s %7d %7d %7d %8d %12d %8s %8s\n", name, n[0], n[1], n[2], n[3], n[4], quantile(h, 0.5), quantile(h, 0.99))
	}
	fmt.Fprintf(&b, "%-12s %7s %7s %7s %8s %12s %8s %8s\n", "table", "inserts", "updates", "deletes", "messages", "transactions", "p50", "p99")
	var total [5]int
	for _, t := range tables() {
		a := l.tables[t.name]
		n := [5]int{a.operations["INSERT"], a.operations["UPDATE"], a.operations["DELETE"], a.messages, a.transactions}
		line(t.name, n, &a.latency)
		for i := range total[:4] {
			total[i] += n[i]
		}
	}
	total[4] = l.fresh
	line("all", total, &l.latency)
	b.WriteString("p50, p99: from COMMIT until the consumer has it\n")
	return b.String()
}

func (l *ledger) median() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return quantile(&l.latency, 0.5)
}

// quantile is written in whole milliseconds, from commit to arrival.
func quantile(h *histogram, q float64) string {
	d, ok := h.quantile(q)
	switch {
	case !ok:
		return "-"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// verdict writes the checks.
func (c *console) verdict(checks []check) string {
	var b strings.Builder
	for _, k := range checks {
		mark := c.style(green, "PASS")
		if !k.ok {
			mark = c.style(red, "FAIL")
		}
		b.WriteString(mark + "  " + k.what + "\n")
		for _, why := range k.why {
			b.WriteString("      " + why + "\n")
		}
	}
	return b.String()
}
