package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/envelope/datastream"
	"ctbridge/bridge/envelope/debezium"
	"ctbridge/bridge/envelope/qlik"
	"ctbridge/schema/avro"
	"ctbridge/schema/jsonenc"
)

// encoding is the time to encode one row of 20 columns, without reading and without sending. The rows vary: one row again and again would be what the
// processor's branch predictor learns by heart.
type encoding struct {
	Message string    `json:"message"` // "row" is a record of the 20 columns alone; else an envelope
	Format  string    `json:"format"`
	Images  int       `json:"images"` // 1 of an insert, 2 of an update
	Bytes   float64   `json:"bytes"`
	Nanos   []float64 `json:"ns"` // of each run
	Allocs  float64   `json:"allocs"`
}

const (
	encodedRows = 1024
	encodeTimes = 50 // over all rows, in one run
	encodeRuns  = 9
)

// measureEncoding times both formats over the bare row and over all envelopes.
func measureEncoding(ctx context.Context, _ *place, _ options, r *report) (err error) {
	r.Encoding, err = encodings(ctx, encodeTimes)
	return err
}

func encodings(ctx context.Context, times int) (list []encoding, err error) {
	table := change.NewTable(change.TableID{Schema: "shop", Name: "orders"}, 1, orderColumns())
	for _, message := range []string{"row", "qlik", "datastream", "debezium"} {
		for _, format := range []string{"avro", "json"} {
			encoder, err := compile(message, format, table)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", message, format, err)
			}
			for images := 1; images <= 2 && (message != "row" || images == 1); images++ {
				e := encoding{Message: message, Format: format, Images: images}
				if err := e.time(encoder, orderEvents(table, images), times); err != nil {
					return nil, fmt.Errorf("%s, %s: %w", message, format, err)
				}
				list = append(list, e)
			}
		}
	}
	return list, ctx.Err()
}

// compile makes the encoder of a message with the defaults of the configuration, over PostgreSQL and, with Avro, a registry.
func compile(message, format string, t *change.Table) (envelope.Encoder, error) {
	n := bareRow(t)
	if message != "row" {
		e, err := envelopeOf(message, format)
		if err != nil {
			return nil, err
		}
		d, err := e.Declare(t)
		if err != nil {
			return nil, err
		}
		n = d.Value
	}
	if format == "avro" {
		return avro.Compile(n)
	}
	return jsonenc.Compile(n)
}

func envelopeOf(name, format string) (envelope.Envelope, error) {
	binary := format == "avro"
	switch name {
	case "datastream":
		return datastream.New(datastream.Options{Stream: "bench", Engine: datastream.Postgres, Database: "shop"})
	case "debezium":
		o := debezium.Options{Engine: debezium.Postgres, Prefix: "bench", Database: "shop"}
		if binary {
			o.Format = debezium.Avro
		}
		return debezium.New(o)
	}
	o := qlik.Options{Task: "bench", Server: "bench", Format: qlik.JSON, Envelope: true, BeforeImage: true, SchemaText: avro.SchemaText}
	if binary {
		o.Format, o.Envelope = qlik.AvroRegistry, false
	}
	return qlik.New(o)
}

// time runs over all rows again and again.
func (e *encoding) time(encoder envelope.Encoder, events []*change.Event, times int) error {
	dst := make([]byte, 0, 64<<10)
	bytes := 0
	run := func(times int) error {
		for range times {
			for _, ev := range events {
				out, err := encoder.Append(dst, ev)
				if err != nil {
					return err
				}
				bytes += len(out)
			}
		}
		return nil
	}
	if err := run(1); err != nil {
		return err
	}
	e.Bytes = float64(bytes) / float64(len(events))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range encodeRuns {
		begin := time.Now()
		if err := run(times); err != nil {
			return err
		}
		e.Nanos = append(e.Nanos, float64(time.Since(begin).Nanoseconds())/float64(times*len(events)))
	}
	runtime.ReadMemStats(&after)
	e.Allocs = float64((after.Mallocs-before.Mallocs)/uint64(encodeRuns*times)) / float64(len(events))
	return nil
}

func orderColumns() []change.Column {
	of := func(kind change.Kind) change.Type { return change.Type{Kind: kind} }
	digits := func(precision, scale int) change.Type {
		return change.Type{Kind: change.Numeric, Precision: precision, Scale: scale}
	}
	micros := change.Type{Kind: change.DateTime, Scale: 6}
	var list []change.Column
	add := func(nullable bool, t change.Type, names ...string) {
		for _, name := range names {
			list = append(list, change.Column{Name: name, Nullable: nullable, Type: t})
		}
	}
	add(false, of(change.Int8), "id")
	list[0].KeyPosition = 1
	add(false, of(change.Int4), "customer_id")
	add(false, of(change.String), "order_no", "status")
	add(false, digits(12, 2), "amount")
	add(true, digits(12, 2), "tax")
	add(true, digits(9, 6), "rate")
	add(false, micros, "created")
	add(true, micros, "updated")
	add(true, of(change.Date), "ship_date")
	add(true, of(change.WString), "note")
	add(true, of(change.String), "city", "country", "phone")
	add(true, of(change.Int4), "qty")
	add(true, of(change.Real8), "weight")
	add(true, of(change.Bool), "paid")
	add(true, of(change.UUID), "guid")
	add(true, of(change.Bytes), "payload")
	add(true, of(change.Int2), "priority")
	return list
}

// orderRow is row n: about every eighth value that may be NULL is.
func orderRow(columns []change.Column, n uint64) []change.Value {
	row := make([]change.Value, len(columns))
	for i, c := range columns {
		h := mix(n, uint64(i))
		if c.Nullable && h%8 == 0 {
			row[i] = change.Null
			continue
		}
		row[i] = orderValue(c, h)
	}
	return row
}

func orderValue(c change.Column, h uint64) change.Value {
	text := func(s string) change.Value { return change.TextValue([]byte(s)) }
	switch c.Type.Kind {
	case change.Int8:
		return change.IntValue(int64(h >> 30))
	case change.Int4:
		return change.IntValue(int64(h % 1_000_000))
	case change.Int2:
		return change.IntValue(int64(h%100) - 50)
	case change.Numeric:
		if c.Type.Scale == 6 {
			return change.DecimalValue(fmt.Appendf(nil, "0.%06d", h%1_000_000))
		}
		return change.DecimalValue([]byte(cents(h % 10_000_000)))
	case change.DateTime:
		return change.DateTimeValue(1_679_409_261+int64(h%50_000_000), int32(h>>40%1_000_000*1000))
	case change.Date:
		return change.DateValue(19_000 + int64(h%1000))
	case change.Real8:
		return change.Float64Value(float64(h%100_000) / 16)
	case change.Bool:
		return change.BoolValue(h>>9%2 == 0)
	case change.UUID:
		return text(uuid(h))
	case change.Bytes:
		return change.BytesValue(fmt.Appendf(nil, "%08d", h%100_000_000))
	case change.WString:
		return text(words(h, 30+int(h>>20%40)))
	}
	return text(words(h, 4+int(h>>20%12)))
}

// orderEvents are the inserts of the varied rows, or with two images their updates.
func orderEvents(t *change.Table, images int) (list []*change.Event) {
	for n := range uint64(encodedRows) {
		ev := &change.Event{
			Table: t, Op: change.OpInsert, Position: change.Position(sequence(int(n))), ChangeSequence: []byte(sequence(int(n))), StreamPosition: []byte("00000027:00000130:0001"),
			TransactionID: fmt.Appendf(nil, "%032d", n/10+1), Timestamp: change.InstantValue(1_694_402_605, 0, 0), After: orderRow(t.Columns, n),
			Counter: int64(n%10) + 1, TableCounter: int64(n%10) + 1, Last: n%10 == 9,
		}
		if images == 2 {
			ev.Op, ev.Before = change.OpUpdate, orderRow(t.Columns, n+encodedRows)
			ev.Before[0] = ev.After[0]
		}
		list = append(list, ev)
	}
	return list
}

// bareRow is a record of the columns alone.
func bareRow(t *change.Table) *envelope.Node {
	n := &envelope.Node{Shape: envelope.Record, Name: "orders", Namespace: "shop", Image: func(ev *change.Event) []change.Value { return ev.After }}
	for i, c := range t.Columns {
		form := func(kind envelope.FormKind) envelope.Form {
			return envelope.Form{Kind: kind, Precision: c.Type.Precision, Scale: c.Type.Scale}
		}
		leaf := &envelope.Node{Column: i, Nullable: c.Nullable, Avro: form(envelope.FormText), JSON: form(envelope.FormText)}
		if forms, other := bareForms[c.Type.Kind]; other {
			leaf.Avro, leaf.JSON = form(forms[0]), form(forms[1])
		}
		n.Fields = append(n.Fields, envelope.Field{Name: c.Name, Node: leaf})
	}
	return n
}

// bareForms are how columns that are no text are written, in Avro and in JSON.
var bareForms = map[change.Kind][2]envelope.FormKind{
	change.Int8: {envelope.FormLong, envelope.FormLong}, change.Int4: {envelope.FormInt, envelope.FormInt}, change.Int2: {envelope.FormInt, envelope.FormInt},
	change.Real8: {envelope.FormDouble, envelope.FormDouble}, change.Bool: {envelope.FormBoolean, envelope.FormBoolean},
	change.Numeric:  {envelope.FormDecimalBytes, envelope.FormDecimalText},
	change.DateTime: {envelope.FormTimestampMicros, envelope.FormDateTimeText}, change.Date: {envelope.FormDate, envelope.FormDateText},
	change.Bytes: {envelope.FormBytes, envelope.FormHexUpper},
}
