package metrics

import (
	"strings"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// board keeps what the status page shows beyond the metrics. Metrics.mu guards it.
type board struct {
	begin     time.Time
	beginStep int64
	horizon   change.Position
	lastError *Problem
	all       rates
	errors    uint64
}

// tableBoard is the board's part of one table.
type tableBoard struct {
	state    bridge.TableState
	since    time.Time // when state became so
	version  int
	position change.Position

	rates                       rates
	events, late, dropped, gaps uint64
	lastGap                     string
	lag, margin                 time.Duration
	lagKnown, marginKnown       bool
	problem                     *Problem
	load                        *loadBoard
	committed                   time.Time // when an event was committed last
}

// loadBoard is a full load as far as this process has seen it.
type loadBoard struct {
	progress   bridge.LoadProgress
	begin, end time.Time
	before     int64 // rows that were done at begin
}

// problemOf describes an error for people, without what must not be shown. The hint stands apart from the message.
func (m *Metrics) problemOf(err error, stage bridge.Stage) *Problem {
	now, hint := m.now().UTC(), fault.HintOf(err)
	message := err.Error()
	if hint != "" {
		message = strings.Replace(message, " ("+hint+")", "", 1)
	}
	return &Problem{Message: m.redact(message), Hint: m.redact(hint), Class: fault.ClassOf(err).String(), Stage: string(stage), Since: now, At: now}
}

// become notes state, version and error of a table. A version that is not known (0) leaves the last one.
func (t *tableBoard) become(state bridge.TableState, version int, problem *Problem, now time.Time) {
	if t.state != state {
		t.state, t.since = state, now
	}
	if version > 0 {
		t.version = version
	}
	switch open := t.problem != nil && t.problem.ResolvedAt == nil; {
	case problem != nil:
		if open {
			problem.Since = t.problem.Since
		}
		t.problem = problem
	case open:
		resolved := *t.problem // the one that is shown is never changed
		resolved.ResolvedAt = known(now)
		t.problem = &resolved
	}
}

// loaded notes how far a load is. One that has ended and runs again is a new one.
func (t *tableBoard) loaded(p bridge.LoadProgress, now time.Time) {
	running := p.State == checkpoint.LoadRunning || p.State == checkpoint.LoadPaused || p.State == checkpoint.LoadWaiting
	if t.load == nil || running && !t.load.end.IsZero() {
		t.load = &loadBoard{begin: now, before: p.Done - int64(p.Rows)}
	}
	t.load.progress = p
	if !running && t.load.end.IsZero() {
		t.load.end = now
	}
}

func (l *loadBoard) status(now time.Time) *LoadStatus {
	if l == nil {
		return nil
	}
	out := &LoadStatus{State: string(l.progress.State), Done: l.progress.Done, Total: l.progress.Total, StartedAt: known(l.begin), EndedAt: known(l.end)}
	took, moved := now.Sub(l.begin).Seconds(), l.progress.Done-l.before
	if l.progress.State == checkpoint.LoadRunning && took > 0 && moved > 0 {
		left := float64(max(0, l.progress.Total-l.progress.Done)) * took / float64(moved)
		out.SecondsLeft = &left
	}
	return out
}

// known is nil for a time that is not known.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// Horizon notes how far the last poll allows to read.
func (m *Metrics) Horizon(upto change.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.board.horizon = upto
}

// Reached notes the position of a table.
func (m *Metrics) Reached(table change.TableID, position change.Position) {
	m.table(table, func(t *tableSeries) { t.board.position = position })
}
