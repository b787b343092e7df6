package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The figures of the table are medians, the ratio compares each run with its own neighbours, and nothing that failed is silent.
func TestReport(t *testing.T) {
	t.Parallel()
	o := options{out: t.TempDir()}
	r := newReport(o, &place{servers: map[string]string{"postgres": "PostgreSQL 15.20", "broker": "Apache Kafka 4.3.1"}})
	r.Throughput = []throughput{{
		combination: combination{Engine: "postgres", Envelope: "qlik", Format: "avro", Width: 300, Mix: "inserts"},
		Bridge:      []figures{{RowsPerSecond: 100_000, CPUMicros: 4}, {RowsPerSecond: 300_000, CPUMicros: 6}, {RowsPerSecond: 1_234_567, CPUMicros: 5, DatabaseMicros: 1, BrokerMicros: 2}},
		Driver:      []ceiling{{RowsPerSecond: 400_000}, {RowsPerSecond: 400_000}, {RowsPerSecond: 1_000_000}},
		Producer:    []ceiling{{RowsPerSecond: 200_000}, {RowsPerSecond: 600_000}, {RowsPerSecond: 2_000_000}},
	}}
	r.fail(errors.New("mariadb: no such thing\nwith a long log"))
	r.leave("sqlserver")
	r.leave("sqlserver")
	text := r.markdown()
	for _, want := range []string{
		"| postgres | qlik | avro | 300 B | inserts | 300,000 | 0 | 5.00 |", "| 0.75 |", "Apache Kafka 4.3.1, PostgreSQL 15.20", "- mariadb: no such thing\n", "not there: sqlserver.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "long log") || strings.Contains(text, "Latency") {
		t.Error(text)
	}
	if err := r.save(o); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"results.md", "results.json"} {
		if written, err := os.ReadFile(filepath.Join(o.out, name)); err != nil || !strings.Contains(string(written), "300000") && !strings.Contains(string(written), "300,000") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCores(t *testing.T) {
	t.Parallel()
	mine, all := figures{RowsPerSecond: 200_000, CPUMicros: 4, DatabaseMicros: 2, BrokerMicros: 1}.cores()
	if mine != 0.8 || all < 1.39 || all > 1.41 {
		t.Errorf("%v, %v", mine, all)
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[float64]string{0: "0", 999.4: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}
