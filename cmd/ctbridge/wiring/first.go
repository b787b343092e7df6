package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/metrics"
	"ctbridge/source"
)

// firstPatience is how long rows of a change table are waited for: some horizons need two polls to move.
const firstPatience = 5 * time.Second

// FirstEvent reads the first event of one table at a position or above, and with an operation where one is named. Nothing is written anywhere.
func FirstEvent(ctx context.Context, t *config.Task, table string, op change.Op, at change.Position) (_ *change.Event, err error) {
	only := *t
	var pattern config.TablePattern
	if err := pattern.UnmarshalText([]byte(table)); err != nil {
		return nil, fault.New(fault.Config, "table "+table, err, "write it as in source.tables")
	}
	only.Source.Tables, only.Source.Horizon.Settle = config.TablePatterns{pattern}, 0
	engine, err := openEngine(&only.Source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	poller := newPoller(engine, &only, metrics.New(metrics.Options{}), slog.New(slog.DiscardHandler))
	captured, err := discoverOne(ctx, poller, table)
	if err != nil {
		return nil, err
	}
	return firstEvent(ctx, poller, source.Progress{Captured: captured, After: at.JustBelow(), Recent: &checkpoint.Window{}, Chosen: true}, op)
}

func discoverOne(ctx context.Context, poller *source.Poller, table string) (*source.Captured, error) {
	found, err := poller.Discover(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(found.Tables) == 1:
		found.Tables[0].Table.Version = 1
		return found.Tables[0], nil
	case len(found.Problems) > 0:
		return nil, found.Problems[0]
	}
	return nil, fault.New(fault.Config, "table "+table, fmt.Errorf("%d change tables are found for it", len(found.Tables)), "name one table as source.tables does")
}

func firstEvent(ctx context.Context, poller *source.Poller, from source.Progress, op change.Op) (*change.Event, error) {
	for deadline := time.Now().Add(firstPatience); ; {
		window, err := poller.Poll(ctx, []source.Progress{from})
		if err != nil {
			return nil, err
		}
		if problem := window.Newest[0].Problem; problem != nil {
			return nil, problem
		}
		if !window.Empty() {
			return firstOf(ctx, poller, window, op)
		}
		if !window.Pending || !time.Now().Before(deadline) {
			return nil, nothingThere()
		}
		wait(ctx, 20*time.Millisecond)
	}
}

func nothingThere() error {
	return fault.New(fault.Config, "", errors.New("the change table has no such event"), "leave --operation and --position out for the first one there is")
}

func firstOf(ctx context.Context, poller *source.Poller, window *source.Window, op change.Op) (*change.Event, error) {
	events := poller.Read(ctx, window)
	defer events.Close()
	for {
		ev, err := events.Next()
		if failures := events.Failures(); len(failures) > 0 {
			return nil, failures[0]
		}
		switch {
		case err != nil:
			return nil, err
		case ev == nil:
			return nil, nothingThere()
		case op == 0 || ev.Op == op:
			return ev, nil
		}
	}
}
