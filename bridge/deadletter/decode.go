package deadletter

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"ctbridge/bridge/change"
)

// Decode reads a letter of any version up to Version. Members that it does not know are of no account.
func Decode(data []byte) (*Letter, error) {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("not a dead letter: %w", err)
	}
	switch {
	case d.V < 1 || d.Table.Name == "":
		return nil, errors.New("not a dead letter: it has no version or no table")
	case d.V > Version:
		return nil, fmt.Errorf("dead letter %s has version %d, this program reads up to %d", d.ID, d.V, Version)
	}
	l, err := d.letter()
	if err != nil {
		return nil, fmt.Errorf("dead letter %s: %w", d.ID, err)
	}
	return l, nil
}

func (d *document) letter() (*Letter, error) {
	l := &Letter{Task: d.Task, Output: d.Output, Key: d.Key, Nth: d.Nth, Stage: d.Stage, Reason: d.Reason, Problem: d.Problem, Omitted: d.Omitted, Told: d.Told}
	var err error
	if l.At, err = time.Parse(time.RFC3339Nano, d.At); err != nil {
		return nil, err
	}
	ev := &change.Event{Position: d.Position, Late: d.Late, ChangeSequence: d.ChangeSequence, StreamPosition: d.StreamPosition, TransactionID: d.TransactionID}
	l.Event = ev
	if ev.Op, err = operation(d.Operation); err != nil {
		return nil, err
	}
	if ev.Table, err = d.Table.structure(); err != nil {
		return nil, err
	}
	if len(d.Timestamp) > 0 {
		if ev.Timestamp, _, err = decodeValue(d.Timestamp); err != nil {
			return nil, err
		}
	}
	if d.Load != nil {
		ev.Load = &change.Load{Fence: d.Load.Fence, Row: d.Load.Row}
		if ev.Load.Begin, _, err = decodeValue(d.Load.Begin); err != nil {
			return nil, err
		}
	}
	if d.Changed != nil {
		ev.HasChanged = true
		if ev.Changed, err = hex.DecodeString(*d.Changed); err != nil {
			return nil, err
		}
	}
	return l, d.images(ev)
}

// images reads both rows. A value that was left out must be told of, lest an incomplete letter pass for a complete one.
func (d *document) images(ev *change.Event) error {
	missing := 0
	for _, image := range []struct {
		from []json.RawMessage
		to   *[]change.Value
	}{{d.After, &ev.After}, {d.Before, &ev.Before}} {
		if image.from == nil {
			continue
		}
		if len(image.from) != len(ev.Table.Columns) {
			return fmt.Errorf("%d values for %d columns", len(image.from), len(ev.Table.Columns))
		}
		values := make([]change.Value, len(image.from))
		for i, data := range image.from {
			v, left, err := decodeValue(data)
			if err != nil {
				return fmt.Errorf("column %q: %w", ev.Table.Columns[i].Name, err)
			}
			if values[i] = v; left {
				missing++
			}
		}
		*image.to = values
	}
	if missing > d.Omitted {
		return fmt.Errorf("%d values are left out, it speaks of %d", missing, d.Omitted)
	}
	return nil
}

// unknownOp is how an operation reads that a row does not tell.
const unknownOp = "UNKNOWN"

func operation(name string) (change.Op, error) {
	if name == unknownOp {
		return 0, nil
	}
	for op := change.OpInsert; op <= change.OpBefore; op++ {
		if op.String() == name {
			return op, nil
		}
	}
	return 0, fmt.Errorf("unknown operation %q", name)
}

func (t *table) structure() (*change.Table, error) {
	columns := make([]change.Column, len(t.Columns))
	for i, c := range t.Columns {
		kind := slices.Index(columnKinds, c.Kind)
		if kind < 0 {
			return nil, fmt.Errorf("column %q has the unknown kind %q", c.Name, c.Kind)
		}
		columns[i] = change.Column{
			Name: c.Name, Native: c.Native, Nullable: c.Nullable, KeyPosition: c.Key,
			Type: change.Type{Kind: change.Kind(kind), Length: c.Length, Precision: c.Precision, Scale: c.Scale},
		}
	}
	return change.NewTable(change.TableID{Schema: t.Schema, Name: t.Name}, t.Version, columns), nil
}
