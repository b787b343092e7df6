package source

import (
	"context"
	"log/slog"
	"time"

	"ctbridge/bridge/change"
)

// Policy decides up to which position it is safe to read: rows below it have all become visible.
type Policy string

// The horizon policies.
const (
	PolicyAuto      Policy = "auto"      // the writer's control table where it is there and moves, else snapshot (where the engine has it) and settle
	PolicySettle    Policy = "settle"    // what was first seen a while ago
	PolicyStatus    Policy = "status"    // the writer's control table attrep_status
	PolicyPartition Policy = "partition" // closed change-data partitions only
	PolicySnapshot  Policy = "snapshot"  // the engine's own transaction counters
)

// HorizonOptions sets the policy. See the configuration reference for the defaults.
type HorizonOptions struct {
	Policy  Policy
	Settle  time.Duration // how long a position must have been visible (auto, settle)
	MaxWait time.Duration // how long a control table may hold rows back (auto, status) before settle decides
}

// horizon turns detections into the position up to which reading is safe. Every detection leaves a mark; a mark is released when its policy is
// content, and then everything at or below it may be read. It belongs to the poller's goroutine.
type horizon struct {
	options HorizonOptions
	fencer  Fencer  // nil where the engine has none
	clock   Clocked // nil where the layout has none
	now     func() time.Time
	log     *slog.Logger

	marks []mark
	upto  change.Position

	applied   change.Position // last answer of the control table
	appliedAt time.Time       // when that answer last changed; zero until it has moved once
	overruled bool            // MaxWait is in force: said once
}

// mark says: this position was the newest at that moment.
type mark struct {
	position change.Position
	at       time.Time
	next     uint64 // the engine's next writer then
}

// advance takes the newest position of a detection and returns the horizon.
func (h *horizon) advance(ctx context.Context, newest change.Position) (change.Position, error) {
	if newest <= h.upto && len(h.marks) == 0 {
		return h.upto, nil
	}
	fence, err := h.fence(ctx)
	if err != nil {
		return h.upto, err
	}
	h.note(newest, fence, h.now())
	limit, bound, err := h.limit(ctx)
	if err != nil {
		return h.upto, err
	}
	if bound {
		h.upto = max(h.upto, min(limit, newest))
	}
	for len(h.marks) > 0 && h.released(h.marks[0], fence, bound) {
		h.upto = max(h.upto, h.marks[0].position)
		h.marks = h.marks[1:]
	}
	for len(h.marks) > 0 && h.marks[0].position <= h.upto {
		h.marks = h.marks[1:]
	}
	return h.upto, nil
}

func (h *horizon) note(newest change.Position, fence Fence, at time.Time) {
	last := h.upto
	if n := len(h.marks); n > 0 {
		last = h.marks[n-1].position
	}
	if newest > last {
		h.marks = append(h.marks, mark{position: newest, at: at, next: fence.Next})
	}
}

// settles tells whether settle alone may release marks.
func (h *horizon) settles() bool {
	return h.options.Settle > 0 && (h.options.Policy == PolicyAuto || h.options.Policy == PolicySettle)
}

// due is how long it takes until the oldest mark has been there for settle; 0 where none is, or where something else holds it.
func (h *horizon) due() time.Duration {
	if !h.settles() || len(h.marks) == 0 {
		return 0
	}
	return max(0, h.options.Settle-h.now().Sub(h.marks[0].at))
}

// fence asks the engine only where the policy wants it. Read after the detection: a writer whose row the detection could have
// seen, had it committed, has a number below Next.
func (h *horizon) fence(ctx context.Context) (Fence, error) {
	if h.fencer == nil || (h.options.Policy != PolicyAuto && h.options.Policy != PolicySnapshot) {
		return Fence{}, nil
	}
	return h.fencer.Fence(ctx)
}

// limit asks the control tables. bound tells that their answer, not the marks, decides.
func (h *horizon) limit(ctx context.Context) (limit change.Position, bound bool, err error) {
	if h.clock == nil {
		return "", false, nil
	}
	switch h.options.Policy {
	case PolicyPartition:
		limit, _, err = h.clock.Closed(ctx)
		return limit, true, err
	case PolicyStatus, PolicyAuto:
		return h.status(ctx)
	case PolicySettle, PolicySnapshot:
	}
	return "", false, nil
}

// status watches attrep_status. Under auto it is believed only once it has moved, and while it moves.
func (h *horizon) status(ctx context.Context) (change.Position, bool, error) {
	applied, ok, err := h.clock.Applied(ctx)
	if err != nil || !ok {
		return "", h.options.Policy == PolicyStatus, err
	}
	if applied != h.applied {
		if h.applied != "" {
			h.appliedAt = h.now()
		}
		h.applied = applied
	}
	moves := !h.appliedAt.IsZero() && h.now().Sub(h.appliedAt) < h.options.MaxWait
	return applied, moves || h.options.Policy == PolicyStatus, nil
}

// released tells whether everything at or below a mark is visible by now.
func (h *horizon) released(m mark, fence Fence, bound bool) bool {
	age := h.now().Sub(m.at)
	switch {
	case h.options.Policy == PolicyPartition:
		return false
	case bound:
		return h.overrule(age)
	case h.options.Policy == PolicySnapshot:
		return fence.Done >= m.next
	}
	return age >= h.options.Settle && fence.Done >= m.next
}

// overrule lets rows pass that the control table has held back for too long: a hole that never fills must not block for ever. Rows
// that come later are found by the look-back.
func (h *horizon) overrule(age time.Duration) bool {
	over := age >= max(h.options.MaxWait, h.options.Settle)
	if over && !h.overruled {
		h.log.Warn("the control table attrep_status has not moved for source.horizon.max_wait: reading on without it", "max_wait", h.options.MaxWait)
	}
	h.overruled = over
	return over
}
