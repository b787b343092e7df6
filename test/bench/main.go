// Command bench measures the whole bridge beside its ceilings, in one run on one machine: the bare driver reading the same pages and a bare
// sarama producer sending the same bytes in transactions of the same size. Ratios count, not the absolute figures.
//
// It takes the servers from the variables of test/stack; without them it measures SQLite only, against the embedded broker.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"ctbridge/sink/embedded"
)

func main() {
	rows := flag.Int("rows", 200_000, "rows per measurement")
	engines := flag.String("engines", "sqlite,postgres,mariadb", "engines to measure, as far as their servers are there")
	formats := flag.String("formats", "json,avro", "formats to measure")
	out := flag.String("out", "bench-results", "folder for results.md and results.json")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rows, strings.Split(*engines, ","), strings.Split(*formats, ","), *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// place is where the measurements run.
type place struct {
	dir, binary       string
	brokers, registry string
	broker            string // what the broker is, for the report
}

func run(ctx context.Context, rows int, engines, formats []string, out string) error {
	dir, err := os.MkdirTemp("", "ctbridge-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := place{dir: dir, binary: filepath.Join(dir, "ctbridge"), brokers: os.Getenv("CTBRIDGE_TEST_KAFKA"), registry: os.Getenv("CTBRIDGE_TEST_REGISTRY"), broker: "Apache Kafka"}
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", p.binary, "ctbridge/cmd/ctbridge").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, output)
	}
	if p.brokers == "" {
		servers, err := embedded.Start(embedded.Options{DataDir: filepath.Join(dir, "broker")})
		if err != nil {
			return err
		}
		defer servers.Close()
		p.brokers, p.registry, p.broker = servers.Brokers()[0], servers.RegistryURL(), "embedded broker, same process as the ceilings"
	}
	var results []result
	for _, engine := range engines {
		measured, err := measureEngine(ctx, p, engine, rows, formats)
		if err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
		results = append(results, measured...)
	}
	return report(results, p, rows, out)
}

// rate is one measurement.
type rate struct {
	RowsPerSecond float64 `json:"rows_per_second"`
	MBPerSecond   float64 `json:"mb_per_second,omitempty"`
	CPUMicros     float64 `json:"cpu_us_per_row"`
	ResidentMiB   float64 `json:"resident_mib,omitempty"`
}

// result is the bridge beside its two ceilings.
type result struct {
	Engine   string  `json:"engine"`
	Format   string  `json:"format"`
	Bridge   rate    `json:"bridge"`
	Driver   rate    `json:"driver"`
	Producer rate    `json:"producer"`
	OfSlower float64 `json:"of_slower_ceiling"`
}

func report(results []result, p place, rows int, out string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows of 18 columns, inserts, exactly once, lz4, %s.\n\n", rows, p.broker)
	b.WriteString("| engine | format | bridge rows/s | MB/s | µs CPU/row | MiB resident | driver rows/s (µs CPU) | producer rows/s (µs CPU) | of the slower ceiling |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %.0f | %.1f | %.1f | %.0f | %.0f (%.1f) | %.0f (%.1f) | %.2f |\n", r.Engine, r.Format, r.Bridge.RowsPerSecond, r.Bridge.MBPerSecond,
			r.Bridge.CPUMicros, r.Bridge.ResidentMiB, r.Driver.RowsPerSecond, r.Driver.CPUMicros, r.Producer.RowsPerSecond, r.Producer.CPUMicros, r.OfSlower)
	}
	fmt.Print(b.String())
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "results.json"), data, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "results.md"), []byte(b.String()), 0o644)
}
