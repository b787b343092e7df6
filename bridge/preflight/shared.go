package preflight

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// shared is an answer that several checks need: the question is asked once, by the first of them.
type shared[T any] struct {
	start sync.Once
	done  chan struct{}
	value T
	err   error
}

// get waits for the answer, or for the end of ctx. A question that does not end in time is left alone.
func (s *shared[T]) get(ctx context.Context, limit time.Duration, ask func(ctx context.Context) (T, error)) (T, error) {
	s.start.Do(func() {
		s.done = make(chan struct{})
		go func() {
			defer close(s.done)
			limited, cancel := context.WithTimeoutCause(ctx, limit, slow(limit))
			defer cancel()
			s.value, s.err = ask(limited)
		}()
	})
	select {
	case <-s.done:
		return s.value, s.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

func slow(limit time.Duration) error { return fmt.Errorf("no answer within %s", limit) }

// group runs functions at the same time and gives what they note in their order. One that does not end with the context is left behind, and that is
// noted.
type group struct{ work []job }

type job struct {
	area  Area
	check string
	run   func(ctx context.Context, n *notes)
}

func (g *group) wait(ctx context.Context) (all []Finding) {
	answers := make([]chan []Finding, len(g.work))
	for i, j := range g.work {
		answers[i] = make(chan []Finding, 1)
		go func() {
			n := &notes{area: j.area, check: j.check}
			j.run(ctx, n)
			answers[i] <- n.list
		}()
	}
	for i, j := range g.work {
		all = append(all, j.answer(ctx, answers[i])...)
	}
	return all
}

// answer waits for what a check notes. What is there when the time is up counts.
func (j *job) answer(ctx context.Context, from <-chan []Finding) []Finding {
	select {
	case list := <-from:
		return list
	case <-ctx.Done():
	}
	select {
	case list := <-from:
		return list
	default:
		n := &notes{area: j.area, check: j.check}
		n.failed("-", context.Cause(ctx))
		return n.list
	}
}
