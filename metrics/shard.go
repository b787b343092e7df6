package metrics

import (
	"slices"
	"strconv"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
)

// Role is what a replica does.
type Role string

// The roles.
const (
	RoleSingle  Role = "single"  // no other replica can take over
	RoleActive  Role = "active"  // it runs at least one shard
	RoleStandby Role = "standby" // it waits for one
)

// Replicated says that this process is one of several that share the task's shards. It is a standby until it runs one.
func (m *Metrics) Replicated(shards int) {
	for n := range shards {
		m.shardActive.WithLabelValues(strconv.Itoa(n)).Set(0)
	}
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	m.health.replicated = true
}

// Rebalanced counts that the group has given out the shards anew.
func (m *Metrics) Rebalanced() { m.rebalances.Inc() }

// GroupReachable notes whether the group's coordinator answered.
func (m *Metrics) GroupReachable(err error) { m.health.reached(&m.health.group, err) }

// Role is what this replica does now.
func (m *Metrics) Role() Role {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	return m.health.role()
}

// Shards lists the shards that this replica runs now.
func (m *Metrics) Shards() []int {
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	out := make([]int, 0, len(m.health.shards))
	for n := range m.health.shards {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// Shard is the observer of one shard while it runs here. Counters are those of the process; what is said about health, and gauges of tables,
// belong to the shard and end with it: who runs it next tells them.
type Shard struct {
	*Metrics
	number int
	own    *health
	tables map[change.TableID]bool // that it told of; used by the runner's goroutine, and by Close after it
}

// Shard begins to observe a shard. The caller closes it.
func (m *Metrics) Shard(number int) *Shard {
	s := &Shard{Metrics: m, number: number, own: newHealth(m.now, m.health.stall), tables: map[change.TableID]bool{}}
	s.own.redact = m.health.redact
	m.shardActive.WithLabelValues(strconv.Itoa(number)).Set(1)
	m.health.mu.Lock()
	defer m.health.mu.Unlock()
	if m.health.shards == nil {
		m.health.shards = map[int]*health{}
	}
	m.health.shards[number] = s.own
	return s
}

// Close ends the observation: the shard does not run here any more.
func (s *Shard) Close() {
	s.shardActive.WithLabelValues(strconv.Itoa(s.number)).Set(0)
	s.health.mu.Lock()
	if s.health.shards[s.number] == s.own {
		delete(s.health.shards, s.number)
	}
	for id := range s.tables {
		delete(s.health.tables, id.String())
		delete(s.health.gaps, id.String())
	}
	s.health.pending = false
	standby := len(s.health.shards) == 0
	s.health.mu.Unlock()
	if standby {
		s.rest()
	}
	for id := range s.tables {
		s.forget(id)
	}
}

// rest says that this process does not poll any more, on purpose.
func (m *Metrics) rest() {
	m.lastPoll.Set(0)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.capture != nil {
		m.capture.age.Set(0)
	}
}

// forget takes the gauges of a table away; its counters stay.
func (m *Metrics) forget(id change.TableID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, known := m.tables[id]
	if !known {
		return
	}
	m.lag.DeleteLabelValues(t.name)
	m.version.DeleteLabelValues(t.name)
	m.loadDone.DeleteLabelValues(t.name)
	m.loadTotal.DeleteLabelValues(t.name)
	m.loadActive.DeleteLabelValues(t.name)
	for state := range t.states {
		m.state.DeleteLabelValues(t.name, string(state))
	}
	if m.capture != nil {
		m.capture.margin.DeleteLabelValues(t.name)
		m.capture.missing.DeleteLabelValues(t.name)
	}
	delete(m.tables, id)
}

// Polled notes a poll of the shard.
func (s *Shard) Polled(took time.Duration) {
	s.Metrics.Polled(took)
	s.own.polled()
}

// Committed notes a commit of the shard.
func (s *Shard) Committed(c bridge.Commit) {
	s.Metrics.Committed(c)
	s.own.committed()
}

// Pending notes whether changes wait in the shard.
func (s *Shard) Pending(pending bool) {
	s.Metrics.Pending(pending)
	s.own.setPending(pending)
}

// Gap notes a hole in a table of the shard.
func (s *Shard) Gap(table change.TableID, gap bridge.Gap) {
	s.tables[table] = true
	s.Metrics.Gap(table, gap)
	s.own.gap(table, gap)
}

// TableChanged notes the state of a table of the shard.
func (s *Shard) TableChanged(table change.TableID, state bridge.TableState, version int, err error) {
	s.tables[table] = true
	s.Metrics.TableChanged(table, state, version, err)
	s.own.tableChanged(table, state, err)
}

// Loaded notes the load of a table of the shard.
func (s *Shard) Loaded(table change.TableID, p bridge.LoadProgress) {
	s.tables[table] = true
	s.Metrics.Loaded(table, p)
}

// Lag notes how far a table of the shard is behind.
func (s *Shard) Lag(table change.TableID, lag time.Duration) {
	s.tables[table] = true
	s.Metrics.Lag(table, lag)
}

// SourceReachable notes whether the database answered the shard.
func (s *Shard) SourceReachable(err error) {
	s.Metrics.SourceReachable(err)
	s.own.reached(&s.own.source, err)
}

// SinkReachable notes whether the brokers answered the shard.
func (s *Shard) SinkReachable(err error) {
	s.Metrics.SinkReachable(err)
	s.own.reached(&s.own.sink, err)
}
