package shard

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Options of a Set.
type Options struct {
	// Run moves the tables of one shard until ctx ends, then drains. Each call is a new run: nothing of an earlier one may be used.
	Run func(ctx context.Context, number int) error
	// Fenced tells that a run ended because another process runs the shard.
	Fenced func(err error) bool
	// Revoked is the cause with which the context of a shard ends that is taken away.
	Revoked error
	// Pause is how long a shard that was fenced waits before it is started again, if it is still ours: doubled each time up to a minute; 0 = 1 s.
	Pause time.Duration
	Log   *slog.Logger
}

// Set runs the shards that a replica was given.
type Set struct {
	options Options
	changed chan struct{}
	failed  chan error

	mu      sync.Mutex
	ctx     context.Context // of all runs; nil before Begin
	wanted  []int
	runs    map[int]context.CancelCauseFunc
	stopped bool
	drains  []error
	running sync.WaitGroup
}

// NewSet makes a set; it starts nothing.
func NewSet(o Options) *Set {
	o.Pause = cmp.Or(o.Pause, time.Second)
	return &Set{options: o, changed: make(chan struct{}, 1), failed: make(chan error, 1), runs: make(map[int]context.CancelCauseFunc)}
}

// Begin sets the context that all runs belong to; when it ends they drain.
func (s *Set) Begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
}

// Assign says which shards to run. Others are drained; Running goes on naming them until that is done.
func (s *Set) Assign(shards []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = slices.Clone(shards)
	for n, cancel := range s.runs {
		if !slices.Contains(shards, n) {
			cancel(s.options.Revoked)
		}
	}
	for _, n := range shards {
		s.begin(n, 0)
	}
}

// begin starts a shard after a pause, unless it runs. The caller holds mu.
func (s *Set) begin(n int, pause time.Duration) {
	if s.stopped || s.runs[n] != nil || !slices.Contains(s.wanted, n) {
		return
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.runs[n] = cancel
	s.running.Go(func() { s.run(ctx, n, pause) })
}

// run runs a shard once, and lets it begin again where it is still wanted.
func (s *Set) run(ctx context.Context, n int, pause time.Duration) {
	var err error
	if wait(ctx, pause) {
		err = s.options.Run(ctx, n)
	}
	fenced := err != nil && s.options.Fenced(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	told := ctx.Err() != nil
	s.runs[n](nil)
	delete(s.runs, n)
	switch {
	case fenced:
		s.options.Log.Warn("another process runs the shard", "shard", n, "error", err)
		s.begin(n, min(max(pause*2, s.options.Pause), time.Minute))
	case told && s.stopped:
		s.drains = append(s.drains, err)
	case told:
		if err != nil {
			s.options.Log.Warn("the shard was not drained; whoever runs it next goes on from the checkpoint", "shard", n, "error", err)
		}
		s.begin(n, 0)
	default:
		s.fail(err)
	}
	s.tell()
}

// tell says that a shard has ended; at a stop nobody has to know: the group is left. The caller holds mu.
func (s *Set) tell() {
	if s.stopped {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *Set) fail(err error) {
	select {
	case s.failed <- cmp.Or(err, errEnded):
	default:
	}
}

var errEnded = errors.New("a shard ended by itself")

// Running lists the shards that run: those that are wanted first, then those that are draining.
func (s *Set) Running() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept, stopping []int
	for n := range s.runs {
		if slices.Contains(s.wanted, n) {
			kept = append(kept, n)
		} else {
			stopping = append(stopping, n)
		}
	}
	slices.Sort(kept)
	slices.Sort(stopping)
	return append(kept, stopping...)
}

// Changed tells that a shard has ended.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// Failed gives the error of a shard that cannot go on, and with it this process: the others get its shards.
func (s *Set) Failed() <-chan error { return s.failed }

// Stop drains everything, for as long as the runs themselves take, and starts nothing any more.
func (s *Set) Stop() error {
	s.mu.Lock()
	s.stopped = true
	for _, cancel := range s.runs {
		cancel(context.Canceled)
	}
	s.mu.Unlock()
	s.running.Wait()
	return errors.Join(s.drains...)
}

// wait pauses and tells whether ctx still holds.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
