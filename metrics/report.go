package metrics

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
)

// Membership is who serves the task: replicas, and the shards that they share.
type Membership struct {
	Shards   []ShardStatus // Tables is filled in by Status
	Replicas []ReplicaStatus
	ShardOf  func(change.TableID) int // nil = all tables are in shard 0
}

// Membership sets where the status page asks who serves the task. Without it there is one shard, and this process runs it.
func (m *Metrics) Membership(ask func() Membership) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.members = ask
}

// Status is what is known of the task now.
func (m *Metrics) Status() *Status {
	now := m.now()
	s := &Status{
		Format: StatusFormat, Task: m.options.Task, Now: now.UTC(), Problems: []string{}, Build: Build{Version: m.options.Version, Go: runtime.Version()},
		HistoryStep: rateStep.Seconds(), Tables: []TableStatus{},
	}
	m.tablesInto(s, now)
	m.health.into(s, m)
	m.membersInto(s)
	s.judge(m.health.live())
	return s
}

// tablesInto fills in what the runner told.
func (m *Metrics) tablesInto(s *Status, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &m.board
	s.StartedAt, s.Uptime, s.Horizon, s.LastError = known(b.begin), now.Sub(b.begin).Seconds(), string(b.horizon), b.lastError
	step := stepOf(now)
	b.all.roll(step)
	s.Totals.RowsPerSecond, s.Totals.History, s.Totals.Errors = b.all.perSecond(b.beginStep), b.all.history(), b.errors
	for id, t := range m.tables {
		if t.board.state != "" {
			s.Tables = append(s.Tables, t.board.status(id, step, b.beginStep, now))
		}
	}
	slices.SortFunc(s.Tables, func(a, b TableStatus) int { return strings.Compare(a.Table, b.Table) })
	for i := range s.Tables {
		s.Totals.add(&s.Tables[i])
	}
}

func (t *tableBoard) status(id change.TableID, step, begin int64, now time.Time) TableStatus {
	t.rates.roll(step)
	out := TableStatus{
		Table: id.String(), Schema: id.Schema, Name: id.Name, State: string(t.state), Since: known(t.since), Version: t.version, Position: string(t.position),
		Events: t.events, CommittedAt: known(t.committed), RowsPerSecond: t.rates.perSecond(begin), History: t.rates.history(),
		LateRows: t.late, DroppedRows: t.dropped, Gaps: t.gaps, LastGap: t.lastGap, Load: t.load.status(now), Error: t.problem,
	}
	if t.lagKnown && t.state == bridge.TableStreaming { // of a table that stands still the last lag tells nothing
		out.Lag = seconds(t.lag)
	}
	if t.marginKnown {
		out.RetentionMargin = seconds(t.margin)
	}
	return out
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

func (a *Totals) add(t *TableStatus) {
	a.Tables++
	switch bridge.TableState(t.State) {
	case bridge.TableStreaming, bridge.TableCaptureStopped: // it is read
		a.Streaming++
	case bridge.TableLoading:
		a.Loading++
	case bridge.TableFailed, bridge.TableRewound:
		a.Failed++
	case bridge.TableMissing:
		a.Missing++
	}
	a.Events += t.Events
	a.LateRows += t.LateRows
	a.DroppedRows += t.DroppedRows
	a.Gaps += t.Gaps
	if t.Lag != nil && (a.Lag == nil || *t.Lag > *a.Lag) {
		a.Lag, a.LagTable = t.Lag, t.Table
	}
	if a.Lag == nil || *a.Lag == 0 {
		a.LagTable = ""
	}
}

// membersInto fills in who serves the task.
func (m *Metrics) membersInto(s *Status) {
	m.mu.Lock()
	ask := m.members
	m.mu.Unlock()
	if ask == nil {
		name := m.options.Replica
		s.Shards = []ShardStatus{{State: "active", Replica: name}}
		s.Replicas = []ReplicaStatus{{ID: name, Self: true, Shards: []int{0}}}
		s.countTables()
		return
	}
	who := ask()
	s.Shards, s.Replicas = append([]ShardStatus{}, who.Shards...), append([]ReplicaStatus{}, who.Replicas...)
	for i := range s.Tables {
		if who.ShardOf != nil {
			s.Tables[i].Shard = who.ShardOf(change.TableID{Schema: s.Tables[i].Schema, Name: s.Tables[i].Name})
		}
	}
	s.countTables()
}

// countTables counts the tables of the shards that run here.
func (s *Status) countTables() {
	count := make(map[int]int)
	for _, t := range s.Tables {
		count[t.Shard]++
	}
	for i := range s.Shards {
		shard := &s.Shards[i]
		if slices.ContainsFunc(s.Replicas, func(r ReplicaStatus) bool { return r.Self && slices.Contains(r.Shards, shard.Number) }) {
			n := count[shard.Number]
			shard.Tables = &n
		}
	}
}

// judge says how the task is, the worst first, and why.
func (s *Status) judge(l live) {
	s.State = StateOK
	worse := func(state, problem string) {
		if s.State == StateOK {
			s.State = state
		}
		s.Problems = append(s.Problems, problem)
	}
	for _, problem := range l.Problems {
		worse(StateStuck, problem)
	}
	for _, n := range s.Neighbours {
		if n.State == NeighbourAway {
			worse(StateAway, n.Name+" does not answer")
		}
	}
	for _, count := range []struct {
		n    int
		what string
	}{{s.Totals.Failed, "failed"}, {s.Totals.Missing, "missing"}} {
		if count.n > 0 {
			worse(StateDegraded, fmt.Sprintf("%d of %d tables %s", count.n, s.Totals.Tables, count.what))
		}
	}
	switch {
	case s.standsBy():
		if s.State == StateOK {
			s.State = StateStandby // which is no problem
		}
	case s.LastPollAt == nil:
		worse(StateStarting, "no poll has ended yet")
	}
}

// standsBy tells that this process runs no shard, because others do.
func (s *Status) standsBy() bool {
	return slices.ContainsFunc(s.Replicas, func(r ReplicaStatus) bool { return r.Self && len(r.Shards) == 0 })
}
