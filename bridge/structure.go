package bridge

import (
	"context"
	"reflect"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// structure compares a captured table with the newest structure in the checkpoint. A change, also of what the rules of columns make of it, raises the
// version once; rows up to a boundary
// still carry the names and types they were written with.
func (r *Runner) structure(ctx context.Context, t *table) error {
	now := t.captured.Table.Columns
	newest := t.state.Newest()
	plan, err := r.options.Values.Plan(t.captured.Table)
	if err != nil {
		return err
	}
	same := newest != nil && reflect.DeepEqual(newest.Columns, now)
	if !same || newest.Shape != plan.Shape() {
		boundary := t.state.Position // other rules are in force for all rows that come
		if !same {
			if boundary, err = r.boundary(ctx, t); err != nil {
				return err
			}
		}
		if newest == nil {
			boundary = t.former(boundary)
		}
		t.state.Restructure(now, t.captured.Memo, boundary)
		t.state.Newest().Shape = plan.Shape()
		if t.state.Position == "" {
			t.state.Identity = t.captured.Identity // else it is noted once the rows of the table are known to go on: see Runner.resets
		}
		if newest != nil {
			r.options.Log.Info("structure changed", "table", t.id.String(), "table_version", t.state.Newest().Version, "rows_before", string(boundary))
		}
	}
	t.captured.Table.Version = t.state.Newest().Version
	t.state.Outlive()
	r.readEarlier(t)
	return nil
}

// former begins a table's history with the structures that its source already knows of older rows, and returns where the newest begins.
func (t *table) former(boundary change.Position) change.Position {
	for _, f := range t.captured.Former {
		t.state.Restructure(f.Columns, f.Memo, boundary)
		boundary = f.Upto
	}
	return boundary
}

// boundary is the position of the last row that has the structure in the checkpoint. Where the source keeps a history of structure changes it
// is exact; else it is the last row that was seen before the change was.
func (r *Runner) boundary(ctx context.Context, t *table) (change.Position, error) {
	seen := max(t.state.Verified, t.state.Position)
	if t.state.Newest() == nil {
		return "", nil
	}
	first, ok, err := r.source.FirstDDL(ctx, t.captured, t.state.Position)
	if err != nil || !ok {
		return seen, err
	}
	return first.JustBelow(), nil
}

// readEarlier compiles readers for the structures that unread rows still have. Where a structure can no longer be read without hiding a value, its
// rows are told under the next one.
func (r *Runner) readEarlier(t *table) {
	t.earlier = nil
	structures := t.state.Structures
	for _, s := range structures[:len(structures)-1] {
		old := change.NewTable(t.id, s.Version, s.Columns)
		captured, err := r.source.Under(t.captured, old, s.Memo)
		if err != nil {
			r.options.Log.Warn("unread rows of a former structure are told under the newest one", "table", t.id.String(),
				"table_version", s.Version, "rows_upto", string(s.Upto), "reason", err)
			continue
		}
		t.earlier = append(t.earlier, source.Earlier{Captured: captured, Upto: s.Upto})
	}
}
