package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report is all that was measured, as results.json keeps it.
type report struct {
	Begun        time.Time         `json:"begun"`
	Seconds      float64           `json:"seconds"`
	Arguments    []string          `json:"arguments"`
	Machine      machine           `json:"machine"`
	Servers      map[string]string `json:"servers"` // versions, by engine, and of the broker
	Poll         string            `json:"poll_interval"`
	Throughput   []throughput      `json:"throughput,omitempty"`
	Latency      []latency         `json:"latency,omitempty"`
	Tables       []cost            `json:"tables,omitempty"`
	Transactions []cost            `json:"transactions,omitempty"`
	Columns      []cost            `json:"columns,omitempty"`
	Encoding     []encoding        `json:"encoding,omitempty"`
	LeftOut      []string          `json:"left_out,omitempty"` // engines whose servers were not there
	Failures     []string          `json:"failures,omitempty"`

	errs []error
}

func newReport(o options, p *place) *report {
	return &report{Begun: time.Now(), Arguments: os.Args[1:], Machine: thisMachine(), Servers: p.servers, Poll: o.poll.String()}
}

// fail notes what could not be measured.
func (r *report) fail(err error) {
	say("FAILED: %v", err)
	r.errs, r.Failures = append(r.errs, err), append(r.Failures, err.Error())
}

func (r *report) leave(engine string) {
	if !slices.Contains(r.LeftOut, engine) {
		r.LeftOut = append(r.LeftOut, engine)
	}
}

// save writes both forms.
func (r *report) save(o options) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "results.json"), raw, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "results.md"), []byte(r.markdown()), 0o644)
}

// markdown is the report for people, ready for docs/benchmarks.md.
func (r *report) markdown() string {
	var b strings.Builder
	r.headOf(&b)
	r.targetsOf(&b)
	r.throughputOf(&b)
	r.latencyOf(&b)
	costsOf(&b, "Tables", "The same number of rows spread over more tables", "Tables", r.Tables)
	costsOf(&b, "Transactions", "Rows of one source transaction", "Rows of a transaction", r.Transactions)
	costsOf(&b, "Columns", "Wider rows", "Columns", r.Columns)
	r.encodingOf(&b)
	if len(r.Failures) > 0 {
		b.WriteString("\nNot measured, because of an error:\n\n")
		for _, f := range r.Failures {
			first, _, _ := strings.Cut(f, "\n")
			fmt.Fprintf(&b, "- %s\n", first)
		}
	}
	return b.String()
}

func (r *report) headOf(b *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(b, "%s, %d cores, %.0f GiB, Linux %s, %s; %s. %s, in %.0f minutes", m.CPU, m.Cores, m.MemoryGiB, m.Kernel, m.Go, strings.Join(r.versions(), ", "),
		r.Begun.Format(time.DateOnly), r.Seconds/60)
	if len(r.Arguments) > 0 {
		fmt.Fprintf(b, ", with `%s`", strings.Join(r.Arguments, " "))
	}
	fmt.Fprintf(b, ". Programs that have no part in it used %.2f cores meanwhile.", r.others())
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(b, " Left out, because their servers are not there: %s.", strings.Join(r.LeftOut, ", "))
	}
	b.WriteString("\n")
}

// others is how many cores other programs used: the median over all measurements of the bridge.
func (r *report) others() float64 {
	var list []float64
	for _, t := range r.Throughput {
		for _, f := range t.Bridge {
			list = append(list, f.OthersCores)
		}
	}
	for _, costs := range [][]cost{r.Tables, r.Transactions, r.Columns} {
		for _, c := range costs {
			list = append(list, c.OthersCores)
		}
	}
	return median(list)
}

// versions are the servers in a fixed order.
func (r *report) versions() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Servers)) {
		version, _, _ := strings.Cut(r.Servers[name], "\n")
		list = append(list, version)
	}
	return list
}

func (r *report) throughputOf(b *strings.Builder) {
	if len(r.Throughput) == 0 {
		return
	}
	b.WriteString("\n### Throughput\n\n| Engine | Envelope | Format | Row | Mix | Rows/s | MB/s | CPU µs/row | Allocs/row | MiB | Driver rows/s (µs) | Producer rows/s (µs) | Of the slower | Of both together | Database, broker µs/row | Cores: bridge, all |\n|" +
		strings.Repeat(" --- |", 16) + "\n")
	for _, t := range r.Throughput {
		b.WriteString(t.line(r.Machine.Cores) + "\n")
	}
}

// line is a line of the table: medians.
func (t throughput) line(cores int) string {
	of := func(figure func(figures) float64) float64 { return medianOf(t.Bridge, figure) }
	rows := of(func(f figures) float64 { return f.RowsPerSecond })
	speed, cpu := func(c ceiling) float64 { return c.RowsPerSecond }, func(c ceiling) float64 { return c.CPUMicros }
	return fmt.Sprintf("| %s | %s | %s | %d B | %s | %s | %.0f | %.2f | %.2f | %.0f | %s (%.2f) | %s (%.2f) | %.2f | %.2f | %.2f, %.2f | %.2f, %.2f |",
		t.Engine, t.Envelope, t.Format, t.Width, t.Mix,
		thousands(rows), of(func(f figures) float64 { return f.MBPerSecond }),
		of(func(f figures) float64 { return f.CPUMicros }), of(func(f figures) float64 { return f.AllocsPerRow }),
		of(func(f figures) float64 { return f.ResidentMiB }),
		thousands(medianOf(t.Driver, speed)), medianOf(t.Driver, cpu), thousands(medianOf(t.Producer, speed)), medianOf(t.Producer, cpu),
		t.ratio(), rows/t.together(cores),
		of(func(f figures) float64 { return f.DatabaseMicros }), of(func(f figures) float64 { return f.BrokerMicros }),
		of(func(f figures) float64 { mine, _ := f.cores(); return mine }), of(func(f figures) float64 { _, all := f.cores(); return all }))
}

// thousands writes a whole number with commas.
func thousands(n float64) string {
	digits := fmt.Sprintf("%.0f", n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
