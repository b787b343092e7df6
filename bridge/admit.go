package bridge

import (
	"context"
	"reflect"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

// joining is a found table that is to be taken into the session, or back into it.
type joining struct {
	captured *source.Captured
	topics   []string
	err      error // why it cannot be
}

// admitAll takes the found tables into the session, and failed ones back into it once their pauses are over. Their topics are made together: of a
// thousand tables one by one that would take a minute.
func (r *Runner) admitAll(ctx context.Context, found source.Discovery, now time.Time) error {
	joining := r.joining(found, now)
	var topics []string
	for i := range joining {
		topics = append(topics, joining[i].topics...)
	}
	if len(topics) > 0 {
		refused, err := r.sink.EnsureTopics(ctx, topics, change.DataTopic)
		if err != nil {
			return r.fail(StagePublish, err)
		}
		for i := range joining {
			joining[i].refuse(refused)
		}
	}
	for i := range joining {
		if err := r.admit(ctx, &joining[i], now); err != nil {
			return err
		}
	}
	return nil
}

// joining lists the tables to take in, with their topics.
func (r *Runner) joining(found source.Discovery, now time.Time) []joining {
	claims := r.claims(found)
	var out []joining
	for _, captured := range found.Tables {
		id := captured.Table.ID
		t := r.tables[id]
		if !r.options.Shard.Has(id) || r.waits(id, now) || t != nil && !t.stopped && !t.differs(captured) {
			continue
		}
		if err := r.options.Values.Check(captured.Table); err != nil {
			r.stopTable(id, StageDiscover, err)
			continue
		}
		topics, err := r.topicsOf(captured.Table, claims)
		out = append(out, joining{captured, topics, err})
	}
	return out
}

// refuse takes over what is wrong with one of its topics.
func (j *joining) refuse(refused map[string]error) {
	for _, topic := range j.topics {
		if err := refused[topic]; err != nil {
			j.err = err
			return
		}
	}
}

// admit takes a table into the session.
func (r *Runner) admit(ctx context.Context, j *joining, now time.Time) error {
	captured, id := j.captured, j.captured.Table.ID
	if j.err != nil {
		return r.admitFailed(id, j.err)
	}
	t := &table{id: id, captured: captured, state: r.state.Table(id), rendered: make(map[int]*renderer), plans: make(map[int]*values.Plan)}
	t.sequencer = newSequencer(r.sequencer.outputs, t.state.Transactions)
	if err := r.structure(ctx, t); err != nil {
		return r.tableFault(StageDiscover, source.TableFault(id, err))
	}
	t.state.Filtered(captured.Filter, now)
	if captured.Filter != "" {
		r.options.Log.Info("rows that do not meet the predicate of source.filters are left out", "table", id.String())
	}
	r.joins(t)
	r.tables[id] = t
	r.tellPosition(t, t.state.Position)
	r.tellPause(t)
	if trouble := r.troubles[id]; trouble != nil {
		t.careful = trouble.refused
	} else {
		r.options.Observer.TableChanged(id, r.stateOf(t), t.state.Newest().Version, nil)
	}
	return nil
}

// differs tells that the catalog describes the table otherwise than it is read.
func (t *table) differs(captured *source.Captured) bool {
	return t.outdated || t.captured.Identity != captured.Identity || !reflect.DeepEqual(t.captured.Table.Columns, captured.Table.Columns)
}

// admitFailed lets a topic's own trouble stop only its table.
func (r *Runner) admitFailed(id change.TableID, err error) error {
	if class := fault.ClassOf(err); class != fault.Table && class != fault.Config {
		return r.fail(StagePublish, err)
	}
	r.stopTable(id, StagePublish, err)
	return nil
}
