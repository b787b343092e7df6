package qlik

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// operationName names the enum of headers.operation.
const operationName = "operation"

// headers declares the record `headers` in the vendor's order. The text members that only changes have (change sequence, timestamp, stream
// position, transaction id) are "" for a REFRESH and where the change table has no such column; masks and counters are null there.
func (v *version) headers() *envelope.Node {
	width := maskWidth(len(v.columns))
	masks := newMasks(v.columns, v.opts.rowKey(v.table))
	fields := []envelope.Field{
		{Name: "operation", Node: v.operation()},
		as(envelope.RoleSequence, textField("changeSequence", ofChange(func(ev *change.Event) []byte { return ev.ChangeSequence }))),
		textField("timestamp", timestamp),
		as(envelope.RoleStream, textField("streamPosition", ofChange(func(ev *change.Event) []byte { return ev.StreamPosition }))),
		textField("transactionId", ofChange(func(ev *change.Event) []byte { return ev.TransactionID })),
		as(envelope.RoleSchema, maskField("changeMask", width, masks.changed)),
		as(envelope.RoleSchema, maskField("columnMask", width, masks.present)),
	}
	if v.opts.ExternalSchemaID {
		id := constant(v.id, envelope.FormText)
		id.Nullable = true
		fields = append(fields, envelope.Field{Name: "externalSchemaId", Node: id.As(envelope.RoleSchema)})
	}
	fields = append(fields,
		as(envelope.RoleRun, countField("transactionEventCounter", envelope.FormLong, eventCounter)),
		as(envelope.RoleRun, countField("transactionLastEvent", envelope.FormBoolean, lastEvent)))
	if v.opts.IncludeSourceName == NameInHeaders {
		fields = append(fields, v.sourceName()...)
	}
	return &envelope.Node{
		Shape: envelope.Record, Name: v.opts.Names.HeadersRecord, Namespace: v.opts.Names.Namespace, Fields: fields,
	}
}

func (v *version) operation() *envelope.Node {
	operations := []change.Op{change.OpInsert, change.OpUpdate, change.OpDelete, change.OpRefresh}
	symbols := make([]string, len(operations))
	names := make([]change.Value, change.OpBefore+1)
	for op := range names {
		names[op] = change.TextValue([]byte(change.Op(op).String()))
	}
	for i, op := range operations {
		symbols[i] = op.String()
	}
	return &envelope.Node{
		Name: operationName, Namespace: v.opts.Names.Namespace,
		Get:  func(ev *change.Event, _ *envelope.Scratch) change.Value { return names[ev.Op] },
		Avro: envelope.Form{Kind: envelope.FormEnum, Symbols: symbols},
		JSON: envelope.Form{Kind: envelope.FormEnum, Symbols: symbols},
	}
}

func ofChange(bytes func(*change.Event) []byte) envelope.Getter {
	return func(ev *change.Event, _ *envelope.Scratch) change.Value {
		if ev.Op == change.OpRefresh {
			return change.TextValue(nil)
		}
		return change.TextValue(bytes(ev))
	}
}

// timestamp is UTC with milliseconds and no zone letter: 2023-09-11T03:23:25.000. The vendor's member has three digits; finer ones are
// cut. A moment without such a text is handed on as it is, for the encoder to refuse.
func timestamp(ev *change.Event, scratch *envelope.Scratch) change.Value {
	if ev.Op == change.OpRefresh || !ev.Timestamp.HasContent() {
		return change.TextValue(nil)
	}
	text, err := change.AppendISOMillis((*scratch)[:0], ev.Timestamp)
	if err != nil {
		return ev.Timestamp
	}
	*scratch = text
	return change.TextValue(text)
}

func eventCounter(ev *change.Event, _ *envelope.Scratch) change.Value {
	if ev.Op == change.OpRefresh || ev.Counter == 0 {
		return change.Null
	}
	return change.IntValue(ev.Counter)
}

func lastEvent(ev *change.Event, _ *envelope.Scratch) change.Value {
	if ev.Op == change.OpRefresh || ev.Counter == 0 {
		return change.Null
	}
	return change.BoolValue(ev.Last)
}

func as(role envelope.Role, f envelope.Field) envelope.Field {
	f.Node.Role = role
	return f
}

func textField(name string, get envelope.Getter) envelope.Field {
	form := envelope.Form{Kind: envelope.FormText}
	return envelope.Field{Name: name, Node: &envelope.Node{Get: get, Avro: form, JSON: form}}
}

func countField(name string, kind envelope.FormKind, get envelope.Getter) envelope.Field {
	form := envelope.Form{Kind: kind}
	return envelope.Field{Name: name, Node: &envelope.Node{Nullable: true, Get: get, Avro: form, JSON: form}}
}

func maskField(name string, width int, get envelope.Getter) envelope.Field {
	return envelope.Field{Name: name, Node: &envelope.Node{
		Nullable: true, Get: get,
		Avro: envelope.Form{Kind: envelope.FormMaskBytes, Scale: width},
		JSON: envelope.Form{Kind: envelope.FormMaskHex, Scale: width},
	}}
}
