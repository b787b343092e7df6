package bridge

import (
	"context"
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// renderer makes the records of one table version.
type renderer struct {
	topic   string
	value   Encoder
	key     Encoder // encoded keys; nil = text keys
	text    *envelope.TextKey
	schema  string          // id of the version's schema
	notices []change.Record // metadata messages of that schema
}

// renderRow numbers and renders the events of one row into the batch's pending records. On an error nothing is pending and the numbers are
// given back.
func (r *Runner) renderRow(n *renderer, ev *change.Event, last bool) error {
	b := &r.batch
	b.pending = b.pending[:0]
	b.events = r.options.Envelope.Expand(b.events[:0], ev)
	for i, part := range b.events {
		r.sequencer.number(part, last && i == len(b.events)-1)
		record, err := r.render(n, part)
		if err != nil {
			for _, numbered := range b.events[:i+1] {
				r.sequencer.takeBack(numbered)
			}
			return fault.New(fault.Poison, "table "+ev.Table.ID.String()+", "+placeOf(ev), err, "")
		}
		b.pending = append(b.pending, record)
	}
	return nil
}

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

// rendererOf gives the renderer of a table version. Whatever fails in making it concerns this table alone: tables whose schemas are known go on
// while a registry is away.
func (r *Runner) rendererOf(ctx context.Context, t *table, version *change.Table) (*renderer, error) {
	if n := t.rendered[version.Version]; n != nil {
		return n, nil
	}
	n, err := r.compile(ctx, version)
	if err != nil && fault.ClassOf(err) != fault.Fatal {
		return nil, &change.TableError{Table: t.id, Err: err}
	}
	if err == nil {
		t.rendered[version.Version] = n
	}
	return n, err
}

// compile declares the messages of a table version, registers their schemas and builds the encoders.
func (r *Runner) compile(ctx context.Context, version *change.Table) (*renderer, error) {
	declared, err := r.options.Envelope.Declare(version)
	if err != nil {
		return nil, err
	}
	out := &renderer{schema: declared.SchemaID}
	if out.topic, err = r.options.Topic(version.ID); err != nil {
		return nil, err
	}
	if out.value, err = r.options.Format.Value(ctx, out.topic, declared.Value); err != nil {
		return nil, err
	}
	if r.options.EncodedKey && declared.Key != nil {
		if out.key, err = r.options.Format.Key(ctx, out.topic, declared.Key); err != nil {
			return nil, err
		}
	}
	if out.text, err = envelope.NewTextKey(r.options.KeyMode, version); err != nil {
		return nil, err
	}
	return out, r.compileNotices(ctx, version, out, declared.Metadata)
}

func (r *Runner) compileNotices(ctx context.Context, version *change.Table, out *renderer, notices []envelope.Notice) error {
	if r.options.MetadataTopic == "" {
		return nil
	}
	for _, n := range notices {
		encoder, err := r.options.Notices.Value(ctx, r.options.MetadataTopic, n.Value)
		if err != nil {
			return err
		}
		value, err := encoder.Append(nil, &change.Event{Table: version})
		if err != nil {
			return err
		}
		out.notices = append(out.notices, change.Record{Table: version.ID, Topic: r.options.MetadataTopic, Key: n.Key, Value: value})
	}
	return nil
}

// announce publishes the metadata of a schema once, before its first record (I9). Another set of options or another release can change
// the schema of an unchanged table, too; in another topic or format it is not there yet. Where records become visible one by one, it is
// committed before the record follows.
func (r *Runner) announce(ctx context.Context, t *table, n *renderer) error {
	announced := n.schema + " " + r.options.MetadataFormat + " in " + r.options.MetadataTopic
	if len(n.notices) == 0 || t.state.Announced == announced {
		return nil
	}
	for i := range n.notices {
		if err := r.send(ctx, &n.notices[i]); err != nil {
			return r.tableFault(StagePublish, err)
		}
	}
	t.state.Announced = announced
	t.state.Touch()
	if r.options.NoticesFirst {
		return r.commit(ctx)
	}
	return nil
}

// render encodes the event into the batch's memory.
func (r *Runner) render(n *renderer, ev *change.Event) (change.Record, error) {
	record := change.Record{Table: ev.Table.ID, Topic: n.topic}
	value, err := n.value.Append(r.batch.space(), ev)
	if err != nil {
		return record, err
	}
	record.Value = r.batch.keep(value)
	if err := r.renderKey(n, ev, &record); err != nil {
		return record, err
	}
	if size := record.Size(); size > r.options.MaxRecordBytes {
		return record, fault.New(fault.Poison, "render", fmt.Errorf("the record has %d bytes, more than kafka.max_message_bytes %d", size, r.options.MaxRecordBytes),
			"raise kafka.max_message_bytes together with the topic's max.message.bytes")
	}
	return record, nil
}

func (r *Runner) renderKey(n *renderer, ev *change.Event, record *change.Record) error {
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
