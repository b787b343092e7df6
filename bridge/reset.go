package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// ResetPolicy says what happens with a table whose change table no longer holds what it held: see source.Reset.
type ResetPolicy string

// The policies.
const (
	ResetFail       ResetPolicy = "fail"       // the table stops
	ResetResnapshot ResetPolicy = "resnapshot" // its base table is loaded again, then as continue
	ResetContinue   ResetPolicy = "continue"   // every row that is there is published; the hole is told
)

// Gap is a hole in the changes of a table: positions above From, up to To.
type Gap struct {
	Reason   string // see source.ResetKind
	From, To change.Position
}

// resets handles what the poll found out about change tables: resets by the user's policy (I3), and what is to be remembered to tell the
// next one from a harmless purge. It is made durable at once: later nobody could tell any more.
func (r *Runner) resets(ctx context.Context, window *source.Window) error {
	for i := range window.Newest {
		n := &window.Newest[i]
		t := r.polled[i]
		switch {
		case n.Problem != nil:
		case n.Reset != nil:
			if err := r.reset(ctx, t, *n.Reset); err != nil {
				return err
			}
		default:
			r.nothingToAccept(t)
			r.remember(t, n.Purged)
		}
	}
	if r.unsaved {
		r.unsaved = false
		return r.commit(ctx)
	}
	return nil
}

// remember notes the identity of a change table whose rows go on where the former one's ended, and a purge behind the reader.
func (r *Runner) remember(t *table, purged bool) {
	if identity := t.captured.Identity; t.state.Identity != identity && identity != "" {
		switch {
		case t.state.Identity == "":
		case slices.Contains(t.captured.Succeeded, t.state.Identity):
			r.options.Log.Info("another change table goes on for this one", "table", t.id.String(), "change_table", t.captured.Changes.String(), "position", string(t.state.Position))
		default:
			r.options.Log.Warn("the change table was made again; its rows lie above the position, reading goes on", "table", t.id.String(),
				"change_table", t.captured.Changes.String(), "change_sequence", string(t.state.Position))
		}
		t.state.Identity = identity
		r.save(t)
	}
	if purged && !t.state.Purged {
		t.state.Purged = true
		r.save(t)
	}
}

func (r *Runner) save(t *table) {
	t.state.Touch()
	r.unsaved = true
}

// vanished notes that a change table has gone as a whole: the row at the position will not be there when it comes back, and that is no purge.
func (r *Runner) vanished(id change.TableID) {
	if t := r.state.Tables[id]; t != nil && !t.Purged && t.Position != "" {
		t.Purged, r.unsaved = true, true
		t.Touch()
	}
}

// reset applies the policy to one table.
func (r *Runner) reset(ctx context.Context, t *table, reset source.Reset) error {
	gap := Gap{Reason: string(reset.Kind), From: reset.From, To: reset.To}
	accepted := r.accepts(t, reset)
	if !accepted && r.options.OnReset != ResetContinue && r.options.OnReset != ResetResnapshot {
		r.keepTrace(t, reset)
		r.stopTable(t.id, StagePoll, &gapError{gap.fault(t, reset.Hint), reset})
		return nil
	}
	if !accepted && r.options.OnReset == ResetResnapshot {
		r.requestLoad(t.id, gap.String())
	}
	r.tellGap(t, gap, string(r.options.OnReset))
	r.goOn(t, reset)
	if r.options.GapMarker {
		return r.mark(ctx, t.id, r.gapMarker(t.id, gap))
	}
	return nil
}

func (r *Runner) tellGap(t *table, gap Gap, policy string) {
	r.options.Log.Error("hole in the changes of a table, going on behind it", "table", t.id.String(), "reason", gap.Reason,
		"from", string(gap.From), "to", string(gap.To), "policy", policy)
	r.options.Observer.Gap(t.id, gap)
}

// keepTrace lets a later start find the hole again.
func (r *Runner) keepTrace(t *table, reset source.Reset) {
	if reset.Kind == source.ResetPurged && (t.state.Purged || t.state.Seen < reset.To) {
		t.state.Purged, t.state.Seen = false, reset.To
		r.save(t)
	}
}

// goOn sets the position so that nothing that is there is skipped. A table that went back is read from its first row: which of its rows were
// published under the same sequences cannot be told. Behind a purge reading goes on with the first row that is left.
func (r *Runner) goOn(t *table, reset source.Reset) {
	if reset.Kind == source.ResetRewound {
		t.again = max(t.again, t.state.Position, r.state.Task.Position)
		t.state.Restart("")
		t.earlier, t.published = nil, nil
	}
	t.state.Seen, t.state.Purged, t.state.Identity = "", true, t.captured.Identity
	r.source.Forget(t.id)
	r.save(t)
}

// String is the hole for people.
func (g Gap) String() string {
	return fmt.Sprintf("%s: change sequences above %s, up to %s", g.Reason, orStart(g.From), orStart(g.To))
}

func orStart(p change.Position) string {
	if p == "" {
		return "the start"
	}
	return string(p)
}

var gapReasons = map[string]string{
	string(source.ResetRewound): "the change table went back below what was published from it: it was restored, emptied or made again",
	string(source.ResetPurged):  "rows of the change table were purged before they were read",
}

// fault is the error of a table that the policy fail stops.
func (g Gap) fault(t *table, hint string) error {
	return fault.New(fault.Table, "read "+t.captured.Changes.String(), fmt.Errorf("%s (%s)", gapReasons[g.Reason], g),
		cmp.Or(hint, "restore the rows, accept this hole alone with ctbridge reset --accept-gap, or set source.on_reset: continue to publish what the change table holds now"))
}

// gapError is that error together with what it tells of the source.
type gapError struct {
	error
	reset source.Reset
}

// Unwrap gives the error.
func (e *gapError) Unwrap() error { return e.error }
