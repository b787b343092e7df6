// Package facts is what neighbours tell about themselves before a task starts: the vocabulary between adapters, which ask, and package
// preflight, which judges. Nothing here is an opinion. Zero values mean "not known" unless a comment says otherwise.
package facts

import (
	"time"

	"ctbridge/bridge/change"
)

// Server is a database server as the login of the task sees it.
type Server struct {
	Version  string // for people: "PostgreSQL 16.4"
	Login    string // name that grants go to, unquoted
	Database string
	Clock    time.Time // the server's clock when it answered; zero where it has none of its own
	Read     time.Time // this machine's clock at that moment, as the asker notes it
}

// Index is an index that any query may use: it holds all rows and is switched on.
type Index struct {
	Name    string
	Columns []string // leading columns in order; an expression ends the list

	ended bool
}

// Transaction is one that has been open for a while.
type Transaction struct {
	Who  string // session, user, host
	Age  time.Duration
	What string // state or statement, shortened
	Stop string // SQL that ends it
}

// ChangeTable is what a layout knows about one of its change tables.
type ChangeTable struct {
	Order    []change.Column // columns that an index must lead with; none = the product makes that index itself
	Missing  []Header        // header columns that are not there
	Odd      []Header        // header columns whose type does not hold what it should
	Befores  *Pairs          // nil = before-images cannot be missing
	Oldest   time.Time       // of the rows
	Newest   time.Time
	KeepsFor time.Duration // how long the clean-up keeps rows
	Captured []string      // columns of the base table that are not captured
	Mend     []string      // SQL that makes up for Captured
}

// Header is a header column with what it costs that it is missing, or what is odd about it.
type Header struct{ Name, Why string }

// Pairs counts updates among the newest rows, and before-images.
type Pairs struct{ Updates, Befores int64 }

// Writer is who fills the change tables: a replication task, a capture job.
type Writer struct {
	Place     string      // table that tells, "" = none does
	Tasks     []TaskState // one for each task that the table tells of
	Suspended []Suspended
	Retention time.Duration // of the clean-up
	Remarks   []Remark      // what only the layout can judge
}

// TaskState is a line of the writer's control table.
type TaskState struct {
	Name, State string
	Applied     time.Time // up to here everything is in the change tables
	Told        time.Time // when the line was written
}

// Suspended is a table that the writer has given up.
type Suspended struct{ Table, Reason string }

// Remark is a judgement of an adapter: Bad is a failure, else it is a warning.
type Remark struct {
	Check, Subject string
	Bad            bool
	Seen, Do       string
	SQL            []string
}

// Cluster is a Kafka cluster.
type Cluster struct {
	Brokers      []string // addresses
	Oldest       string   // protocol level that every broker has, as a release: "3.7"
	Newest       string   // last release with that level, "" = it is not known yet
	Settings     map[string]string
	Hidden       error // why the settings may not be read; nil = Settings is complete
	Topics       []Topic
	Transactions []Transactions // of each transactional id; none where none are used
	Group        *Group         // nil where none is used
}

// Group is the consumer group of a task's replicas.
type Group struct {
	ID      string
	Members int
	Err     error // why it cannot be joined
}

// Topic is a topic that the task uses, or would make.
type Topic struct {
	Name       string
	Role       change.TopicRole
	Exists     bool
	Partitions int
	Replicas   int // of the partition that has fewest
	InSync     int // the same
	Leaderless int // partitions without a leader
	Settings   map[string]string
	Hidden     error             // why the settings may not be read
	Err        error             // why it cannot be used, or made; nil = it can
	New        map[string]string // settings that a new topic would get, with "partitions" and "replication.factor"
}

// Transactions say whether a transactional id can be used.
type Transactions struct {
	ID          string
	Coordinator string
	State       string // of the id: "Ongoing", "CompleteCommit", "" = unknown to the brokers
	Since       time.Time
	Err         error
}
