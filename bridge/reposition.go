package bridge

import (
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/source"
)

// A reset is asked for in the checkpoint, under a key of its own, so that it outlives whatever happens before it is carried out. It is carried out before
// the table is read again: at once where the checkpoint alone decides; with the first poll where the source must tell the position; or when the hole
// that it accepts is found (I2: the position never moves by itself, I3: each move has its line and its record).

// takeResets carries out what was asked for while the task stood still.
func (r *Runner) takeResets() {
	for _, t := range r.state.Tables {
		if t.Resets.Pending != nil && r.options.Shard.Has(t.ID) {
			r.takeReset(t)
		}
	}
}

// takeReset carries out a table's reset, or lets the table begin anew at a position that is still to be found: see startTables, accepts.
func (r *Runner) takeReset(t *checkpoint.Table) {
	asked := t.Resets.Pending
	asked.From, asked.Task = t.Position, r.state.Task.Position
	reason := "reset: " + string(asked.To)
	switch asked.To {
	case checkpoint.ResetAcceptGap:
		return
	case checkpoint.ResetForget:
		r.settle(t, "", "")
		t.Forget()
		r.unsaved = true
		return
	case checkpoint.ResetEarliest:
		t.Restart("")
		t.Load = &checkpoint.Load{State: checkpoint.LoadNone, Reason: reason}
	case checkpoint.ResetLoad:
		t.Restart("")
		t.Load = &checkpoint.Load{State: checkpoint.LoadWaiting, Reason: reason, Fresh: true}
	case checkpoint.ResetNow, checkpoint.ResetPosition, checkpoint.ResetTime:
		return
	default:
		r.settle(t, t.Position, "this program does not know the target "+string(asked.To))
		return
	}
	t.Identity = "" // whatever change table is there now is the right one
	r.settle(t, "", "")
}

// settle notes and tells what became of a reset.
func (r *Runner) settle(t *checkpoint.Table, became change.Position, note string) {
	done := t.Resets.Settle(r.options.Now(), became, note)
	t.Touch()
	r.unsaved = true
	if r.toldResets[done.ID] {
		return // in a session that ended before its commit
	}
	r.toldResets[done.ID] = true
	line := "position reset"
	if note != "" {
		line = "reset not carried out"
	}
	r.options.Log.Warn(line, "table", t.ID.String(), "to", string(done.To), "from", string(done.From), "position", string(became),
		"by", done.By, "reason", done.Reason, "asked", done.Asked, "request", done.ID, "note", note)
}

// resetStart gives where a pending reset lets the table begin; ok is false where none does.
func (t *table) resetStart() (start StartAt, ok bool) {
	asked := t.state.Resets.Pending
	if asked == nil {
		return start, false
	}
	switch asked.To {
	case checkpoint.ResetNow:
		return StartAt{Now: true}, true
	case checkpoint.ResetPosition:
		return StartAt{After: asked.After}, true
	case checkpoint.ResetTime:
		return StartAt{Time: asked.Time}, true
	default:
		return start, false
	}
}

// startAt is where a table begins that is starting.
func (r *Runner) startAt(t *table) StartAt {
	if start, ok := t.resetStart(); ok {
		return start
	}
	return r.options.Start
}

// began settles the reset that has let a table begin.
func (r *Runner) began(t *table) {
	if _, ok := t.resetStart(); !ok {
		return
	}
	t.state.Identity = ""
	t.state.Load.Reason = "reset: " + string(t.state.Resets.Pending.To)
	r.settle(t.state, t.state.Position, "")
}

// accepts tells that a person has accepted this hole of a table, and no other (case 27). It is settled either way: the next hole stops the table again.
func (r *Runner) accepts(t *table, found source.Reset) bool {
	asked := t.state.Resets.Pending
	if asked == nil || asked.To != checkpoint.ResetAcceptGap {
		return false
	}
	if asked.Hole == nil || *asked.Hole != (checkpoint.Hole{Kind: string(found.Kind), From: found.From, To: found.To}) {
		r.settle(t.state, t.state.Position, "the table stands at another hole than the one that was accepted")
		return false
	}
	became := t.state.Position
	if found.Kind == source.ResetRewound {
		became = ""
	}
	r.settle(t.state, became, "")
	return true
}

// nothingToAccept settles the acceptance of a hole that is not there.
func (r *Runner) nothingToAccept(t *table) {
	if asked := t.state.Resets.Pending; asked != nil && asked.To == checkpoint.ResetAcceptGap {
		r.settle(t.state, t.state.Position, "the table stands at no hole")
	}
}

// resetRequest carries out a reset that a person asks the running task for. The table leaves the session and comes back as after a restart.
func (r *Runner) resetRequest(q Request) {
	if r.tables[q.Table] == nil && r.state.Tables[q.Table] == nil || q.Reset == nil {
		r.options.Log.Warn("reset of a table that is not known", "table", q.Table.String(), "request", q.ID)
		return
	}
	t := r.state.Table(q.Table)
	if known, _ := t.Resets.Find(q.ID); known != nil {
		return // answered by the shard that the table has come from
	}
	t.Resets.Pending = q.Reset
	t.Resets.Pending.ID = q.ID
	t.Touch()
	r.dropLoad(q.Table)
	r.takeReset(t)
	delete(r.tables, q.Table)
	r.sortTables()
	if q.Reset.To != checkpoint.ResetAcceptGap { // its hole is to be found again
		r.source.Forget(q.Table)
	}
	if trouble := r.troubles[q.Table]; trouble != nil {
		trouble.due = r.options.Now()
	}
	r.discovered = time.Time{}
}
