package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// renderRow numbers and renders the events of one row, in every output, into the batch's pending records. On an error nothing is pending and
// the numbers are given back.
func (r *Runner) renderRow(ctx context.Context, t *table, n *renderer, ev *change.Event, last bool) error {
	b := &r.batch
	b.begins()
	numbers := r.numbers(t, ev)
	told, err := n.told(ev)
	for i := range n.outputs {
		if err == nil {
			err = r.renderOutput(ctx, i, &n.outputs[i], told, numbers, last)
		}
		if err != nil {
			r.takeBack(t, numbers)
			b.begins()
			if len(n.outputs) > 1 {
				err = &refusalError{r.options.Outputs[i].Name, err}
			}
			return fault.New(fault.Poison, "table "+ev.Table.ID.String()+", "+placeOf(ev), err, "")
		}
	}
	return nil
}

// renderOutput renders a row in one output; its envelope may tell it as several events.
func (r *Runner) renderOutput(ctx context.Context, output int, n *rendering, ev *change.Event, numbers numbers, last bool) error {
	parts := r.options.Outputs[output].Envelope.Expand(r.batch.parts[:0], ev)
	r.batch.parts = parts
	for i, part := range parts {
		numbers.give(output, part, last && i == len(parts)-1)
		if err := r.begin(ctx, output, part); err != nil {
			return err
		}
		record, err := r.render(n, part)
		if err != nil {
			return err
		}
		r.batch.pending = append(r.batch.pending, record)
		if n.tombstones && part.Op == change.OpDelete && record.Key != nil {
			r.batch.pending = append(r.batch.pending, change.Record{Table: record.Table, Origin: record.Origin, Topic: record.Topic, Key: record.Key, Headers: record.Headers})
		}
		if err := r.end(ctx, output, part, numbers.task); err != nil {
			return err
		}
		if output == 0 { // a row counts once, however many outputs there are
			r.batch.events = append(r.batch.events, countedEvent{CommitKey{part.Table.ID, part.Op}, part.Timestamp})
		}
	}
	return nil
}

// headerFraming is the most that a record header takes beside its name and value.
const headerFraming = 10

// placeOf tells where an event was read.
func placeOf(ev *change.Event) string {
	if ev.Op == change.OpRefresh {
		return "full load"
	}
	return "position " + string(ev.Position)
}

// publish hands the rendered row to the sink.
func (r *Runner) publish(ctx context.Context) error {
	for i := range r.batch.pending {
		if err := r.send(ctx, &r.batch.pending[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) send(ctx context.Context, record *change.Record) error {
	if err := r.sink.Publish(ctx, record); err != nil {
		return err
	}
	r.batch.add(record)
	return nil
}

// announce publishes the metadata of a schema once, before its first record (I9). Another set of options or another release can change
// the schema of an unchanged table, too; in another topic or format it is not there yet. Where records become visible one by one, it is
// committed before the record follows.
func (r *Runner) announce(ctx context.Context, t *table, n *renderer) error {
	if len(n.announced) == 0 || slices.Equal(t.state.Announced, n.announced) {
		return nil
	}
	for i := range n.outputs {
		if slices.Contains(t.state.Announced, n.outputs[i].announced) {
			continue
		}
		for j := range n.outputs[i].notices {
			if err := r.send(ctx, &n.outputs[i].notices[j]); err != nil {
				return r.tableFault(StagePublish, err)
			}
		}
	}
	t.state.Announced = n.announced
	t.state.Touch()
	if r.options.NoticesFirst {
		return r.commit(ctx)
	}
	return nil
}

// render encodes the event into the batch's memory.
func (r *Runner) render(n *rendering, ev *change.Event) (change.Record, error) {
	record := change.Record{Table: ev.Table.ID, Origin: r.batch.origin, Topic: n.topic}
	value, err := n.value.Append(r.batch.space(), ev)
	if err != nil {
		return record, err
	}
	record.Value = r.batch.keep(value)
	if err := r.renderKey(n, ev, &record); err != nil {
		return record, err
	}
	if len(n.headers) > 0 || n.plan != nil {
		if err := r.renderHeaders(n, ev, &record); err != nil {
			return record, err
		}
	}
	if size := record.Size() + headerFraming*len(record.Headers); size > r.options.MaxRecordBytes {
		return record, fault.New(fault.Poison, "render", &oversizeError{size, r.options.MaxRecordBytes},
			"raise kafka.max_message_bytes together with the topic's max.message.bytes")
	}
	return record, nil
}

func (r *Runner) renderKey(n *rendering, ev *change.Event, record *change.Record) error {
	if n.key != nil {
		if ev.Row() == nil {
			return errors.New("the event has no row to take a key from")
		}
		key, err := n.key.Append(r.batch.space(), ev)
		if err == nil {
			record.Key = r.batch.keep(key)
		}
		return err
	}
	if key, ok, err := n.text.Append(r.batch.space(), ev); err != nil {
		return err
	} else if ok {
		record.Key = r.batch.keep(key)
		return nil
	}
	by, _, err := n.text.AppendPartition(r.batch.space(), ev)
	record.PartitionBy = r.batch.keep(by)
	return err
}

func (r *Runner) renderHeaders(n *rendering, ev *change.Event, record *change.Record) error {
	b := &r.batch
	start := len(b.headers)
	for i := range n.headers {
		h := &n.headers[i]
		if h.when != nil && !h.when(ev) {
			continue
		}
		value, err := h.value.Append(b.space(), ev)
		if err != nil {
			return fmt.Errorf("record header %s: %w", h.name, err)
		}
		b.headers = append(b.headers, change.Header{Name: h.name, Value: b.keep(value)})
	}
	r.renderCuts(n, ev)
	record.Headers = b.headers[start:len(b.headers):len(b.headers)]
	return nil
}
