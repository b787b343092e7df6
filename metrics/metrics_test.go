package metrics

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{at: time.Date(2031, 5, 10, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

const stall = time.Minute

func newMetrics() (*Metrics, *clock) {
	c := newClock()
	return New(Options{Version: "1.2.3", StallTimeout: stall, Now: c.now}), c
}

var (
	parcel = change.TableID{Schema: "shop", Name: "parcel"}
	depot  = change.TableID{Schema: "shop", Name: "depot"}
)

// exercise calls every method once.
func exercise(m *Metrics) {
	m.Polled(3 * time.Millisecond)
	m.RowsRead(parcel, 5)
	m.RowsRead(parcel, 2)
	m.Committed(bridge.Commit{
		Counts:      map[bridge.CommitKey]int{{Table: parcel, Op: change.OpInsert}: 3, {Table: parcel, Op: change.OpDelete}: 1, {Table: depot, Op: change.OpUpdate}: 2},
		DeadLetters: map[bridge.LetterKey]int{{Table: depot, Reason: "too_large"}: 2},
		Records:     6, Took: 40 * time.Millisecond,
	})
	m.Committed(bridge.Commit{Counts: map[bridge.CommitKey]int{{Table: parcel, Op: change.OpInsert}: 1}, Records: 1, Took: time.Second})
	m.Late(parcel, 1)
	m.Gap(parcel, bridge.Gap{Reason: "rows_purged", From: "3", To: "8"})
	m.Dropped(parcel, bridge.DroppedTruncate, 4)
	m.TableChanged(parcel, bridge.TableStreaming, 2, nil)
	m.TableChanged(depot, bridge.TableFailed, 0, errors.New("no right to read"))
	m.Loaded(parcel, bridge.LoadProgress{State: checkpoint.LoadRunning, Rows: 10, Done: 40, Total: 200})
	m.Loaded(parcel, bridge.LoadProgress{State: checkpoint.LoadRunning, Rows: 5, Done: 45, Total: 200})
	m.Lag(parcel, 1500*time.Millisecond)
	m.Failed(bridge.StagePoll, fault.Retry, errors.New("gone"))
	m.SourceReachable(nil)
	m.SinkReachable(nil)
	m.Pending(true)
	m.SchemaRegistered()
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	exercise(m)
	want := `
# HELP ctbridge_dead_letters_total Rows that went to the dead-letter topic, once their commit was acknowledged, by reason: undecodable, header, unrenderable, too_large. Should stay 0.
# TYPE ctbridge_dead_letters_total counter
ctbridge_dead_letters_total{reason="too_large",table="shop.depot"} 2
# HELP ctbridge_dropped_rows_total Rows left out by a policy of the configuration.
# TYPE ctbridge_dropped_rows_total counter
ctbridge_dropped_rows_total{reason="truncate",table="shop.parcel"} 4
# HELP ctbridge_events_published_total Events whose commit all in-sync replicas acknowledged.
# TYPE ctbridge_events_published_total counter
ctbridge_events_published_total{operation="DELETE",table="shop.parcel"} 1
ctbridge_events_published_total{operation="INSERT",table="shop.parcel"} 4
ctbridge_events_published_total{operation="UPDATE",table="shop.depot"} 2
# HELP ctbridge_gaps_total Holes in the changes of a table behind which reading went on by the policy source.on_reset. Should stay 0.
# TYPE ctbridge_gaps_total counter
ctbridge_gaps_total{table="shop.depot"} 0
ctbridge_gaps_total{table="shop.parcel"} 1
# HELP ctbridge_late_rows_total Events that became visible below a position that was already published; they were published late. Should stay 0.
# TYPE ctbridge_late_rows_total counter
ctbridge_late_rows_total{table="shop.depot"} 0
ctbridge_late_rows_total{table="shop.parcel"} 1
# HELP ctbridge_load_rows_total Rows of base tables that full loads have published.
# TYPE ctbridge_load_rows_total counter
ctbridge_load_rows_total{table="shop.parcel"} 15
ctbridge_load_rows_done{table="shop.parcel"} 45
ctbridge_load_rows_expected{table="shop.parcel"} 200
ctbridge_load_active{table="shop.parcel"} 1
# HELP ctbridge_rows_read_total Events read from change tables.
# TYPE ctbridge_rows_read_total counter
ctbridge_rows_read_total{table="shop.depot"} 0
ctbridge_rows_read_total{table="shop.parcel"} 7
# HELP ctbridge_schema_registrations_total Schemas registered with the schema registry.
# TYPE ctbridge_schema_registrations_total counter
ctbridge_schema_registrations_total 1
# HELP ctbridge_source_lag_seconds Now minus the commit time of the oldest row that is not published, 0 when caught up.
# TYPE ctbridge_source_lag_seconds gauge
ctbridge_source_lag_seconds{table="shop.depot"} 0
ctbridge_source_lag_seconds{table="shop.parcel"} 1.5
# HELP ctbridge_table_state 1 for the state that the table is in: streaming, loading, failed, missing, source_rewound, capture_stopped.
# TYPE ctbridge_table_state gauge
ctbridge_table_state{state="capture_stopped",table="shop.depot"} 0
ctbridge_table_state{state="capture_stopped",table="shop.parcel"} 0
ctbridge_table_state{state="failed",table="shop.depot"} 1
ctbridge_table_state{state="failed",table="shop.parcel"} 0
ctbridge_table_state{state="loading",table="shop.depot"} 0
ctbridge_table_state{state="missing",table="shop.depot"} 0
ctbridge_table_state{state="missing",table="shop.parcel"} 0
ctbridge_table_state{state="source_rewound",table="shop.depot"} 0
ctbridge_table_state{state="source_rewound",table="shop.parcel"} 0
ctbridge_table_state{state="streaming",table="shop.depot"} 0
ctbridge_table_state{state="streaming",table="shop.parcel"} 1
# HELP ctbridge_table_version Version of the table's structure.
# TYPE ctbridge_table_version gauge
ctbridge_table_version{table="shop.parcel"} 2
# HELP ctbridge_last_poll_timestamp_seconds Unix time of the end of the last poll, 0 before the first and on a standby.
# TYPE ctbridge_last_poll_timestamp_seconds gauge
ctbridge_last_poll_timestamp_seconds 1.9361808e+09
`
	got := scrape(t, m)
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if series := strings.Count(want, "\nctbridge_dropped") + strings.Count(want, "\nctbridge_events"); strings.Count(got, "\nctbridge_dropped")+strings.Count(got, "\nctbridge_events") != series {
		t.Error("more series than expected:", got)
	}
}

// scrape is what Prometheus reads.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	return "\n" + w.Body.String()
}

// value is the value of one series, as text.
func value(t *testing.T, m *Metrics, series string) string {
	t.Helper()
	_, rest, found := strings.Cut(scrape(t, m), "\n"+series+" ")
	if !found {
		t.Fatalf("%s is not there", series)
	}
	text, _, _ := strings.Cut(rest, "\n")
	return text
}

// The names of design section 8, and nothing that the linter of Prometheus dislikes.
func TestNames(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	exercise(m)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	have := map[string]bool{}
	for _, f := range families {
		have[f.GetName()] = true
	}
	for _, name := range []string{
		"rows_read_total", "events_published_total", "source_lag_seconds", "publish_latency_seconds", "poll_duration_seconds", "last_poll_timestamp_seconds",
		"checkpoint_age_seconds", "late_rows_total", "load_rows_total", "load_rows_done", "load_rows_expected", "load_active", "dropped_rows_total", "dead_letters_total", "table_version", "table_state", "errors_total", "schema_registrations_total", "build_info",
	} {
		if !have["ctbridge_"+name] {
			t.Errorf("ctbridge_%s is missing", name)
		}
	}
	if !have["go_goroutines"] {
		t.Error("the metrics of the Go runtime are missing")
	}
}

// Alerts on a rate need the series before the first error.
func TestErrorSeriesExistFromTheStart(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	if n := strings.Count(scrape(t, m), "\nctbridge_errors_total{"); n != 30 {
		t.Errorf("%d series", n)
	}
	m.Failed(bridge.StagePublish, fault.Poison, errors.New("too large"))
	if got := value(t, m, `ctbridge_errors_total{class="poison",stage="publish"}`); got != "1" {
		t.Error(got)
	}
	m.Failed("replay", fault.Retry, errors.New("a stage of tomorrow"))
	if got := value(t, m, `ctbridge_errors_total{class="retry",stage="replay"}`); got != "1" {
		t.Error(got)
	}
}

func TestLatencies(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	exercise(m)
	m.Committed(bridge.Commit{}) // a checkpoint without records says nothing about publishing
	for series, want := range map[string]string{
		"ctbridge_publish_latency_seconds_count": "2", "ctbridge_publish_latency_seconds_sum": "1.04",
		"ctbridge_poll_duration_seconds_count": "1", "ctbridge_poll_duration_seconds_sum": "0.003",
	} {
		if got := value(t, m, series); got != want {
			t.Errorf("%s is %s, want %s", series, got, want)
		}
	}
}

func TestCheckpointAge(t *testing.T) {
	t.Parallel()
	m, c := newMetrics()
	age := func() string { return value(t, m, "ctbridge_checkpoint_age_seconds") }
	c.advance(time.Hour)
	if age() != "0" {
		t.Error("an idle task has an age", age())
	}
	m.Pending(true)
	c.advance(10 * time.Second)
	m.Pending(true) // the same wait
	c.advance(10 * time.Second)
	if age() != "20" {
		t.Error(age())
	}
	m.Committed(bridge.Commit{Records: 1})
	c.advance(5 * time.Second)
	if age() != "5" {
		t.Error(age())
	}
	m.Pending(false)
	if age() != "0" {
		t.Error(age())
	}
}

// Once its children are resolved a table costs no allocation.
func TestObserverDoesNotAllocate(t *testing.T) {
	m, _ := newMetrics()
	exercise(m)
	commit := bridge.Commit{Counts: map[bridge.CommitKey]int{{Table: parcel, Op: change.OpInsert}: 3}, Records: 3}
	if n := testing.AllocsPerRun(100, func() {
		m.RowsRead(parcel, 1)
		m.Committed(commit)
		m.Lag(parcel, time.Second)
		m.Late(parcel, 1)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
