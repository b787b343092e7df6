package main

import (
	"fmt"
	"slices"
	"strings"
)

// target is one aim of the project, beside what was measured of it.
type target struct {
	what    string
	limit   float64
	atLeast bool // else at most
	format  string
	figures []float64
	names   []string // what each figure is of
}

func (t *target) add(name string, figure float64) {
	t.figures, t.names = append(t.figures, figure), append(t.names, name)
}

// worst is the figure that is furthest on the wrong side, and its name.
func (t *target) worst() (float64, string) {
	worst := slices.Max(t.figures)
	if t.atLeast {
		worst = slices.Min(t.figures)
	}
	return worst, t.names[slices.Index(t.figures, worst)]
}

func (t *target) line() string {
	worst, name := t.worst()
	sign, verdict := "≤", "yes"
	if t.atLeast {
		sign = "≥"
	}
	if t.atLeast && worst < t.limit || !t.atLeast && worst > t.limit {
		verdict = "**no**"
	}
	return fmt.Sprintf("| %s | %s "+t.format+" | "+t.format+" | %s | %s |\n", t.what, sign, t.limit, worst, name, verdict)
}

// targetsOf writes those of which something was measured.
func (r *report) targetsOf(b *strings.Builder) {
	var lines []string
	for _, t := range slices.Concat(r.throughputTargets(), r.latencyTargets(), r.costTargets(), r.encodingTargets()) {
		if len(t.figures) > 0 {
			lines = append(lines, t.line())
		}
	}
	if len(lines) > 0 {
		b.WriteString("\n### Targets\n\n| What | Target | Worst | Of | Reached |\n|" + strings.Repeat(" --- |", 5) + "\n" + strings.Join(lines, ""))
	}
}

// byDebezium is what Debezium on Kafka Connect did with the same change table on two cores that it shared with PostgreSQL and the broker: 24,000 to 26,000.
const byDebezium = 25_000

func (r *report) throughputTargets() []target {
	cpu := target{what: "CPU µs of a row of 300 B from PostgreSQL", limit: 5, format: "%.2f"}
	speed := target{what: "rows/s of the same, eight times Debezium's", limit: 8 * byDebezium, atLeast: true, format: "%.0f"}
	servers := target{what: "of the slower ceiling, PostgreSQL and MariaDB", limit: 0.8, atLeast: true, format: "%.2f"}
	sqlite := target{what: "of the slower ceiling, SQLite", limit: 0.7, atLeast: true, format: "%.2f"}
	memory := target{what: "MiB resident", limit: 128, format: "%.0f"}
	for _, t := range r.Throughput {
		name := strings.Join([]string{t.Engine, t.Envelope, t.Format, fmt.Sprintf("%d B", t.Width), t.Mix}, " ")
		memory.add(name, medianOf(t.Bridge, func(f figures) float64 { return f.ResidentMiB }))
		switch t.Engine {
		case "postgres", "mariadb":
			servers.add(name, t.ratio())
		case "sqlite":
			sqlite.add(name, t.ratio())
		}
		if t.Engine == "postgres" && t.Width == 300 && t.Mix == mixes[0] {
			cpu.add(name, medianOf(t.Bridge, func(f figures) float64 { return f.CPUMicros }))
			speed.add(name, medianOf(t.Bridge, func(f figures) float64 { return f.RowsPerSecond }))
		}
	}
	return []target{cpu, speed, servers, sqlite, memory}
}

func (r *report) latencyTargets() []target {
	late := target{what: "ms from commit to readable, p99, with the poll interval of " + r.Poll, format: "%.0f"}
	begin := target{what: "s from the start to the first record", limit: 2, format: "%.2f"}
	for _, l := range r.Latency {
		late.limit = l.PollMillis + 100
		late.add(l.Engine, l.P99)
		begin.add(l.Engine, max(median(l.Starts), median(l.Resumes))/1000)
	}
	return []target{late, begin}
}

// flat is how much the cost of a row may grow along a series of measurements: what one run differs from the next.
const flat = 1.25

func (r *report) costTargets() []target {
	memory := target{what: "MiB resident with the largest transaction", limit: 256, format: "%.0f"}
	tables := target{what: "CPU of a row, times that with one table", limit: flat, format: "%.2f"}
	large := target{what: "CPU of a row, times that with transactions of one", limit: flat, format: "%.2f"}
	for _, c := range r.Transactions {
		memory.add(thousands(float64(c.Of))+" rows", c.ResidentMiB)
		large.add(thousands(float64(c.Of))+" rows", c.CPUMicros/r.Transactions[0].CPUMicros)
	}
	for _, c := range r.Tables {
		tables.add(thousands(float64(c.Of))+" tables", c.CPUMicros/r.Tables[0].CPUMicros)
	}
	return []target{memory, tables, large}
}

func (r *report) encodingTargets() []target {
	times := map[string]*target{
		"avro": {what: "µs to encode a row of 20 columns, Avro", limit: 0.3, format: "%.2f"}, "json": {what: "µs to encode a row of 20 columns, JSON", limit: 0.8, format: "%.2f"},
	}
	allocs := target{what: "allocations to encode a message", format: "%.2f"}
	for _, e := range r.Encoding {
		allocs.add(e.Message+" "+e.Format, e.Allocs)
		if e.Message == "row" {
			times[e.Format].add("the record alone", slices.Min(e.Nanos)/1000)
		}
	}
	return []target{*times["avro"], *times["json"], allocs}
}
