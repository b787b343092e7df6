package preflight

import (
	"context"
	"fmt"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/source"
)

func (d *doctor) readCheckpoint(ctx context.Context, n *notes) {
	kept, err := d.checkpoint(ctx)
	if err != nil {
		n.failed("checkpoint", err)
		return
	}
	if len(kept.State.Tables) == 0 {
		n.pass(kept.Place, "empty: the task has not run yet")
		return
	}
	seen := many(len(kept.State.Tables), "table")
	if !kept.Saved.IsZero() {
		seen += ", written " + age(d.Now().Sub(kept.Saved)) + " ago"
	}
	if p := kept.State.Task.Position; p != "" {
		seen += ", position " + string(p)
	}
	n.pass(kept.Place, seen)
}

// known pairs the tables of the discovery with what the checkpoint has of them.
func (d *doctor) known(ctx context.Context) (pairs map[*source.Captured]*checkpoint.Table, state *checkpoint.State, found source.Discovery, ok bool) {
	kept, err := d.checkpoint(ctx)
	if err != nil || len(kept.State.Tables) == 0 {
		return nil, nil, found, false // read tells
	}
	if found, err = d.discovery(ctx); err != nil {
		return nil, nil, found, false // discover tells
	}
	pairs = make(map[*source.Captured]*checkpoint.Table)
	for _, t := range found.Tables {
		if s := kept.State.Tables[t.Table.ID]; s != nil {
			pairs[t] = s
		}
	}
	return pairs, kept.State, found, true
}

// sameSource compares the identities of change tables: others under the same names mean another database, or that they were made anew.
func (d *doctor) sameSource(ctx context.Context, n *notes) {
	pairs, _, _, ok := d.known(ctx)
	if !ok {
		return
	}
	var others []string
	same := 0
	for t, s := range pairs {
		switch {
		case s.Identity == "" || t.Identity == "":
		case s.Identity == t.Identity || slices.Contains(t.Succeeded, s.Identity):
			same++
		default:
			others = append(others, t.Table.ID.String())
		}
	}
	slices.Sort(others)
	const do = "does source.dsn name the database that the task has read so far? If the tables were made anew on purpose, source.on_reset decides; ctbridge reset moves positions"
	switch {
	case len(others) > 0 && same == 0:
		n.warn(some(others), "every change table is another one than the checkpoint knows", do)
	case len(others) > 0:
		n.warn(some(others), "the change table was made anew since the task has read it", do)
	case same > 0:
		n.pass(many(same, "table"), "the change tables are those that the checkpoint knows")
	}
}

// vanished tells which tables of the checkpoint are no longer there.
func (d *doctor) vanished(ctx context.Context, n *notes) {
	pairs, state, found, ok := d.known(ctx)
	if !ok {
		return
	}
	there := make(map[change.TableID]bool)
	for _, t := range found.Tables {
		there[t.Table.ID] = true
	}
	for _, p := range found.Problems {
		there[p.Table] = true // told already
	}
	var gone []string
	for id := range state.Tables {
		if !there[id] {
			gone = append(gone, id.String())
		}
	}
	slices.Sort(gone)
	if len(gone) > 0 {
		n.warn(some(gone), "in the checkpoint, but no longer among the tables that are streamed", "if they were dropped or left out on purpose, nothing: they go on where they were should they come back")
	}
	if len(pairs) > 0 && len(gone) == 0 {
		n.pass(many(len(pairs), "table"), "every table of the checkpoint is there")
	}
}

// positions looks for tables whose rows were removed before they were read, and for those that went back, as the first poll of a start does.
func (d *doctor) positions(ctx context.Context, n *notes) {
	pairs, _, found, ok := d.known(ctx)
	if !ok {
		return
	}
	window, err := d.polled(ctx)
	if err != nil {
		return // rows tells
	}
	well := 0
	for i, t := range found.Tables {
		s, newest := pairs[t], &window.Newest[i]
		switch {
		case s == nil || s.Position == "" || newest.Problem != nil || s.Load.Holds():
		case newest.Reset == nil:
			well++
		case newest.Reset.Kind == source.ResetRewound:
			n.fail(t.Table.ID.String(), fmt.Sprintf("the change table went back behind the checkpoint: %s, now %s", newest.Reset.To, newest.Reset.From), "was the database restored? "+d.onReset())
		default:
			n.fail(t.Table.ID.String(), fmt.Sprintf("rows were removed before they were read, or may have been: those above %s, up to %s", newest.Reset.From, newest.Reset.To), d.onReset())
		}
	}
	if well > 0 {
		n.pass(many(well, "table"), "nothing between the checkpoint and the change table is missing")
	}
}

func (d *doctor) onReset() string {
	return "source.on_reset is " + string(d.Task.OnReset) + ": fail stops the table, resnapshot loads it anew, continue publishes what is there"
}
