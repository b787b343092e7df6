package datastream

import (
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// A change sequence is 35 digits: 16 of the commit time in UTC (YYYYMMDDhhmmss and hundredths), 19 of a number.
const (
	sequenceTime   = 16
	sequenceDigits = 35
)

// A position of SQL Server's change tables is commit LSN (20 hex digits) ":" command id (8) ":" sequence value (20) ":" operation.
const (
	lsnDigits  = 20
	commandAt  = lsnDigits + 1
	valueAt    = commandAt + 8 + 1
	operAt     = valueAt + lsnDigits + 1
	cdcPosSize = operAt + 1
)

// nativePosition tells whether an event's position is one of SQL Server's change tables.
func (o *Options) nativePosition() bool { return o.Layout == SQLServerCDC }

// sortKeys declares the values that put events in order: the time of the change in milliseconds, then the change sequence, or the parts of the
// position in SQL Server's change tables. Texts have fixed width, as consumers compare them as text. Rows of a full load have "" there: they come
// before every change of the same millisecond.
func (v *version) sortKeys() *envelope.Node {
	number, words, role := leaf(v.sourceMillis(), envelope.FormLong), []envelope.Getter{sequence}, envelope.RoleSequence
	if v.opts.nativePosition() {
		words = []envelope.Getter{lsnAt(0), partAt(commandAt, 8), lsnAt(valueAt), partAt(operAt, 1)}
		role = envelope.RoleStream // of the commit LSN
	}
	either := func(branch int, get envelope.Getter) *envelope.Node {
		branches := []*envelope.Node{text(get), number}
		return &envelope.Node{Shape: envelope.Union, Branches: branches, Branch: branch}
	}
	keys := &envelope.Node{Shape: envelope.Array, Item: either(1, nil), Items: []*envelope.Node{either(1, nil).As(envelope.RoleMoment)}}
	for i, get := range words {
		keys.Items = append(keys.Items, either(0, get))
		if i == 0 {
			keys.Items[1].Role = role
		}
	}
	return keys
}

// sequence is the change sequence, "" for a row of a full load.
func sequence(ev *change.Event, _ *envelope.Scratch) change.Value {
	if ev.Op == change.OpRefresh {
		return change.TextValue(nil)
	}
	return sequenceOf(ev)
}

func sequenceOf(ev *change.Event) change.Value {
	if len(ev.ChangeSequence) == 0 {
		return change.Null
	}
	return change.TextValue(ev.ChangeSequence)
}

// partAt is a part of the position, "" for a row of a full load. It is null where the position is another one, which no sort key may be.
func partAt(at, size int) envelope.Getter {
	return func(ev *change.Event, scratch *envelope.Scratch) change.Value {
		if ev.Op == change.OpRefresh {
			return change.TextValue(nil)
		}
		if len(ev.Position) != cdcPosSize {
			return change.Null
		}
		*scratch = append((*scratch)[:0], ev.Position[at:at+size]...)
		return change.TextValue(*scratch)
	}
}

// lsnAt is an LSN of the position as SQL Server writes it: 00000027:00000130:0001.
func lsnAt(at int) envelope.Getter {
	return func(ev *change.Event, scratch *envelope.Scratch) change.Value {
		if ev.Op == change.OpRefresh {
			return change.TextValue(nil)
		}
		if len(ev.Position) != cdcPosSize {
			return change.Null
		}
		lsn := ev.Position[at : at+lsnDigits]
		b := append(append((*scratch)[:0], lsn[:8]...), ':')
		b = append(append(b, lsn[8:16]...), ':')
		*scratch = append(b, lsn[16:]...)
		return change.TextValue(*scratch)
	}
}

// position is the field lsn: the sequence value in SQL Server's change tables; else the stream position or the change sequence. A row of a full
// load has none.
func (v *version) position() envelope.Getter {
	get := v.tablePosition()
	if v.opts.nativePosition() && v.opts.PositionFrom == FromStream {
		get = lsnAt(valueAt)
	}
	return changesOnly(get)
}

// tablePosition is what the option PositionFrom asks for.
func (v *version) tablePosition() envelope.Getter {
	if v.opts.PositionFrom == FromSequence {
		return sequence
	}
	return func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if len(ev.StreamPosition) == 0 {
			return sequenceOf(ev)
		}
		return change.TextValue(ev.StreamPosition)
	}
}

// logFile is the stream position, or the 16 digits of the time in the change sequence; logPosition is the number in the change sequence.
// Together they rise.
func (v *version) logFile() envelope.Getter {
	return changesOnly(func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if v.opts.PositionFrom == FromStream && len(ev.StreamPosition) > 0 {
			return change.TextValue(ev.StreamPosition)
		}
		if len(ev.ChangeSequence) != sequenceDigits {
			return change.Null
		}
		return change.TextValue(ev.ChangeSequence[:sequenceTime])
	})
}

func (v *version) logPosition() envelope.Getter {
	return changesOnly(func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if len(ev.ChangeSequence) != sequenceDigits {
			return change.Null
		}
		return decimalNumber(ev.ChangeSequence[sequenceTime:])
	})
}

// changesOnly gives null for a row of a full load.
func changesOnly(get envelope.Getter) envelope.Getter {
	return func(ev *change.Event, scratch *envelope.Scratch) change.Value {
		if ev.Op == change.OpRefresh {
			return change.Null
		}
		return get(ev, scratch)
	}
}

func (v *version) readTimestamp() envelope.Getter {
	now := v.opts.Now
	return func(*change.Event, *envelope.Scratch) change.Value { return instant(now()) }
}

func instant(t time.Time) change.Value {
	return change.InstantValue(t.Unix(), int32(t.Nanosecond()/1e6*1e6), 0)
}

// sourceTimestamp is the time of the change in milliseconds; the field is documented to have no finer digits. A row without a time has that of its
// change sequence, or of reading.
//
// A row of a full load has the time of the load's fence, or of its beginning: every change that is not in the row is later, so that no consumer
// takes the row for newer than such a change, however late it is read.
func (v *version) sourceTimestamp() envelope.Getter {
	now := v.opts.Now
	return func(ev *change.Event, scratch *envelope.Scratch) change.Value {
		at := ev.Timestamp
		if ev.Op == change.OpRefresh && ev.Load != nil {
			at = timeOf(append((*scratch)[:0], ev.Load.Fence...), scratch)
			if at.Kind != change.KindInstant {
				at = ev.Load.Begin
			}
		}
		if at.Kind != change.KindInstant {
			at = timeOf(append((*scratch)[:0], ev.ChangeSequence...), scratch)
		}
		if at.Kind != change.KindInstant {
			return instant(now())
		}
		return change.InstantValue(at.Num, at.Nanos-at.Nanos%1e6, 0)
	}
}

// sourceMillis is the same moment as a number.
func (v *version) sourceMillis() envelope.Getter {
	get := v.sourceTimestamp()
	return func(ev *change.Event, scratch *envelope.Scratch) change.Value {
		at := get(ev, scratch)
		return change.IntValue(at.Num*1000 + int64(at.Nanos/1e6))
	}
}

// timeOf reads the time in a change sequence; null where there is none. The text is built behind the digits in the same buffer.
func timeOf(sequence []byte, scratch *envelope.Scratch) change.Value {
	if len(sequence) != sequenceDigits {
		return change.Null
	}
	b := append(sequence, sequence[:4]...)
	for _, part := range [...]struct {
		before byte
		at     int
	}{{'-', 4}, {'-', 6}, {' ', 8}, {':', 10}, {':', 12}, {'.', 14}} {
		b = append(append(b, part.before), sequence[part.at], sequence[part.at+1])
	}
	*scratch = b
	at, err := change.ParseDateTime(b[sequenceDigits:])
	if err != nil {
		return change.Null
	}
	return change.InstantValue(at.Num, at.Nanos, 0)
}
