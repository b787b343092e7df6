package bridge

import (
	"context"
	"errors"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// takeOver leaves the other shards' tables to them, and finds the position of a shard whose tables came from others: they may stand far
// apart, and what the furthest behind still has to publish is not late.
func (r *Runner) takeOver() {
	lowest := change.Position("")
	for id, t := range r.state.Tables {
		switch {
		case !r.options.Shard.Has(id):
			t.Window = checkpoint.Window{} // the largest part of a table; its position stays, which says who owns a topic
		case lowest == "" || t.Position != "" && t.Position < lowest:
			lowest = t.Position
		}
	}
	if r.state.Task.Moved {
		r.state.Task.Position = lowest
	}
}

// RevokedError is the cause of a context that ends because the shard is to run elsewhere: whoever waits for it does so for less than a shutdown.
type RevokedError struct {
	Within time.Duration // for the drain
}

// Error says so.
func (r *RevokedError) Error() string { return "the shard was taken away" }

// drainTime is how long a drain may take, depending on why.
func drainTime(ctx context.Context, shutdown time.Duration) time.Duration {
	var revoked *RevokedError
	if errors.As(context.Cause(ctx), &revoked) {
		return min(shutdown, revoked.Within)
	}
	return shutdown
}
