package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	"ctbridge/bridge/change"
)

// window counts what was handed over and is not acknowledged yet, and keeps the first error (I1: nothing counts that was not acknowledged;
// I10: its bytes are bounded).
type window struct {
	limit int64 // bytes

	mu      sync.Mutex
	bytes   int64
	count   int
	failed  *failure
	changed chan struct{} // holds a token when something changed since the waiter looked

	timeUp <-chan time.Time // when waiting has no point any more; nil = never. Only the sink's own goroutine touches it.
}

var errTimeUp = errors.New("the records were not acknowledged in time")

// failure is the first error of a session with the table and topic of the record that met it.
type failure struct {
	err   error
	table change.TableID
	topic string
}

func newWindow(limit int64) *window {
	return &window{limit: limit, changed: make(chan struct{}, 1)}
}

// enter waits until size more bytes fit and counts them. A message larger than the whole window passes alone.
func (w *window) enter(ctx context.Context, size int64) (*failure, error) {
	return w.wait(ctx, func() bool {
		fits := w.bytes == 0 || w.bytes+size <= w.limit
		if fits && w.failed == nil {
			w.bytes += size
			w.count++
		}
		return fits
	})
}

// done takes a message out, with the error that ended it, if any. An error that only follows from another gives way to it.
func (w *window) done(m *message, err error) {
	w.mu.Lock()
	w.bytes -= m.size
	w.count--
	if err != nil && (w.failed == nil || isConsequence(w.failed.err) && !isConsequence(err)) {
		w.failed = &failure{err: err, table: m.table, topic: m.Topic}
	}
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// waitEmpty returns when every message came back.
func (w *window) waitEmpty(ctx context.Context) (*failure, error) {
	return w.wait(ctx, func() bool { return w.count == 0 })
}

// wait returns when the condition holds, at the first failure, when the time is up, or with the context's error.
func (w *window) wait(ctx context.Context, holds func() bool) (*failure, error) {
	for {
		w.mu.Lock()
		ok, failed := holds(), w.failed
		w.mu.Unlock()
		if failed != nil || ok {
			return failed, nil
		}
		select {
		case <-w.changed:
		case <-w.timeUp:
			return nil, errTimeUp
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// empty reports whether every message came back.
func (w *window) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count == 0
}

// failure is the first error, nil if there is none.
func (w *window) failure() *failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}
