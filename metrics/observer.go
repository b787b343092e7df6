package metrics

import (
	"context"
	"errors"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

var _ bridge.Observer = (*Metrics)(nil)

// Polled counts a detection query.
func (m *Metrics) Polled(took time.Duration) {
	m.pollDuration.Observe(took.Seconds())
	m.lastPoll.Set(float64(m.now().UnixMilli()) / 1000)
	m.health.polled()
}

// RowsRead counts events that left the merge.
func (m *Metrics) RowsRead(table change.TableID, n int) {
	m.table(table, func(t *tableSeries) { t.rowsRead.Add(float64(n)) })
}

// Committed counts the events of a commit.
func (m *Metrics) Committed(c bridge.Commit) {
	m.mu.Lock()
	now := m.now()
	step := stepOf(now)
	for key, n := range c.Counts {
		t := m.of(key.Table)
		t.board.events += uint64(n)
		t.board.committed = now
		t.board.rates.add(step, n)
		m.board.all.add(step, n)
		counter, known := t.events[key.Op]
		if !known {
			counter = m.events.WithLabelValues(t.name, key.Op.String())
			t.events[key.Op] = counter
		}
		counter.Add(float64(n))
	}
	for key, n := range c.DeadLetters {
		t := m.of(key.Table)
		counter, known := t.letters[key.Reason]
		if !known {
			counter = m.letters.WithLabelValues(t.name, key.Reason)
			t.letters[key.Reason] = counter
		}
		counter.Add(float64(n))
	}
	m.mu.Unlock()
	if c.Records > 0 {
		m.publishLatency.Observe(c.Took.Seconds())
	}
	m.health.committed()
}

// Late counts events below the published position.
func (m *Metrics) Late(table change.TableID, n int) {
	m.table(table, func(t *tableSeries) {
		t.late.Add(float64(n))
		t.board.late += uint64(n)
	})
}

// Dropped counts rows that a policy left out.
func (m *Metrics) Dropped(table change.TableID, reason string, n int) {
	m.table(table, func(t *tableSeries) {
		counter, known := t.dropped[reason]
		if !known {
			counter = m.dropped.WithLabelValues(t.name, reason)
			t.dropped[reason] = counter
		}
		counter.Add(float64(n))
		t.board.dropped += uint64(n)
	})
}

// Gap counts a hole and shows the last one of each table.
func (m *Metrics) Gap(table change.TableID, gap bridge.Gap) {
	m.table(table, func(t *tableSeries) {
		t.gaps.Inc()
		t.board.gaps++
		t.board.lastGap = gap.String()
	})
	m.health.gap(table, gap)
}

// TableChanged shows state and version of a table. A version that is not known (0) leaves the last one.
func (m *Metrics) TableChanged(table change.TableID, state bridge.TableState, version int, err error) {
	var problem *Problem
	if err != nil {
		problem = m.problemOf(err, "")
	}
	m.table(table, func(t *tableSeries) {
		t.board.become(state, version, problem, m.now())
		for s, gauge := range t.states {
			gauge.Set(map[bool]float64{true: 1}[s == state])
		}
		if version > 0 {
			if t.version == nil {
				t.version = m.version.WithLabelValues(t.name)
			}
			t.version.Set(float64(version))
		}
	})
	m.health.tableChanged(table, state, err)
}

// Loaded shows how far a full load is.
func (m *Metrics) Loaded(table change.TableID, p bridge.LoadProgress) {
	m.table(table, func(t *tableSeries) { t.board.loaded(p, m.now()) })
	name := table.String()
	m.loadRows.WithLabelValues(name).Add(float64(p.Rows))
	m.loadDone.WithLabelValues(name).Set(float64(p.Done))
	m.loadTotal.WithLabelValues(name).Set(float64(p.Total))
	m.loadActive.WithLabelValues(name).Set(map[bool]float64{true: 1}[p.State == checkpoint.LoadRunning])
}

// Lag shows how far a table is behind.
func (m *Metrics) Lag(table change.TableID, lag time.Duration) {
	m.table(table, func(t *tableSeries) {
		t.lag.Set(lag.Seconds())
		t.board.lag, t.board.lagKnown = lag, true
	})
}

// Failed counts an error.
func (m *Metrics) Failed(stage bridge.Stage, class fault.Class, err error) {
	problem := m.problemOf(err, stage)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !errors.Is(err, context.Canceled) { // a stop is no trouble that people must read of
		m.board.lastError = problem
	}
	m.board.errors++
	counter, known := m.failed[failure{stage, class}]
	if !known {
		counter = m.errors.WithLabelValues(string(stage), class.String())
		m.failed[failure{stage, class}] = counter
	}
	counter.Inc()
}

// SourceReachable notes whether the database answered.
func (m *Metrics) SourceReachable(err error) { m.health.reached(&m.health.source, err) }

// SinkReachable notes whether the brokers answered.
func (m *Metrics) SinkReachable(err error) { m.health.reached(&m.health.sink, err) }

// RegistryReachable notes whether the schema registry answered. It is no part of bridge.Observer: who asks the registry calls it.
func (m *Metrics) RegistryReachable(err error) { m.health.reached(&m.health.registry, err) }

// Pending notes whether changes wait.
func (m *Metrics) Pending(pending bool) { m.health.setPending(pending) }

// SchemaRegistered counts a schema that the registry took. It is no part of bridge.Observer: the registry's client calls it.
func (m *Metrics) SchemaRegistered() { m.registrations.Inc() }

func (m *Metrics) table(id change.TableID, do func(t *tableSeries)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do(m.of(id))
}
