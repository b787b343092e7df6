package metrics

import (
	"fmt"
	"sync"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
)

// health tells a task that works, or has nothing to do, from one that is stuck.
//
// Stuck means that for the stall time-out no poll ended and nothing was committed, or that changes wait and nothing was committed. A
// neighbour that is reported as away is a sign of life of the task: it tries. That is a matter for /readyz; a restart would not bring the
// neighbour back.
type health struct {
	now   func() time.Time
	stall time.Duration

	redact func(string) string

	mu           sync.Mutex
	source, sink neighbour
	registry     neighbour // it counts for no verdict: only new structures need it
	started      bool      // a poll has ended
	pending      bool

	pollAt    time.Time // end of the last poll; before the first, the start
	commitAt  time.Time
	pendingAt time.Time // since when changes wait
	awayAt    time.Time // last report of a neighbour that is away

	tables map[string]string // errors of tables that do not stream
	gaps   map[string]string // the last hole of each table that was gone on behind

	// Of a replica, whose own state the fields above are not: each shard that it runs has one.
	replicated bool
	group      neighbour       // the coordinator of the replicas' group
	shards     map[int]*health // that run here
}

// neighbour is the database, the brokers or the schema registry.
type neighbour struct {
	asked     bool
	err       error
	since, at time.Time // when err became nil or not nil; when it was asked last
}

func newHealth(now func() time.Time, stall time.Duration) *health {
	return &health{now: now, stall: stall, redact: func(s string) string { return s }, pollAt: now(), tables: map[string]string{}, gaps: map[string]string{}}
}

func (h *health) polled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started, h.pollAt = true, h.now()
}

func (h *health) committed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commitAt = h.now()
}

func (h *health) setPending(pending bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if pending && !h.pending {
		h.pendingAt = h.now()
	}
	h.pending = pending
}

func (h *health) reached(n *neighbour, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if !n.asked || (n.err == nil) != (err == nil) {
		n.since = now
	}
	n.asked, n.err, n.at = true, err, now
	if err != nil && n != &h.registry {
		h.awayAt = now
	}
}

func (h *health) tableChanged(id change.TableID, state bridge.TableState, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case state == bridge.TableStreaming:
		delete(h.tables, id.String())
	case err != nil:
		h.tables[id.String()] = h.redact(err.Error())
	default:
		h.tables[id.String()] = string(state)
	}
}

func (h *health) gap(id change.TableID, gap bridge.Gap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gaps[id.String()] = gap.String()
}

// waiting is for how long changes have been waiting without a commit.
func (h *health) waiting() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	var most time.Duration
	for _, shard := range h.shards {
		most = max(most, shard.waiting())
	}
	if !h.pending || h.divided() {
		return most
	}
	return max(0, h.now().Sub(latest(h.pendingAt, h.commitAt)))
}

// live is the content of /healthz.
type live struct {
	Healthy  bool     `json:"healthy"`
	Problems []string `json:"problems,omitempty"`
}

func (h *health) live() live {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.divided() {
		return h.replicaLive()
	}
	now := h.now()
	var l live
	if quiet := now.Sub(latest(h.pollAt, h.commitAt, h.awayAt)); quiet > h.stall {
		l.Problems = append(l.Problems, fmt.Sprintf("no poll ended for %s", quiet.Round(time.Second)))
	}
	if stuck := now.Sub(latest(h.pendingAt, h.commitAt, h.awayAt)); h.pending && stuck > h.stall {
		l.Problems = append(l.Problems, fmt.Sprintf("changes are waiting and nothing was committed for %s", stuck.Round(time.Second)))
	}
	l.Healthy = len(l.Problems) == 0
	return l
}

// ready is the content of /readyz. Failed tables are told and do not make the task unready: the others go on.
type ready struct {
	Ready  bool              `json:"ready"`
	Source string            `json:"source"`
	Sink   string            `json:"sink"`
	Start  string            `json:"start"`
	Tables map[string]string `json:"tables_not_streaming,omitempty"`
	Gaps   map[string]string `json:"gaps,omitempty"` // since the start: holes that reading went on behind

	// Of replicas only.
	Role   Role   `json:"role,omitempty"`
	Shards []int  `json:"shards,omitempty"` // that run here
	Group  string `json:"group,omitempty"`
}

const ok = "ok"

func (h *health) ready() ready {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.divided() {
		return h.replicaReady()
	}
	r := ready{Source: h.redact(h.source.status()), Sink: h.redact(h.sink.status()), Start: ok, Tables: map[string]string{}, Gaps: map[string]string{}}
	if !h.started {
		r.Start = "not finished: no poll has ended yet"
	}
	for table, problem := range h.tables {
		r.Tables[table] = problem
	}
	for table, gap := range h.gaps {
		r.Gaps[table] = gap
	}
	r.Ready = r.Source == ok && r.Sink == ok && r.Start == ok
	return r
}

func (n *neighbour) status() string {
	switch {
	case !n.asked:
		return "not asked yet"
	case n.err != nil:
		return n.err.Error()
	}
	return ok
}

// into fills in the neighbours and what is known of polls and commits.
func (h *health) into(s *Status, m *Metrics) {
	age := seconds(h.waiting())
	s.Ready = h.ready().Ready
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Pending, s.Checkpoint = h.pending, CheckpointStatus{Age: age, CommittedAt: known(h.commitAt)}
	if h.started {
		s.LastPollAt = known(h.pollAt)
	}
	s.Neighbours = []NeighbourStatus{h.source.describe("source", m.options.Source, m), h.sink.describe("kafka", "kafka", m)}
	if m.options.Registry {
		s.Neighbours = append(s.Neighbours, h.registry.describe("registry", "schema registry", m))
	}
}

func (n *neighbour) describe(name, kind string, m *Metrics) NeighbourStatus {
	out := NeighbourStatus{Name: name, Kind: kind, State: NeighbourReachable, Since: known(n.since), Asked: known(n.at)}
	switch {
	case !n.asked:
		out.State = NeighbourUnknown
	case n.err != nil:
		out.State, out.Error = NeighbourAway, m.problemOf(n.err, "")
		out.Error.Since, out.Error.At = n.since.UTC(), n.at.UTC()
	}
	return out
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
