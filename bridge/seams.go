// Package bridge is the runner: one cycle reads changes, puts them in order, renders and publishes them, and remembers how far it came.
// DESIGN.md beside this file numbers the invariants.
package bridge

import (
	"context"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/envelope"
)

// Sink makes records and the checkpoint that covers them durable in one step (I1, I5).
//
// The order of calls is Open, then any number of rounds of Publish … Commit. After any error the caller calls Abort, then Open again: it
// trusts only what Open returns (I11). One goroutine calls all methods.
type Sink interface {
	// Open connects, fences any other instance of the same task and returns the checkpoint entries as of then.
	Open(ctx context.Context) (map[string][]byte, error)
	// EnsureTopic creates a missing topic. Its errors have class Table where only that topic is concerned.
	EnsureTopic(ctx context.Context, name string, role change.TopicRole) error
	// EnsureTopics does so for many topics, with few requests. What is wrong with single ones, as EnsureTopic would tell it, is in refused by
	// their names; an error is about all of them.
	EnsureTopics(ctx context.Context, names []string, role change.TopicRole) (refused map[string]error, err error)
	// Publish hands over one record. *r and the bytes that it points to may be used again at once.
	Publish(ctx context.Context, r *change.Record) error
	// Commit returns when all records since the last Commit and the entries are acknowledged by all in-sync replicas. An error that the
	// records of one table caused (too large, topic denied) is a *change.TableError.
	Commit(ctx context.Context, entries []checkpoint.Entry) error
	// Abort gives up everything since the last Commit.
	Abort(ctx context.Context) error
	Close() error
}

// Overlapping is a Sink that takes the records of the next round while a commit is under way.
type Overlapping interface {
	// CommitBehind begins what Commit does and returns. Records may be published meanwhile: they belong to the next round, and nobody can read them
	// before this one has ended. settled gives the moment of the commit's end and its error; it is called before the next commit.
	CommitBehind(ctx context.Context, entries []checkpoint.Entry) (settled func(ctx context.Context) (time.Time, error), err error)
}

// Encoder appends one event, encoded, to dst. It is declared beside the trees that it is compiled from, so that formats need not know the
// runner.
type Encoder = envelope.Encoder

// Registering is a Format whose schemas lie under subjects, which no two tables may share: their schemas would replace each other.
type Registering interface {
	Subject(topic, part string, n *envelope.Node) (string, error)
}

// Format compiles trees into encoders for one topic. With a schema registry it registers the schema before it returns (I9).
type Format interface {
	Value(ctx context.Context, topic string, n *envelope.Node) (Encoder, error)
	Key(ctx context.Context, topic string, n *envelope.Node) (Encoder, error)
}
