package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ctbridge/bridge/change"
)

// captureSeries are the metrics of tasks that read SQL Server's own change tables. They show only there.
type captureSeries struct {
	age             prometheus.Gauge
	margin, missing *prometheus.GaugeVec
	leftOut         *prometheus.GaugeVec
	nullInNotNulls  *prometheus.CounterVec
}

// captures gives the series, made at the first use.
func (m *Metrics) captures() *captureSeries {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.capture != nil {
		return m.capture
	}
	gauges := func(name, help string) *prometheus.GaugeVec {
		return shared(m.registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ctbridge_" + name, Help: help}, []string{"table"}))
	}
	counters := func(name, help string) *prometheus.CounterVec {
		return shared(m.registry, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ctbridge_" + name, Help: help}, []string{"table"}))
	}
	m.capture = &captureSeries{
		age: shared(m.registry, prometheus.NewGauge(prometheus.GaugeOpts{Name: "ctbridge_capture_job_age_seconds",
			Help: "For how long the newest LSN has not moved; the capture job moves it every five minutes."})),
		margin:         gauges("retention_margin_seconds", "How much time lies between what has been read and the oldest rows that the clean-up has left."),
		missing:        gauges("columns_not_captured", "Columns of the table that its newest capture instance lacks."),
		leftOut:        gauges("columns_left_out", "Captured columns that are left out, as configured, because no message can hold their type."),
		nullInNotNulls: counters("null_in_not_null_total", "Values of NOT NULL columns that came as NULL and were told as not captured."),
	}
	return m.capture
}

// shared registers a metric, or gives the one that is already there under its name.
func shared[C prometheus.Collector](r *prometheus.Registry, c C) C {
	var known prometheus.AlreadyRegisteredError
	if err := r.Register(c); errors.As(err, &known) {
		if have, ok := known.ExistingCollector.(C); ok {
			return have
		}
	}
	return c
}

// CaptureAge shows for how long the newest LSN has not moved.
func (m *Metrics) CaptureAge(age time.Duration) { m.captures().age.Set(age.Seconds()) }

// RetentionMargin shows how far the clean-up is behind the reading.
func (m *Metrics) RetentionMargin(table change.TableID, left time.Duration) {
	m.captures().margin.WithLabelValues(table.String()).Set(left.Seconds())
	m.table(table, func(t *tableSeries) { t.board.margin, t.board.marginKnown = left, true })
}

// NotCaptured shows how many columns no capture instance has.
func (m *Metrics) NotCaptured(table change.TableID, columns int) {
	m.captures().missing.WithLabelValues(table.String()).Set(float64(columns))
}

// LeftOut shows how many columns a policy leaves out.
func (m *Metrics) LeftOut(table change.TableID, columns int) {
	m.captures().leftOut.WithLabelValues(table.String()).Set(float64(columns))
}

// NullInNotNull counts values that are told as not captured.
func (m *Metrics) NullInNotNull(table change.TableID, n int) {
	m.captures().nullInNotNulls.WithLabelValues(table.String()).Add(float64(n))
}
