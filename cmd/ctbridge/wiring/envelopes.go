package wiring

import (
	"maps"
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/bridge/envelope"
)

// envelopes builds the envelope of an output; columns are the message key of its tables where that is not their primary key.
var envelopes = map[string]func(t *config.Task, o *config.Output, columns []string) (envelope.Envelope, error){
	config.EnvelopeQlik: newQlik, config.EnvelopeDatastream: newDatastream, config.EnvelopeDebezium: newDebezium,
}

// Envelopes lists the names of all envelopes.
func Envelopes() []string { return slices.Sorted(maps.Keys(envelopes)) }

// newEnvelope builds the envelope of an output, whose tables may have keys of their own.
func newEnvelope(t *config.Task, o *config.Output) (envelope.Envelope, error) {
	build := envelopes[o.Envelope]
	plain, err := build(t, o, nil)
	if err != nil || o.Key.Mode != config.KeyColumns {
		return plain, err
	}
	k := &keyed{columns: o.Key.Columns, plain: plain, built: make(map[string]envelope.Envelope)}
	for _, columns := range o.Key.Columns.Lists() {
		if k.built[joined(columns)], err = build(t, o, columns); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// keyed is an envelope whose tables have different key columns: one envelope for each list of columns.
type keyed struct {
	columns config.ColumnsByTable
	plain   envelope.Envelope
	built   map[string]envelope.Envelope // by joined columns
	tables  map[change.TableID]envelope.Envelope
}

func (k *keyed) Declare(t *change.Table) (*envelope.Declaration, error) { return k.of(t.ID).Declare(t) }

func (k *keyed) Expand(dst []*change.Event, ev *change.Event) []*change.Event {
	return k.of(ev.Table.ID).Expand(dst, ev)
}

// of remembers what the patterns say of a table: they are asked once.
func (k *keyed) of(id change.TableID) envelope.Envelope {
	if e := k.tables[id]; e != nil {
		return e
	}
	e := k.plain
	if columns := k.columns.Of(id); columns != nil {
		e = k.built[joined(columns)]
	}
	if k.tables == nil {
		k.tables = make(map[change.TableID]envelope.Envelope)
	}
	k.tables[id] = e
	return e
}

// joined is a list of columns as a key of a map: no name holds a zero byte.
func joined(columns []string) string {
	out := ""
	for _, column := range columns {
		out += column + "\x00"
	}
	return out
}

// newBounds builds what an output tells of its transactions: keys of tables have no part in it.
func newBounds(t *config.Task, o *config.Output) (envelope.Bounds, error) {
	e, err := envelopes[o.Envelope](t, o, nil)
	if err != nil {
		return nil, err
	}
	bounds, _ := e.(envelope.Bounds)
	return bounds, nil
}
