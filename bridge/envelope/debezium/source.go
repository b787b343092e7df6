package debezium

import (
	"encoding/binary"
	"math"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// The versions that Debezium gives its schemas.
const (
	envelopeVersion = 2
	blockVersion    = 1
)

// snapshots are the values that a connector's source.snapshot can have; ours are true and false.
const snapshots = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"

// source declares where an event comes from. What only a log reader knows is null, or empty where Debezium requires a value.
func (v *version) source() *envelope.Node {
	connector := map[Engine]string{SQLServer: "sqlserver", Postgres: "postgresql", MySQL: "mysql", SQLite: "sqlite"}[v.opts.Engine]
	c := clock{of: v.opts.changed}
	fields := []envelope.Field{
		{Name: "version", Node: fixedText(v.opts.Version)},
		{Name: "connector", Node: fixedText(connector)},
		{Name: "name", Node: fixedText(v.opts.Prefix)},
		{Name: "ts_ms", Node: long(c.millis).As(envelope.RoleMoment)},
		snapshot(),
		{Name: "db", Node: fixedText(v.opts.database(v.table.ID))},
		{Name: "sequence", Node: optional(text(sequence)).As(envelope.RoleSequence)},
		{Name: "ts_us", Node: optional(long(c.micros)).As(envelope.RoleMoment)},
		{Name: "ts_ns", Node: optional(long(c.nanos)).As(envelope.RoleMoment)},
	}
	name := "io.debezium.connector." + connector
	return &envelope.Node{
		Shape: envelope.Record, Name: "Source", Namespace: name, Fields: append(fields, v.place()...), Props: semantic(name+".Source", blockVersion),
	}
}

// place are the members that each connector has of its own.
func (v *version) place() []envelope.Field {
	schema := envelope.Field{Name: "schema", Node: fixedText(v.table.ID.Schema)}
	table := envelope.Field{Name: "table", Node: fixedText(v.table.ID.Name)}
	switch v.opts.Engine {
	case SQLServer:
		lsn := []envelope.Field{nothing("change_lsn", envelope.FormText), nothing("commit_lsn", envelope.FormText), nothing("event_serial_no", envelope.FormLong)}
		if v.opts.LSN {
			lsn[0].Node, lsn[1].Node, lsn[2].Node = optional(text(changeLSN)), optional(text(commitLSN)).As(envelope.RoleStream), optional(long(serialNumber))
		}
		return append([]envelope.Field{schema, table}, lsn...)
	case Postgres:
		return []envelope.Field{
			schema, table, nothing("txId", envelope.FormLong), nothing("lsn", envelope.FormLong), nothing("xmin", envelope.FormLong),
			nothing("origin", envelope.FormText), nothing("origin_lsn", envelope.FormLong),
		}
	case MySQL:
		table.Node = optional(table.Node)
		return []envelope.Field{
			table, {Name: "server_id", Node: zero(envelope.FormLong)}, nothing("gtid", envelope.FormText), {Name: "file", Node: fixedText("")},
			{Name: "pos", Node: zero(envelope.FormLong)}, {Name: "row", Node: zero(envelope.FormInt)}, nothing("thread", envelope.FormLong),
			nothing("query", envelope.FormText),
		}
	case SQLite:
	}
	return []envelope.Field{table}
}

// snapshot is an optional text with a default, which Avro writes as a union of another order.
func snapshot() envelope.Field {
	streamed, loaded := letter("false"), letter("true")
	value := text(func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if ev.Op == change.OpRefresh {
			return loaded
		}
		return streamed
	})
	value.Props = append(semantic("io.debezium.data.Enum", 1, parameter{"allowed", snapshots}), envelope.Prop{Name: defaultProp, Value: `"false"`})
	null := envelope.Form{Kind: envelope.FormNull}
	return envelope.Field{
		Name: "snapshot", Props: []envelope.Prop{{Name: "default", Value: `"false"`}},
		Node: &envelope.Node{Shape: envelope.Union, Branches: []*envelope.Node{value, {Avro: null, JSON: null}}},
	}
}

// sequence is the change sequence as the text of a JSON array. Its bytes stand behind those of the clock, which is read once more after it.
func sequence(ev *change.Event, scratch *envelope.Scratch) change.Value {
	if len(ev.ChangeSequence) == 0 {
		return change.Null
	}
	b := append((*scratch)[:clockBytes], `["`...)
	b = append(append(b, ev.ChangeSequence...), `"]`...)
	*scratch = b
	return change.TextValue(b[clockBytes:])
}

// A stream position of SQL Server's own change tables is the commit LSN and the change LSN in hex digits, with a colon between them.
const lsnDigits = 20

func commitLSN(ev *change.Event, scratch *envelope.Scratch) change.Value { return lsn(ev, 0, scratch) }

func changeLSN(ev *change.Event, scratch *envelope.Scratch) change.Value {
	return lsn(ev, lsnDigits+1, scratch)
}

// lsn writes ten bytes as SQL Server does: 00000027:00000ac0:0002.
func lsn(ev *change.Event, at int, scratch *envelope.Scratch) change.Value {
	if len(ev.StreamPosition) != 2*lsnDigits+1 {
		return change.Null
	}
	digits := ev.StreamPosition[at : at+lsnDigits]
	b := append(append((*scratch)[:0], digits[:8]...), ':')
	b = append(append(b, digits[8:16]...), ':')
	*scratch = append(b, digits[16:]...)
	return change.TextValue(*scratch)
}

// serialNumber tells apart the rows of one change LSN: the old row comes before the new one.
func serialNumber(ev *change.Event, _ *envelope.Scratch) change.Value {
	switch {
	case ev.Op == change.OpRefresh || len(ev.StreamPosition) == 0:
		return change.Null
	case ev.Op == change.OpDelete:
		return change.IntValue(1)
	}
	return change.IntValue(2)
}

// transaction is the block that ties an event to its transaction; null for an event without one.
func (v *version) transaction() *envelope.Node {
	known, off := []change.Value{}, v.opts.NoTransaction
	return &envelope.Node{
		Shape: envelope.Record, Name: "block", Namespace: "event", Nullable: true, Role: envelope.RoleSchema, // null in a replayed message
		Props: semantic("event.block", blockVersion),
		Image: func(ev *change.Event) []change.Value {
			if off || len(ev.TransactionID) == 0 || ev.Counter == 0 {
				return nil
			}
			return known
		},
		Fields: []envelope.Field{
			{Name: "id", Node: text(func(ev *change.Event, _ *envelope.Scratch) change.Value { return change.TextValue(ev.TransactionID) })},
			{Name: "total_order", Node: long(func(ev *change.Event, _ *envelope.Scratch) change.Value { return change.IntValue(ev.Counter) }).As(envelope.RoleRun)},
			{Name: "data_collection_order", Node: long(func(ev *change.Event, _ *envelope.Scratch) change.Value { return change.IntValue(ev.TableCounter) }).As(envelope.RoleRun)},
		},
	}
}

// clock writes one moment in three units. It is read for the first of them, and kept in the scratch buffer for the others, so that all three
// tell the same moment.
type clock struct {
	of func(*change.Event) (seconds int64, nanos int64)
}

const (
	clockBytes = 8
	lastSecond = math.MaxInt64 / 1_000_000_000 // that nanoseconds can count
)

func (c clock) millis(ev *change.Event, scratch *envelope.Scratch) change.Value {
	seconds, nanos := c.of(ev)
	if seconds <= -lastSecond || seconds >= lastSecond {
		return change.InstantValue(seconds, int32(nanos), 0) // for the encoder to refuse
	}
	total := seconds*1e9 + nanos
	*scratch = binary.LittleEndian.AppendUint64((*scratch)[:0], uint64(total))
	return change.IntValue(seconds*1e3 + nanos/1e6)
}

func (c clock) micros(_ *change.Event, scratch *envelope.Scratch) change.Value {
	n := kept(scratch)
	if n < 0 {
		n -= 999 // towards the past, as for positive numbers
	}
	return change.IntValue(n / 1e3)
}

func (c clock) nanos(_ *change.Event, scratch *envelope.Scratch) change.Value {
	return change.IntValue(kept(scratch))
}

func kept(scratch *envelope.Scratch) int64 {
	return int64(binary.LittleEndian.Uint64((*scratch)[:clockBytes]))
}

// processed is the moment of writing.
func (o *Options) processed(*change.Event) (seconds, nanos int64) {
	now := o.Now()
	return now.Unix(), int64(now.Nanosecond())
}

// changed is the moment of the change in the source; of writing where the source does not say, as for rows of a full load.
func (o *Options) changed(ev *change.Event) (seconds, nanos int64) {
	if ev.Timestamp.Kind == change.KindInstant {
		return ev.Timestamp.Num, int64(ev.Timestamp.Nanos)
	}
	return o.processed(ev)
}

func text(get envelope.Getter) *envelope.Node { return computed(get, envelope.FormText) }
func long(get envelope.Getter) *envelope.Node { return computed(get, envelope.FormLong) }

func computed(get envelope.Getter, kind envelope.FormKind) *envelope.Node {
	form := envelope.Form{Kind: kind}
	return &envelope.Node{Get: get, Avro: form, JSON: form}
}

func optional(n *envelope.Node) *envelope.Node {
	n.Nullable = true
	return n
}

func constant(v change.Value, kind envelope.FormKind) *envelope.Node {
	form := envelope.Form{Kind: kind}
	return &envelope.Node{Constant: &v, Avro: form, JSON: form}
}

func fixedText(s string) *envelope.Node          { return constant(letter(s), envelope.FormText) }
func zero(kind envelope.FormKind) *envelope.Node { return constant(change.IntValue(0), kind) }
func nothing(name string, kind envelope.FormKind) envelope.Field {
	return envelope.Field{Name: name, Node: optional(constant(change.Null, kind))}
}
