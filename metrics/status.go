package metrics

import (
	"time"
)

// StatusFormat is the version of the document at /api/status. It rises when a field goes away or changes its meaning; new fields do not raise
// it. docs/status.md describes every field.
const StatusFormat = 1

// The states of a task, the worst that is so.
const (
	StateOK       = "ok"
	StateStandby  = "standby"  // other replicas run the shards; this one waits
	StateStarting = "starting" // no poll has ended yet
	StateDegraded = "degraded" // a table does not stream
	StateAway     = "away"     // an essential neighbour does not answer
	StateStuck    = "stuck"    // /healthz is red
	StateStopped  = "stopped"  // no instance runs; told from the checkpoint by the verb status
)

// The states of a neighbour.
const (
	NeighbourReachable = "reachable"
	NeighbourAway      = "away"
	NeighbourUnknown   = "unknown" // not asked yet
)

// Status is the document at /api/status. Durations are in seconds; what is not known is null.
type Status struct {
	Format      int               `json:"format"`
	Task        string            `json:"task"`
	State       string            `json:"state"`
	Ready       bool              `json:"ready"`
	Problems    []string          `json:"problems"` // why State is not ok, for people
	Now         time.Time         `json:"now"`
	StartedAt   *time.Time        `json:"started_at"`
	Uptime      float64           `json:"uptime_seconds"`
	Build       Build             `json:"build"`
	Totals      Totals            `json:"totals"`
	HistoryStep float64           `json:"history_step_seconds"`
	Horizon     string            `json:"horizon"`
	LastPollAt  *time.Time        `json:"last_poll_at"`
	Pending     bool              `json:"pending"` // changes are known that are not published yet
	Checkpoint  CheckpointStatus  `json:"checkpoint"`
	Neighbours  []NeighbourStatus `json:"neighbours"`
	LastError   *Problem          `json:"last_error"` // of the task, since the start
	Shards      []ShardStatus     `json:"shards"`
	Replicas    []ReplicaStatus   `json:"replicas"`
	Tables      []TableStatus     `json:"tables"` // by name
}

// Build tells which program runs.
type Build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Totals are sums over all tables since the start.
type Totals struct {
	Tables        int      `json:"tables"`
	Streaming     int      `json:"streaming"`
	Loading       int      `json:"loading"`
	Failed        int      `json:"failed"`
	Missing       int      `json:"missing"`
	Events        uint64   `json:"events"`
	RowsPerSecond float64  `json:"rows_per_second"`
	History       []uint32 `json:"history"`
	Lag           *float64 `json:"lag_seconds"` // the largest
	LagTable      string   `json:"lag_table"`   // of which table; empty while nothing lags
	LateRows      uint64   `json:"late_rows"`
	DroppedRows   uint64   `json:"dropped_rows"`
	Gaps          uint64   `json:"gaps"`
	Errors        uint64   `json:"errors"`
}

// CheckpointStatus tells how old the checkpoint is.
type CheckpointStatus struct {
	Age         *float64   `json:"age_seconds"` // for how long changes have been waiting that it does not cover
	CommittedAt *time.Time `json:"committed_at"`
}

// NeighbourStatus tells whether a neighbour answers.
type NeighbourStatus struct {
	Name  string     `json:"name"` // source, kafka, registry
	Kind  string     `json:"kind"` // such as postgres
	State string     `json:"state"`
	Since *time.Time `json:"since"`    // when State became so
	Asked *time.Time `json:"asked_at"` // when it was asked last
	Error *Problem   `json:"error"`
}

// ShardStatus is one part of the task.
type ShardStatus struct {
	Number  int    `json:"number"`
	State   string `json:"state"`   // active, standby, ...
	Replica string `json:"replica"` // who runs it; empty = nobody
	Tables  *int   `json:"tables"`  // known where this replica runs it
}

// ReplicaStatus is one process that serves the task.
type ReplicaStatus struct {
	ID     string `json:"id"`
	Self   bool   `json:"self"` // the one that answers
	Shards []int  `json:"shards"`
}

// TableStatus is one table.
type TableStatus struct {
	Table           string      `json:"table"`
	Schema          string      `json:"schema"`
	Name            string      `json:"name"`
	Shard           int         `json:"shard"`
	State           string      `json:"state"`
	Since           *time.Time  `json:"since"`   // when State became so
	Version         int         `json:"version"` // of its structure, 0 = not known
	Position        string      `json:"position"`
	Events          uint64      `json:"events"`
	CommittedAt     *time.Time  `json:"committed_at"` // when an event of it was committed last, in this process
	RowsPerSecond   float64     `json:"rows_per_second"`
	History         []uint32    `json:"history"` // events per step, oldest first; empty = nothing in all steps
	Lag             *float64    `json:"lag_seconds"`
	RetentionMargin *float64    `json:"retention_margin_seconds"`
	LateRows        uint64      `json:"late_rows"`
	DroppedRows     uint64      `json:"dropped_rows"`
	Gaps            uint64      `json:"gaps"`
	LastGap         string      `json:"last_gap"`
	Load            *LoadStatus `json:"load"`
	Error           *Problem    `json:"error"`
}

// LoadStatus is the last full load of a table.
type LoadStatus struct {
	State       string     `json:"state"` // waiting, running, paused, done, cancelled, none
	Done        int64      `json:"rows_done"`
	Total       int64      `json:"rows_expected"`
	StartedAt   *time.Time `json:"started_at"` // in this process
	EndedAt     *time.Time `json:"ended_at"`
	SecondsLeft *float64   `json:"seconds_left"`
}

// Problem is an error for people.
type Problem struct {
	Message    string     `json:"message"`
	Hint       string     `json:"hint"`
	Class      string     `json:"class"`
	Stage      string     `json:"stage"` // empty where a table or neighbour has it
	Since      time.Time  `json:"since"`
	At         time.Time  `json:"at"`          // when it was met last
	ResolvedAt *time.Time `json:"resolved_at"` // null = it is still so
}
