package main

import (
	"strings"
	"testing"
)

// The worst figure decides, on whichever side worse is, and what was not measured is not judged.
func TestTargets(t *testing.T) {
	t.Parallel()
	r := &report{Poll: "200ms",
		Latency:      []latency{{Engine: "sqlite", PollMillis: 200, P99: 280, Starts: []float64{300}, Resumes: []float64{100}}, {Engine: "postgres", PollMillis: 200, P99: 301, Starts: []float64{200}}},
		Transactions: []cost{{Of: 1, figures: figures{CPUMicros: 4, ResidentMiB: 80}}, {Of: 1000000, figures: figures{CPUMicros: 3, ResidentMiB: 200}}},
		Throughput: []throughput{
			{combination: combination{Engine: "sqlite", Envelope: "qlik", Format: "json", Width: 300, Mix: "inserts"}, Bridge: []figures{{RowsPerSecond: 80, ResidentMiB: 100}},
				Driver: []ceiling{{RowsPerSecond: 100}}, Producer: []ceiling{{RowsPerSecond: 400}}},
		},
	}
	var b strings.Builder
	r.targetsOf(&b)
	for _, want := range []string{
		"with the poll interval of 200ms | ≤ 300 | 301 | postgres | **no** |", "| s from the start to the first record | ≤ 2.00 | 0.30 | sqlite | yes |",
		"| MiB resident with the largest transaction | ≤ 256 | 200 | 1,000,000 rows | yes |", "| ≤ 1.25 | 1.00 | 1 rows | yes |",
		"| of the slower ceiling, SQLite | ≥ 0.70 | 0.80 | sqlite qlik json 300 B inserts | yes |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "PostgreSQL") || strings.Contains(b.String(), "encode") {
		t.Error(b.String())
	}
}
