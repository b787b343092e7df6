package bridge

import (
	"context"
	"errors"
	"log/slog"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// wanted applies the row policies (I3). What is left out here never counts in a transaction.
func (r *Runner) wanted(events *source.Merge, ev *change.Event) bool {
	t := r.tableOf(ev)
	if r.duplicate(t, ev) {
		r.skipped = append(r.skipped, skippedRow{table: t, position: ev.Position, reason: DroppedDuplicate})
		return false
	}
	if ev.Op != change.OpTruncate {
		return !r.unchanged(t, ev)
	}
	if r.options.Truncate == TruncateFail {
		r.stopTable(t.id, StageRender, fault.New(fault.Poison, "change sequence "+string(ev.Position),
			errors.New("the source table was truncated, for which no message exists"), "set source.qlik.truncate: skip or marker"))
		events.Drop(t.id)
		return false
	}
	s := skippedRow{table: t, position: ev.Position, reason: DroppedTruncate}
	if r.options.Truncate == TruncateMarker {
		s.marker = r.truncateMarker(ev)
	}
	r.skipped = append(r.skipped, s)
	return false
}

// duplicate tells that a row has a position that was published before, where the user wants to have each position once. Only the rows that the
// look-back knows count: what lies below its floor is not read again.
func (r *Runner) duplicate(t *table, ev *change.Event) bool {
	if r.options.Deduplicate <= 0 {
		return false
	}
	twice := ev.Position == t.came
	if !twice && ev.Position <= t.state.Position {
		if t.published == nil {
			t.published = t.state.Window.Counts()
		}
		twice = t.published[ev.Position] > 0
	}
	t.came = ev.Position
	return twice
}

// skippedRow is a row that a policy leaves out. It counts, and its table moves past it, only when the events before it are published.
type skippedRow struct {
	table    *table
	position change.Position
	reason   string
	marker   *marker // published in place of the row; it is then not dropped
	letter   *letter // likewise, to the dead-letter topic
}

// passSkipped counts the rows that were left out behind the events that are published by now, and publishes their markers.
func (r *Runner) passSkipped(ctx context.Context) error {
	err := r.pass(ctx, r.skipped)
	r.skipped = r.skipped[:0]
	return err
}

func (r *Runner) pass(ctx context.Context, rows []skippedRow) error {
	for _, s := range rows {
		var err error
		switch {
		case s.marker != nil:
			err = r.mark(ctx, s.table.id, s.marker)
		case s.letter != nil:
			r.handed = s.position
			err = r.sendLetter(ctx, s.table, s.letter)
		default:
			level := slog.LevelWarn
			if s.reason == DroppedUnchanged {
				level = slog.LevelDebug // as many as there are updates
			}
			r.options.Log.Log(ctx, level, "row left out", "reason", s.reason, "table", s.table.id.String(), "change_sequence", string(s.position))
			r.options.Observer.Dropped(s.table.id, s.reason, 1)
		}
		if err != nil {
			return err
		}
		s.table.passed(s.position, r.options.Now())
	}
	return nil
}
