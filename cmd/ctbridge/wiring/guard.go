package wiring

import (
	"context"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// guard is a sink that a replica may open only while it is a member of its group. A process that was halted for longer than the session
// time-out wakes up in the belief that its shards are its own: without this it could fence the rightful owner when its connection has to be
// made anew.
type guard struct {
	sink
	may func() error // an error of class Retry while the membership is in doubt

	// records asks before each record, too, for sinks whose records are visible at once: they are not undone by a fence.
	records bool
}

// Open opens the sink of a member.
func (g *guard) Open(ctx context.Context) (map[string][]byte, error) {
	if err := g.may(); err != nil {
		return nil, err
	}
	return g.sink.Open(ctx)
}

// Publish hands over a record of a member.
func (g *guard) Publish(ctx context.Context, r *change.Record) error {
	if g.records {
		if err := g.may(); err != nil {
			return err
		}
	}
	return g.sink.Publish(ctx, r)
}

// Commit commits for a member.
func (g *guard) Commit(ctx context.Context, entries []checkpoint.Entry) error {
	if g.records {
		if err := g.may(); err != nil {
			return err
		}
	}
	return g.sink.Commit(ctx, entries)
}

// CommitBehind commits for a member, beside the next round where the sink can do that.
func (g *guard) CommitBehind(ctx context.Context, entries []checkpoint.Entry) (settled func(context.Context) (time.Time, error), err error) {
	if o, can := g.sink.(bridge.Overlapping); can {
		return o.CommitBehind(ctx, entries)
	}
	err = g.Commit(ctx, entries)
	at := time.Now()
	return func(context.Context) (time.Time, error) { return at, nil }, err
}
