package bridge

import (
	"context"
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/values"
)

// renderer makes the records of one table version, those of one output after the other.
type renderer struct {
	outputs   []rendering  // parallel to Options.Outputs
	plan      *values.Plan // what the rules of columns do to its events; nil = nothing
	announced []string     // metadata that must be out before the first record; empty where no output publishes any
}

// rendering makes the records of one table version in one output.
type rendering struct {
	topic      string
	value      Encoder
	key        Encoder // encoded keys; nil = text keys
	text       *envelope.TextKey
	headers    []header
	plan       *values.Plan // of the renderer
	tombstones bool

	notices   []change.Record // metadata messages of that version
	announced string          // what tells them apart: schema, format, topic
}

// header is a compiled record header.
type header struct {
	name  string
	value Encoder
	when  func(*change.Event) bool // nil = always
}

// rendererOf gives the renderer of a table version. Whatever fails in making it concerns this table alone: tables whose schemas are known go on
// while a registry is away.
func (r *Runner) rendererOf(ctx context.Context, t *table, version *change.Table) (*renderer, error) {
	if n := t.rendered[version.Version]; n != nil {
		return n, nil
	}
	n, err := r.compile(ctx, t, version)
	if err != nil && fault.ClassOf(err) != fault.Fatal {
		return nil, &change.TableError{Table: t.id, Err: err}
	}
	if err == nil {
		t.rendered[version.Version] = n
	}
	return n, err
}

// compile makes the renderer of a table version in every output.
func (r *Runner) compile(ctx context.Context, t *table, version *change.Table) (*renderer, error) {
	out := &renderer{outputs: make([]rendering, len(r.options.Outputs))}
	var err error
	if out.plan, err = r.planOf(t, version); err != nil {
		return nil, err
	}
	if out.plan != nil {
		version = out.plan.Table()
	}
	for i := range r.options.Outputs {
		out.outputs[i].plan = out.plan
		if err := r.compileOutput(ctx, &r.options.Outputs[i], version, &out.outputs[i]); err != nil {
			return nil, err
		}
		if err := r.compileBounds(ctx, i); err != nil {
			return nil, err
		}
		if announced := out.outputs[i].announced; announced != "" {
			out.announced = append(out.announced, announced)
		}
	}
	return out, nil
}

// compileOutput declares the messages of a table version, registers their schemas (I9) and builds the encoders.
func (r *Runner) compileOutput(ctx context.Context, o *Output, version *change.Table, out *rendering) error {
	declared, err := o.Envelope.Declare(version)
	if err != nil {
		return err
	}
	out.tombstones = o.Tombstones
	if out.topic, err = o.Topic(version.ID); err != nil {
		return err
	}
	if out.value, err = o.Format.Value(ctx, out.topic, declared.Value); err != nil {
		return err
	}
	if o.KeyFormat != nil && declared.Key != nil {
		if out.key, err = o.KeyFormat.Key(ctx, out.topic, declared.Key); err != nil {
			return err
		}
	}
	if out.text, err = o.keyOf(version); err != nil {
		return err
	}
	if err := r.compileHeaders(ctx, declared.Headers, out); err != nil {
		return err
	}
	return compileNotices(ctx, o, version, declared, out)
}

func (r *Runner) compileHeaders(ctx context.Context, headers []envelope.Header, out *rendering) error {
	if len(headers) > 0 && r.options.Headers == nil {
		return errors.New("the envelope has record headers, for which the task has no format")
	}
	for _, h := range headers {
		value, err := r.options.Headers.Value(ctx, out.topic, h.Value)
		if err != nil {
			return err
		}
		out.headers = append(out.headers, header{name: h.Name, value: value, when: h.When})
	}
	return nil
}

func compileNotices(ctx context.Context, o *Output, version *change.Table, declared *envelope.Declaration, out *rendering) error {
	if o.MetadataTopic == "" || len(declared.Metadata) == 0 {
		return nil
	}
	out.announced = declared.SchemaID + " " + o.MetadataFormat + " in " + o.MetadataTopic
	for _, n := range declared.Metadata {
		encoder, err := o.Notices.Value(ctx, o.MetadataTopic, n.Value)
		if err != nil {
			return err
		}
		value, err := encoder.Append(nil, &change.Event{Table: version})
		if err != nil {
			return err
		}
		out.notices = append(out.notices, change.Record{Table: version.ID, Topic: o.MetadataTopic, Key: n.Key, Value: value})
	}
	return nil
}
