package main

import (
	"fmt"
	"slices"
	"strings"
)

func (r *report) latencyOf(b *strings.Builder) {
	if len(r.Latency) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### Latency\n\nFrom before the INSERT of a row until a read_committed consumer has it, %d rows, one every %v; poll interval %s. "+
		"Start and resume: from the start of the process until its first record is read; the data topic is there.\n\n", trickleRows, trickleEvery, r.Poll)
	b.WriteString("| Engine | p50 ms | p99 ms | Highest ms | Start of a new task ms | Resume ms |\n|" + strings.Repeat(" --- |", 6) + "\n")
	for _, l := range r.Latency {
		b.WriteString(l.line() + "\n")
	}
}

func (l latency) line() string {
	return fmt.Sprintf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f |", l.Engine, l.P50, l.P99, l.Most, median(l.Starts), median(l.Resumes))
}

// costsOf writes one table of costs.
func costsOf(b *strings.Builder, title, what, of string, list []cost) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n%s (%s, %s; data topics of one partition).\n\n| %s | Rows | Rows/s | MB/s | CPU µs/row | Allocs/row | MiB | First record after s | Database, broker µs/row |",
		title, what, list[0].Engine, list[0].Format, of)
	columns := 9
	if title == "Tables" {
		b.WriteString(" Idle CPU % |")
		columns++
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", columns) + "\n")
	for _, c := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %.0f | %.2f | %.2f | %.0f | %.2f | %.2f, %.2f |", thousands(float64(c.Of)), thousands(float64(c.Rows)), thousands(c.RowsPerSecond),
			c.MBPerSecond, c.CPUMicros, c.AllocsPerRow, c.ResidentMiB, c.FirstSeconds, c.DatabaseMicros, c.BrokerMicros)
		if title == "Tables" {
			fmt.Fprintf(b, " %.1f |", c.IdleCPU)
		}
		b.WriteString("\n")
	}
}

func (r *report) encodingOf(b *strings.Builder) {
	if len(r.Encoding) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### Encoding\n\nOne row of 20 columns out of %d that vary, without reading and sending; the fastest of %d runs, because others on the machine only make one slower.\n\n"+
		"| Message | Format | Row images | Bytes | µs | Allocations |\n|"+strings.Repeat(" --- |", 6)+"\n", encodedRows, encodeRuns)
	for _, e := range r.Encoding {
		fmt.Fprintf(b, "| %s | %s | %d | %.0f | %.2f | %.2f |\n", e.Message, e.Format, e.Images, e.Bytes, slices.Min(e.Nanos)/1000, e.Allocs)
	}
}
