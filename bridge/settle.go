package bridge

import (
	"context"
	"sync"
	"time"
)

// glance looks at the source while the sink is opened, so that what waits to settle has waited by then. It is a help only: what goes wrong with it
// the first poll meets again, and has its consequences there. The function that it returns ends it.
func (r *Runner) glance(ctx context.Context) (end func()) {
	source, can := r.source.(Settling)
	if !can || r.started {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		if err := source.Glance(ctx, r.options.Shard.Has); err != nil {
			r.options.Log.Debug("first look at the source", "error", err)
		}
	})
	return func() {
		late := time.AfterFunc(glanceGrace, cancel)
		work.Wait()
		late.Stop()
		cancel()
	}
}

// glanceGrace is how long an open sink waits for the first look: it discovers the tables, which is done anew then, because only a discovery behind the
// end of every other instance may be compared with the checkpoint.
const glanceGrace = 200 * time.Millisecond

// pause is the time until the next poll. Where rows wait to settle, the polls are spread so that one comes when they have: else it would be late by
// up to an interval.
func (r *Runner) pause() time.Duration {
	interval := jitter(r.options.PollInterval)
	if source, can := r.source.(Settling); can {
		return spread(interval, source.Due())
	}
	return interval
}

// spread divides the time until rows are due into pauses that are no longer than the interval, nor shorter than half of it.
func spread(interval, due time.Duration) time.Duration {
	if due < interval/2 || interval <= 0 {
		return interval
	}
	return due / ((due + interval - 1) / interval)
}
