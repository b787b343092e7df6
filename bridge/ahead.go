package bridge

import (
	"context"
	"sync"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// aheadAtOnce is how many schemas are registered ahead at the same time. It leaves the registry's client, which has eight places, room for the
// schema that a row waits for.
const aheadAtOnce = 6

// registration registers one schema.
type registration func(context.Context) error

// registerAhead registers the schemas of the tables that a window has rows of, several at a time, while the rows are read: one by one, those of a
// thousand tables would take half a minute. The first row of a table then finds its schemas known, or waits for them (I9). What fails here is
// tried again there, where it has its consequences. The function that it returns ends the work and waits for its end.
func (r *Runner) registerAhead(ctx context.Context, w *source.Window) (end func()) {
	queued := r.unregistered(w)
	if len(queued) < 2 {
		return func() {}
	}
	queue := make(chan registration, len(queued))
	for _, register := range queued {
		queue <- register
	}
	close(queue)
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	for range min(aheadAtOnce, len(queued)) {
		workers.Go(func() {
			for register := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := register(ctx); err != nil && fault.ClassOf(err) == fault.Retry {
					cancel() // the registry is away
				}
			}
		})
	}
	return func() { cancel(); workers.Wait() }
}

// unregistered lists what tables with new rows may have to register, where a registry is in use.
func (r *Runner) unregistered(w *source.Window) (out []registration) {
	for i, t := range r.polled {
		if t.stopped || t.rendered[t.captured.Table.Version] != nil || w.Newest[i].Position <= t.state.Position {
			continue
		}
		if len(t.earlier) > 0 { // the schemas of a subject are registered in the order of the versions
			continue
		}
		version := t.captured.Table
		plan, err := r.planOf(t, version)
		if err != nil {
			continue // its first row tells
		}
		if plan != nil {
			version = plan.Table()
		}
		for o := range r.options.Outputs {
			out = append(out, r.options.Outputs[o].registrations(version)...)
		}
	}
	return out
}

// registrations are those of a table version in one output.
func (o *Output) registrations(version *change.Table) (out []registration) {
	if _, registering := o.Format.(Registering); !registering {
		return nil
	}
	declared, err := o.Envelope.Declare(version)
	if err != nil {
		return nil
	}
	topic, err := o.Topic(version.ID)
	if err != nil {
		return nil
	}
	out = append(out, func(ctx context.Context) error {
		_, err := o.Format.Value(ctx, topic, declared.Value)
		return err
	})
	if _, registering := o.KeyFormat.(Registering); registering && declared.Key != nil {
		out = append(out, func(ctx context.Context) error {
			_, err := o.KeyFormat.Key(ctx, topic, declared.Key)
			return err
		})
	}
	return out
}
