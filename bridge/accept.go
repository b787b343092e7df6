package bridge

import (
	"context"
	"errors"

	"ctbridge/bridge/change"
)

// facts are what the runner knows of its source beside positions.
type facts struct {
	bounded  bool          // nothing comes below the horizon: see source.Window
	stalled  error         // why nothing new comes from a source that answers; it outlives a session
	accepted []acceptedGap // holes whose markers are still to be published
}

// acceptedGap is a hole that a person has accepted, for its marker.
type acceptedGap struct {
	table change.TableID
	gap   Gap
}

// acceptGap goes on behind the hole that a table has stopped at, whatever source.on_reset says. It holds for this hole alone: the next one stops the table
// again (I3).
func (r *Runner) acceptGap(t *table) (refusal string) {
	trouble := r.troubles[t.id]
	var stopped *gapError
	if trouble == nil || !errors.As(trouble.err, &stopped) {
		return "the table has not stopped at a hole"
	}
	gap := Gap{Reason: string(stopped.reset.Kind), From: stopped.reset.From, To: stopped.reset.To}
	r.tellGap(t, gap, string(ActionAccept))
	r.goOn(t, stopped.reset)
	if r.options.GapMarker {
		r.facts.accepted = append(r.facts.accepted, acceptedGap{t.id, gap})
	}
	trouble.due = r.options.Now() // it is tried again at once
	return ""
}

// markAccepted publishes the markers of accepted holes, with the commit that moves their tables.
func (r *Runner) markAccepted(ctx context.Context) error {
	for _, a := range r.facts.accepted {
		if err := r.mark(ctx, a.table, r.gapMarker(a.table, a.gap)); err != nil {
			return err
		}
	}
	r.facts.accepted = nil
	return nil
}
