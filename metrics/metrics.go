package metrics

import (
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Options of the metrics of one task.
type Options struct {
	Version      string           // of the program, for build_info
	Task         string           // its name
	Replica      string           // name of this process among those that serve the task
	Source       string           // kind of the source, such as postgres
	Registry     bool             // there is a schema registry
	StallTimeout time.Duration    // how long a task may stand still before /healthz turns red
	Now          func() time.Time // default time.Now

	// Redact takes out of an error's text what must not be shown; nil = nothing. Errors hold no secrets by the rules of those who make them: it
	// is a second lock.
	Redact func(string) string
}

// Metrics is a bridge.Observer with a registry of its own. Its methods may be called from any goroutine.
type Metrics struct {
	registry *prometheus.Registry
	options  Options
	now      func() time.Time
	redact   func(string) string
	health   *health

	rowsRead, events, late, dropped, letters, gaps, errors *prometheus.CounterVec
	lag, version, state                                    *prometheus.GaugeVec
	lastPoll                                               prometheus.Gauge
	publishLatency, pollDuration                           prometheus.Histogram
	registrations, rebalances                              prometheus.Counter
	shardActive                                            *prometheus.GaugeVec
	loadRows                                               *prometheus.CounterVec
	loadDone, loadTotal, loadActive                        *prometheus.GaugeVec
	capture                                                *captureSeries // nil until a source tells

	mu     sync.Mutex
	tables map[change.TableID]*tableSeries
	failed map[failure]prometheus.Counter

	board   board
	members func() Membership // nil = this process is alone
}

// tableSeries are the label children of one table, and its part of the board.
type tableSeries struct {
	name     string
	rowsRead prometheus.Counter
	late     prometheus.Counter
	gaps     prometheus.Counter
	lag      prometheus.Gauge
	version  prometheus.Gauge
	states   map[bridge.TableState]prometheus.Gauge
	events   map[change.Op]prometheus.Counter
	dropped  map[string]prometheus.Counter
	letters  map[string]prometheus.Counter
	board    tableBoard
}

type failure struct {
	stage bridge.Stage
	class fault.Class
}

// New builds the metrics and registers them, with those of the Go runtime and the process.
func New(o Options) *Metrics {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(), options: o, now: o.Now, redact: o.Redact, health: newHealth(o.Now, o.StallTimeout),
		tables: map[change.TableID]*tableSeries{}, failed: map[failure]prometheus.Counter{},
	}
	m.board.begin, m.board.beginStep = o.Now(), stepOf(o.Now())
	m.health.redact = o.Redact
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.define()
	m.defineComputed(o.Version)
	return m
}

// define makes the metrics that the observer sets.
func (m *Metrics) define() {
	m.rowsRead = m.counters("rows_read_total", "Events read from change tables.", "table")
	m.events = m.counters("events_published_total", "Events whose commit all in-sync replicas acknowledged.", "table", "operation")
	m.late = m.counters("late_rows_total", "Events that became visible below a position that was already published; they were published late. Should stay 0.", "table")
	m.dropped = m.counters("dropped_rows_total", "Rows left out by a policy of the configuration.", "table", "reason")
	m.letters = m.counters("dead_letters_total", "Rows that went to the dead-letter topic, once their commit was acknowledged, by reason: undecodable, header, unrenderable, too_large. Should stay 0.", "table", "reason")
	m.gaps = m.counters("gaps_total", "Holes in the changes of a table behind which reading went on by the policy source.on_reset. Should stay 0.", "table")
	m.errors = m.counters("errors_total", "Errors by stage of the line and by class: retry, table, poison, fatal, config.", "stage", "class")
	m.lag = m.gauges("source_lag_seconds", "Now minus the commit time of the oldest row that is not published, 0 when caught up.", "table")
	m.version = m.gauges("table_version", "Version of the table's structure.", "table")
	m.state = m.gauges("table_state", "1 for the state that the table is in: streaming, loading, failed, missing, source_rewound, capture_stopped.", "table", "state")
	m.loadRows = m.counters("load_rows_total", "Rows of base tables that full loads have published.", "table")
	m.loadDone = m.gauges("load_rows_done", "Rows that the table's last full load has published so far, over restarts.", "table")
	m.loadTotal = m.gauges("load_rows_expected", "Rows that the table had when its last full load began, at least those that are done; the ratio is the progress.", "table")
	m.loadActive = m.gauges("load_active", "1 while the table is being loaded.", "table")
	m.lastPoll = prometheus.NewGauge(prometheus.GaugeOpts{Name: "ctbridge_last_poll_timestamp_seconds", Help: "Unix time of the end of the last poll, 0 before the first and on a standby."})
	m.registrations = prometheus.NewCounter(prometheus.CounterOpts{Name: "ctbridge_schema_registrations_total", Help: "Schemas registered with the schema registry."})
	m.shardActive = m.gauges("shard_active", "1 while this replica runs the shard of the task; over all replicas the sum is 1.", "shard")
	m.rebalances = prometheus.NewCounter(prometheus.CounterOpts{Name: "ctbridge_rebalances_total", Help: "How often the group of the replicas has given out the shards anew."})
	m.publishLatency = histogram("publish_latency_seconds", "Time from the first record of a commit to its acknowledgement.", prometheus.ExponentialBuckets(0.001, 2, 16))
	m.pollDuration = histogram("poll_duration_seconds", "Time of one detection query.", prometheus.ExponentialBuckets(0.0005, 2, 16))
	m.registry.MustRegister(m.lastPoll, m.registrations, m.rebalances, m.publishLatency, m.pollDuration)
	for _, stage := range []bridge.Stage{bridge.StageDiscover, bridge.StagePoll, bridge.StageLoad, bridge.StageRender, bridge.StagePublish, bridge.StageCheckpoint} {
		for _, class := range []fault.Class{fault.Retry, fault.Table, fault.Poison, fault.Fatal, fault.Config} {
			m.failed[failure{stage, class}] = m.errors.WithLabelValues(string(stage), class.String())
		}
	}
}

// defineComputed makes the metrics that are computed when they are read.
func (m *Metrics) defineComputed(version string) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ctbridge_checkpoint_age_seconds",
			Help: "For how long changes have been waiting that no checkpoint covers, 0 while none wait.",
		}, func() float64 { return m.health.waiting().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ctbridge_build_info", Help: "Always 1; the labels tell the build.",
			ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
		}, func() float64 { return 1 }),
	)
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ctbridge_" + name, Help: help}, labels)
	m.registry.MustRegister(vec)
	return vec
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ctbridge_" + name, Help: help}, labels)
	m.registry.MustRegister(vec)
	return vec
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ctbridge_" + name, Help: help, Buckets: buckets})
}

// of gives the children of a table; the caller holds mu.
func (m *Metrics) of(id change.TableID) *tableSeries {
	if t, known := m.tables[id]; known {
		return t
	}
	name := id.String()
	t := &tableSeries{
		name:     name,
		rowsRead: m.rowsRead.WithLabelValues(name), late: m.late.WithLabelValues(name), gaps: m.gaps.WithLabelValues(name),
		lag:    m.lag.WithLabelValues(name),
		states: map[bridge.TableState]prometheus.Gauge{}, events: map[change.Op]prometheus.Counter{}, dropped: map[string]prometheus.Counter{}, letters: map[string]prometheus.Counter{},
	}
	for _, state := range bridge.TableStates {
		t.states[state] = m.state.WithLabelValues(name, string(state))
	}
	m.tables[id] = t
	return t
}
