package preflight

import (
	"context"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

// World is a task with its neighbours.
type World struct {
	Task    Task
	Engine  source.Engine
	Layout  source.Layout
	Outputs []bridge.Output // their formats register at Book
	Book    *Book
	Values  *values.Rules // what users decide about columns; nil = nothing

	Kafka      func(ctx context.Context, topics map[string]change.TopicRole) (*facts.Cluster, error)
	Registry   Registry // nil where none is used
	Checkpoint func(ctx context.Context) (*Kept, error)

	Now   func() time.Time
	Limit time.Duration // of one question
}

// Task is what checks must know of the configuration.
type Task struct {
	Name string

	Engine    string // as source.engine names it
	Layout    string
	Unused    func(tables []change.TableID) []string // entries of source.tables that no table comes from, exclusions left out
	Horizon   source.HorizonOptions
	Lookback  time.Duration
	Load      bridge.LoadMode
	OnReset   bridge.ResetPolicy
	Start     bridge.StartAt
	OwnTopics []string
	Principal string // of ACLs: the SASL user, "" = not known
	Brokers   []string

	Kafka         KafkaTask
	Topics        map[string]change.TopicRole // of the task itself, that a start makes
	ControlTopic  string
	RegistryURL   string
	Compatibility string // of new subjects, "" = the registry's own

	MemoryBytes int64 // memory.max_bytes
	MemoryLimit int64 // of the container, 0 = none
}

// KafkaTask is what a task asks of the brokers.
type KafkaTask struct {
	Version            string
	MaxMessageBytes    int64
	MaxLetterBytes     int64 // of dead letters
	TransactionTimeout time.Duration
	CreateTopics       bool
}

// Kept is a checkpoint, read beside whoever may be running the task.
type Kept struct {
	State *checkpoint.State
	Place string    // for people
	Saved time.Time // zero = not known
}

// Registry is what is asked of a schema registry.
type Registry interface {
	Ping(ctx context.Context) error
	// Mode is READWRITE, READONLY, IMPORT and the like, "" where the registry has none.
	Mode(ctx context.Context) (string, error)
	// Lookup gives the id of a schema under a subject.
	Lookup(ctx context.Context, subject, schema string) (id int, found bool, err error)
	// Newest gives the newest schema of a subject.
	Newest(ctx context.Context, subject string) (id int, schema string, found bool, err error)
	// Compatible asks whether a schema could come next under a subject.
	Compatible(ctx context.Context, subject, schema string) (ok bool, reasons []string, err error)
	// Level is the compatibility level in force.
	Level(ctx context.Context, subject string) (level string, own bool, err error)
}

// What an engine may tell beyond its seam.
type (
	serving interface {
		Server(ctx context.Context) (facts.Server, error)
	}
	granting interface {
		Grant(tables []change.TableID, login string) []string
	}
	indexing interface {
		Indexes(ctx context.Context, ids []change.TableID) (map[change.TableID][]facts.Index, error)
		MakeIndex(table change.TableID, columns []string) string
	}
	collating interface {
		Collations(ctx context.Context, ids []change.TableID) (map[change.TableID]map[string]string, error)
	}
	transacting interface {
		Transactions(ctx context.Context, older time.Duration) ([]facts.Transaction, error)
	}
	watching interface {
		Watch(login string) []string
	}
	counting interface {
		Rows(ctx context.Context, ids []change.TableID) (map[change.TableID]int64, error)
	}
)

// What a layout may tell beyond its seam.
type (
	inspecting interface {
		Inspect(ctx context.Context, t *source.Captured) (facts.ChangeTable, error)
	}
	overseeing interface {
		Writer(ctx context.Context) (facts.Writer, error)
	}
	mending interface {
		Mend(ctx context.Context, table change.TableID, login string) []string
	}
)

// Book stands for a schema registry while messages are compiled: it notes what would be registered.
type Book struct{ entries []Entry }

// Entry is a schema under its subject.
type Entry struct{ Subject, Schema string }

// Register notes a schema. Its id is a place in the book.
func (b *Book) Register(_ context.Context, subject, schema string) (int, error) {
	b.entries = append(b.entries, Entry{subject, schema})
	return len(b.entries), nil
}

// take gives what was noted since it was asked last.
func (b *Book) take() []Entry {
	out := b.entries
	b.entries = nil
	return out
}
