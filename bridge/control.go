package bridge

import (
	"context"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// Action is what a request asks for.
type Action string

// The actions.
const (
	ActionLoad   Action = "load"   // read the table whole, or the rows of a condition
	ActionPause  Action = "pause"  // stop reading; the cursor stays
	ActionResume Action = "resume" // go on
	ActionCancel Action = "cancel" // give up the rows that are missing

	ActionReset Action = "reset" // move the table's position
)

// Request asks a running task for something about the full load of one table. Requests are numbered, so that each is answered once, also
// over restarts; its answer is the table's load in the checkpoint, which names it.
type Request struct {
	Number int64 // rising, from 0
	ID     string
	Table  change.TableID
	Action Action
	Where  string            // of a load: SQL condition in which t stands for the base table, empty = all rows
	Reset  *checkpoint.Reset // of a reset
}

// answerRequests applies the requests that have come and commits the answers. Until then they are kept, whatever becomes of the session.
func (r *Runner) answerRequests(ctx context.Context) error {
	r.receive()
	for _, q := range r.requests {
		if q.Number >= r.state.Task.Requests {
			r.answer(q)
			r.state.Task.Requests = q.Number + 1
		}
	}
	if len(r.requests) == 0 {
		return nil
	}
	if err := r.commit(ctx); err != nil {
		return err
	}
	r.requests = nil
	return nil
}

func (r *Runner) receive() {
	for {
		select {
		case q, open := <-r.options.Requests:
			if !open {
				r.options.Requests = nil
				return
			}
			r.requests = append(r.requests, q)
		default:
			return
		}
	}
}

// answer applies one request to its table.
func (r *Runner) answer(q Request) {
	if !r.options.Shard.Has(q.Table) {
		return // every shard hears all requests
	}
	if q.Action == ActionReset {
		r.resetRequest(q)
		return
	}
	t := r.tables[q.Table]
	if t != nil && t.state.Load != nil && t.state.Load.Request == q.ID {
		return // answered by the shard that the table has come from
	}
	if t == nil {
		r.options.Log.Warn("request for a table that is not read", "table", q.Table.String(), "action", string(q.Action), "request", q.ID)
		return
	}
	refusal := r.apply(t, q)
	load := t.state.Load
	if load == nil {
		load = &checkpoint.Load{State: checkpoint.LoadNone, Reason: "requested"}
		t.state.Load = load
	}
	load.Request, load.Note = q.ID, refusal
	t.state.Touch()
	if !t.stopped {
		r.options.Observer.TableChanged(t.id, r.stateOf(t), t.captured.Table.Version, nil)
	}
	r.options.Observer.Loaded(t.id, LoadProgress{State: load.State, Done: load.Rows, Total: max(load.Total, load.Rows)})
	r.options.Log.Info("request", "table", t.id.String(), "action", string(q.Action), "request", q.ID, "load", string(load.State), "refused", refusal)
}

// tellPause tells of a load that was paused before this session: no chunk of it will.
func (r *Runner) tellPause(t *table) {
	if load := t.state.Load; load != nil && load.State == checkpoint.LoadPaused {
		r.options.Observer.Loaded(t.id, LoadProgress{State: load.State, Done: load.Rows, Total: max(load.Total, load.Rows)})
	}
}

// apply gives the reason why a request is refused, "" where it is not.
func (r *Runner) apply(t *table, q Request) (refusal string) {
	load := t.state.Load
	paused := load != nil && load.State == checkpoint.LoadPaused
	switch {
	case q.Action == ActionLoad && (load.Active() || paused):
		return "a load of this table is under way: cancel it first"
	case q.Action == ActionLoad:
		r.newLoad(t.id, "requested", false)
		t.state.Load.Where = q.Where
	case q.Action == ActionPause && load.Active():
		load.State = checkpoint.LoadPaused
		r.dropLoad(t.id)
	case q.Action == ActionResume && paused:
		load.State = checkpoint.LoadRunning
		if load.Begin.IsZero() {
			load.State = checkpoint.LoadWaiting
		}
		load.Fence = t.state.Position // a table that streamed during the pause goes on from here
	case q.Action == ActionCancel && (load.Active() || paused):
		r.dropLoad(t.id)
		r.endLoad(t, checkpoint.LoadCancelled)
	default:
		return "there is no load to " + string(q.Action)
	}
	return ""
}

// giveUp cancels a load that somebody asked for and that the database refuses, most likely for its condition: the table itself is well.
func (r *Runner) giveUp(t *table, err error) bool {
	load := t.state.Load
	if load.Fresh || load.Request == "" || fault.ClassOf(err) == fault.Poison {
		return false
	}
	load.Note, r.unsaved = err.Error(), true
	r.endLoad(t, checkpoint.LoadCancelled)
	r.options.Log.Error("full load cancelled", "table", t.id.String(), "request", load.Request, "error", err)
	r.options.Observer.Loaded(t.id, LoadProgress{State: load.State, Done: load.Rows, Total: max(load.Total, load.Rows)})
	r.options.Observer.TableChanged(t.id, r.stateOf(t), t.captured.Table.Version, nil)
	return true
}
