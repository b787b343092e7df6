package bridge

import (
	"context"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/source"
)

// StartAt says where a table begins that has nothing in the checkpoint and is not loaded. The zero value begins with the earliest row.
type StartAt struct {
	Now   bool            // with what comes after the first poll
	After change.Position // with what comes after a position
	Time  time.Time       // with what was changed at a moment or later
}

func (s StartAt) earliest() bool { return s == StartAt{} }

func (s StartAt) String() string {
	switch {
	case s.Now:
		return "now"
	case s.After != "":
		return string(s.After)
	case !s.Time.IsZero():
		return s.Time.UTC().Format(time.RFC3339)
	}
	return "earliest"
}

// joins decides how a table begins that has nothing in the checkpoint: by a load, or at a position that the first poll tells.
func (r *Runner) joins(t *table) {
	if _, moved := t.resetStart(); moved {
		t.starting = true
		return
	}
	if t.state.Position != "" || t.state.Load != nil {
		return
	}
	switch mode := r.options.Load.Mode; {
	case mode == LoadInitial || mode == LoadWhenNeeded:
		r.newLoad(t.id, "initial", true)
	case r.options.Start.earliest():
		r.options.Log.Info("table begins", "table", t.id.String(), "start_at", "earliest")
	default:
		t.starting = true
	}
}

// startTables gives the tables that wait for one their first position. What the change table holds just below it is noted as known, so that
// the look-back finds rows that appear there later, and only those.
func (r *Runner) startTables(stop, work context.Context) error {
	moved := false
	for _, t := range r.order {
		if !t.starting || t.stopped {
			continue
		}
		start := r.startAt(t)
		position, err := r.startOf(stop, t)
		if err == nil {
			err = r.beginAt(stop, t, position)
		}
		if err != nil {
			return r.tableFault(StagePoll, source.TableFault(t.id, err))
		}
		t.state.Load = &checkpoint.Load{State: checkpoint.LoadNone, Reason: "start_at: " + start.String(), Fence: position, Rejoin: r.state.Task.Position}
		t.starting, moved = false, true
		r.began(t)
		t.state.Touch()
		r.options.Log.Info("table begins", "table", t.id.String(), "start_at", start.String(), "position", string(position))
	}
	if !moved {
		return nil
	}
	return r.commit(work)
}

func (r *Runner) startOf(ctx context.Context, t *table) (change.Position, error) {
	switch start := r.startAt(t); {
	case start.After != "":
		return start.After, nil
	case !start.Time.IsZero():
		return r.source.Since(ctx, t.captured, start.Time)
	case r.facts.bounded:
		return r.horizon, nil
	}
	return t.newest, nil
}

// chosen tells that a table's position is where it began, and not that of a row.
func (t *table) chosen() bool { return t.state.Chosen() }

// beginAt sets the position of a table that has published nothing that counts.
func (r *Runner) beginAt(ctx context.Context, t *table, p change.Position) error {
	floor, known, err := r.source.Recently(ctx, t.captured, p, r.options.LookbackRows)
	if err != nil {
		return err
	}
	t.state.Restart(p)
	t.earlier, t.published = nil, nil
	r.source.Forget(t.id)
	t.state.Window.Restart(floor)
	for _, position := range known {
		t.state.Window.Add(position, r.options.Now())
	}
	return nil
}
