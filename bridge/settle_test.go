package bridge

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"ctbridge/bridge/change"
)

// Pauses lead exactly to the moment when rows have settled, none is longer than the interval, and none shorter than half of it.
func TestSpread(t *testing.T) {
	t.Parallel()
	const interval = 200 * time.Millisecond
	for _, test := range []struct{ due, want time.Duration }{
		{0, interval}, {time.Millisecond, interval}, {99 * time.Millisecond, interval}, {100 * time.Millisecond, 100 * time.Millisecond}, {interval, interval},
		{210 * time.Millisecond, 105 * time.Millisecond}, {450 * time.Millisecond, 150 * time.Millisecond}, {time.Second, interval},
	} {
		if got := spread(interval, test.due); got != test.want {
			t.Errorf("due in %s: %s, want %s", test.due, got, test.want)
		}
	}
	if got := spread(0, time.Second); got != 0 {
		t.Errorf("without an interval: %s, want 0", got)
	}
	for due := interval / 2; due < 3*time.Second; due += 7 * time.Millisecond {
		left := due
		for left >= interval/2 {
			pause := spread(interval, left)
			if pause > interval || pause < interval/2 {
				t.Fatalf("due in %s: a pause of %s", left, pause)
			}
			left -= pause
		}
		if left != 0 {
			t.Errorf("due in %s: the last poll comes %s early", due, left)
		}
	}
}

// glancing is a source whose first look takes a while.
type glancing struct {
	Source
	takes time.Duration
	ended error
	done  bool
}

func (g *glancing) Glance(ctx context.Context, _ func(change.TableID) bool) error {
	sleep(ctx, g.takes)
	g.ended, g.done = ctx.Err(), true
	return g.ended
}

func (g *glancing) Due() time.Duration { return 0 }

// The first look runs beside the opening of the sink. It is waited for a moment, and given up then: what it does is done once more anyway.
func TestGlanceBesideTheSink(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glance, open, want time.Duration
		cut                bool
	}{
		{glance: 100 * time.Millisecond, open: time.Second, want: time.Second},
		{glance: time.Second, open: 900 * time.Millisecond, want: time.Second},
		{glance: time.Minute, open: time.Second, want: time.Second + glanceGrace, cut: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			source := &glancing{takes: test.glance}
			r := New(source, nil, Options{Log: slog.New(slog.DiscardHandler)})
			begin := time.Now()
			end := r.glance(t.Context())
			sleep(t.Context(), test.open)
			end()
			if took := time.Since(begin); took != test.want || !source.done || errors.Is(source.ended, context.Canceled) != test.cut {
				t.Errorf("%+v: took %s, done %v, ended with %v", test, took, source.done, source.ended)
			}
		})
	}
}
