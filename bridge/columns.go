package bridge

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/values"
)

// planOf gives what the rules of columns do to a version of a table; nil where they do nothing.
func (r *Runner) planOf(t *table, version *change.Table) (*values.Plan, error) {
	plan, known := t.plans[version.Version]
	if known {
		return plan, nil
	}
	plan, err := r.options.Values.Plan(version)
	if err == nil {
		t.plans[version.Version] = plan
	}
	return plan, err
}

// told gives an event as the rules of columns want it told.
func (n *renderer) told(ev *change.Event) (*change.Event, error) {
	if n.plan == nil {
		return ev, nil
	}
	return n.plan.Apply(ev)
}

// renderCuts adds the headers that tell which values of a message were cut.
func (r *Runner) renderCuts(n *rendering, ev *change.Event) {
	if n.plan == nil {
		return
	}
	b := &r.batch
	for _, h := range n.plan.Headers(ev) {
		b.headers = append(b.headers, change.Header{Name: h.Name, Value: b.keep(append(b.space(), h.Value...))})
	}
}

// mostSkipped bounds the rows that wait behind an event that is held back (I10): what changes nothing may as well be published.
const mostSkipped = 10000

// unchanged leaves out an update that changes nothing that is published, where the user wants that. It counts in no transaction.
func (r *Runner) unchanged(t *table, ev *change.Event) bool {
	if r.options.Values == nil || !r.options.Values.DropUnchanged || ev.Op != change.OpUpdate || ev.Bad != nil || len(r.skipped) >= mostSkipped {
		return false
	}
	plan, err := r.planOf(t, ev.Table)
	if err != nil || plan == nil || !plan.Unchanged(ev) {
		return false // what is wrong shows when the row is rendered
	}
	r.skipped = append(r.skipped, skippedRow{table: t, position: ev.Position, reason: DroppedUnchanged})
	return true
}
