package bridge

import (
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// TableState is what a table is doing.
type TableState string

// The states of a table.
const (
	TableStreaming TableState = "streaming" // read and published, or idle
	TableLoading   TableState = "loading"   // its base table is read; its changes wait
	TableFailed    TableState = "failed"    // stopped by an error; tried again with a growing pause
	TableMissing   TableState = "missing"   // its change table is not there

	TableRewound        TableState = "source_rewound"  // stopped: its source has gone back behind what was published; tried again with a growing pause
	TableCaptureStopped TableState = "capture_stopped" // read, but nothing new comes: what fills its change table stands still
)

// TableStates lists every state, for metrics that show one series per state.
var TableStates = []TableState{TableStreaming, TableLoading, TableFailed, TableMissing, TableRewound, TableCaptureStopped}

// Stage is a part of the line, as errors are counted by.
type Stage string

// The stages.
const (
	StageDiscover   Stage = "discover"
	StagePoll       Stage = "poll"
	StageLoad       Stage = "load"
	StageRender     Stage = "render"
	StagePublish    Stage = "publish"
	StageCheckpoint Stage = "checkpoint"
)

// Observer hears the facts of the runner; metrics and health are built on it. Methods return at once, are called from the runner's
// goroutine, and must not keep their arguments' memory beyond TableIDs and errors.
type Observer interface {
	// Polled: one detection query ended.
	Polled(took time.Duration)
	// RowsRead: n events of a table left the merge stage.
	RowsRead(table change.TableID, n int)
	// Committed: one commit made n events durable, by table and operation; took is the time from the first record to the acknowledgement.
	Committed(c Commit)
	// Late: n events came below a position that was already published.
	Late(table change.TableID, n int)
	// Dropped: n rows were left out by a policy the user chose (I3); reason is the policy's name.
	Dropped(table change.TableID, reason string, n int)
	// Gap: a hole in the changes of a table was found, and the user's policy is to go on behind it.
	Gap(table change.TableID, gap Gap)
	// Horizon: how far the last poll allows to read; empty where the source does not know yet.
	Horizon(upto change.Position)
	// Reached: the position of a table, as it joins and when a commit has moved it.
	Reached(table change.TableID, position change.Position)
	// TableChanged: a table's state, version or error changed. err is nil where there is none.
	TableChanged(table change.TableID, state TableState, version int, err error)
	// Loaded: a chunk of a table's full load was committed, or its state has changed.
	Loaded(table change.TableID, p LoadProgress)
	// Lag: now minus the commit time of the oldest unpublished row, 0 when caught up.
	Lag(table change.TableID, lag time.Duration)
	// Failed: the stage met an error of that class.
	Failed(stage Stage, class fault.Class, err error)
	// SourceReachable and SinkReachable: an essential neighbour answered (nil) or did not.
	SourceReachable(err error)
	SinkReachable(err error)
	// Pending: whether changes are known that are not published yet. Health is red when this stays true and nothing is committed.
	Pending(pending bool)
}

// Commit is what one commit made durable.
type Commit struct {
	Counts map[CommitKey]int // events, as the first output tells them
	// DeadLetters are rows that went to the dead-letter topic; they are no published events.
	DeadLetters map[LetterKey]int
	Records     int // of all outputs
	Bytes       int
	Took        time.Duration
	// Oldest is the source time of the oldest event in the commit, zero where unknown.
	Oldest time.Time
}

// CommitKey counts by table and operation.
type CommitKey struct {
	Table change.TableID
	Op    change.Op
}

// LoadProgress is how far the full load of a table is.
type LoadProgress struct {
	State checkpoint.LoadState
	Rows  int   // of the chunk
	Done  int64 // rows published so far
	Total int64 // rows that the table had at the beginning, Done at least
}
