package shard_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ctbridge/bridge/shard"
)

var (
	errFenced  = errors.New("fenced")
	errRevoked = errors.New("revoked")
)

// runs are shards that note what becomes of them.
type runs struct {
	mu     sync.Mutex
	events []string
	fail   map[int]error // by shard: what ends its next run at once
	drain  time.Duration
}

func (r *runs) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, what)
}

func (r *runs) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.events
	r.events = nil
	return out
}

func (r *runs) run(ctx context.Context, n int) error {
	name := string(rune('0' + n))
	r.note("start " + name)
	r.mu.Lock()
	err := r.fail[n]
	delete(r.fail, n)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	<-ctx.Done()
	timer := time.NewTimer(r.drain)
	<-timer.C
	if errors.Is(context.Cause(ctx), errRevoked) {
		r.note("revoked " + name)
	} else {
		r.note("stopped " + name)
	}
	return nil
}

func newSet(r *runs) *shard.Set {
	s := shard.NewSet(shard.Options{Run: r.run, Fenced: func(err error) bool { return errors.Is(err, errFenced) }, Revoked: errRevoked, Log: slog.New(slog.DiscardHandler)})
	s.Begin(context.Background())
	return s
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A shard that is taken away is drained, is named as running until then, and is told when it has ended.
func TestRevokedShardDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &runs{drain: time.Second}
		s := newSet(r)
		s.Assign([]int{0, 1})
		synctest.Wait()
		if got := r.took(); len(got) != 2 {
			t.Fatal(got)
		}
		s.Assign([]int{1})
		synctest.Wait()
		if got := s.Running(); !reflect.DeepEqual(got, []int{1, 0}) {
			t.Errorf("running %v: the one that drains comes last", got)
		}
		<-s.Changed()
		want(t, r.took(), "revoked 0")
		if got := s.Running(); !reflect.DeepEqual(got, []int{1}) {
			t.Errorf("running %v", got)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		want(t, r.took(), "stopped 1")
		s.Assign([]int{0})
		want(t, r.took())
	})
}

// A shard that comes back while it drains begins again behind the drain, never beside it.
func TestShardComesBackWhileItDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &runs{drain: time.Second}
		s := newSet(r)
		s.Assign([]int{0})
		synctest.Wait()
		s.Assign(nil)
		synctest.Wait()
		s.Assign([]int{0})
		<-s.Changed()
		synctest.Wait()
		want(t, r.took(), "start 0", "revoked 0", "start 0")
		_ = s.Stop()
	})
}

// A fenced shard waits before it starts again, if it is still ours, and longer each time: two processes do not fence each other in turn.
func TestFencedShardWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &runs{fail: map[int]error{0: errFenced}}
		s := newSet(r)
		begin := time.Now()
		s.Assign([]int{0})
		<-s.Changed()
		r.mu.Lock()
		r.fail[0] = errFenced
		r.mu.Unlock()
		<-s.Changed() // a second later
		if waited := time.Since(begin); waited < time.Second {
			t.Errorf("started again after %v", waited)
		}
		s.Assign(nil)
		synctest.Wait()
		want(t, r.took(), "start 0", "start 0")
		if got := s.Running(); len(got) > 0 {
			t.Errorf("running %v though it was taken away while it waited", got)
		}
		_ = s.Stop()
	})
}

// An error that the task cannot go on with ends the process; so does a run that ends without being told.
func TestFailedShardEndsTheProcess(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	r := &runs{fail: map[int]error{2: bad}}
	s := newSet(r)
	s.Assign([]int{2})
	if err := <-s.Failed(); !errors.Is(err, bad) {
		t.Errorf("failed with %v", err)
	}
	_ = s.Stop()
}
