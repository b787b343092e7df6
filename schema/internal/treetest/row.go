// Package treetest makes trees and events for the tests of the formats: one fixed row of 20 columns to measure with, and random ones with
// what an independent oracle expects of them. Only tests import it.
package treetest

import (
	"math/big"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Row is a table of 20 columns as an order table has them: 3 decimals, 2 timestamps, a date, an enum, 14 nullable columns. The event
// inserts one row.
func Row() (*envelope.Node, *change.Event) {
	table := change.NewTable(change.TableID{Schema: "shop", Name: "orders"}, 1, columns())
	fields := make([]envelope.Field, len(table.Columns))
	for i, c := range table.Columns {
		fields[i] = envelope.Field{Name: c.Name, Node: columnNode(i, c)}
	}
	return &envelope.Node{
		Shape: envelope.Record, Name: "orders", Namespace: "shop", Fields: fields,
		Image: func(ev *change.Event) []change.Value { return ev.After },
	}, &change.Event{Table: table, Op: change.OpInsert, Position: "20230321143421000000000000000000001", After: values()}
}

func columns() []change.Column {
	typed := func(name string, nullable bool, t change.Type) change.Column {
		return change.Column{Name: name, Nullable: nullable, Type: t}
	}
	of := func(kind change.Kind) change.Type { return change.Type{Kind: kind} }
	money := change.Type{Kind: change.Numeric, Precision: 12, Scale: 2}
	micros := change.Type{Kind: change.DateTime, Scale: 6}
	columns := []change.Column{
		typed("id", false, of(change.Int8)), typed("customer_id", false, of(change.Int4)), typed("order_no", false, of(change.String)),
		typed("status", false, of(change.Unsupported)), typed("amount", false, money), typed("tax", true, money),
		typed("rate", true, change.Type{Kind: change.Numeric, Precision: 9, Scale: 6}), typed("created", false, micros),
		typed("updated", true, micros), typed("ship_date", true, of(change.Date)), typed("note", true, of(change.WString)),
		typed("city", true, of(change.String)), typed("country", true, of(change.String)), typed("qty", true, of(change.Int4)),
		typed("weight", true, of(change.Real8)), typed("paid", true, of(change.Bool)), typed("guid", true, of(change.UUID)),
		typed("payload", true, of(change.Bytes)), typed("priority", true, of(change.Int2)), typed("phone", true, of(change.String)),
	}
	columns[0].KeyPosition = 1
	return columns
}

// Statuses are the symbols of the column status.
var statuses = []string{"NEW", "PAID", "SHIPPED", "CANCELLED"}

func columnNode(i int, c change.Column) *envelope.Node {
	n := &envelope.Node{Column: i, Nullable: c.Nullable}
	form := func(kind envelope.FormKind) envelope.Form {
		return envelope.Form{Kind: kind, Precision: c.Type.Precision, Scale: c.Type.Scale}
	}
	both := func(avro, json envelope.FormKind) { n.Avro, n.JSON = form(avro), form(json) }
	switch c.Type.Kind {
	case change.Unsupported:
		both(envelope.FormEnum, envelope.FormEnum)
		n.Name, n.Avro.Symbols, n.JSON.Symbols = "status", statuses, statuses
	case change.Bool:
		both(envelope.FormBoolean, envelope.FormBoolean)
	case change.Int2, change.Int4:
		both(envelope.FormInt, envelope.FormInt)
	case change.Int8:
		both(envelope.FormLong, envelope.FormLong)
	case change.Real8:
		both(envelope.FormDouble, envelope.FormDouble)
	case change.Numeric:
		both(envelope.FormDecimalBytes, envelope.FormDecimalText)
	case change.DateTime:
		both(envelope.FormTimestampMicros, envelope.FormDateTimeText)
	case change.Date:
		both(envelope.FormDate, envelope.FormDateText)
	case change.Bytes:
		both(envelope.FormBytes, envelope.FormHexUpper)
	default:
		both(envelope.FormText, envelope.FormText)
	}
	return n
}

var (
	created = time.Date(2023, 3, 21, 14, 34, 21, 123456000, time.UTC)
	updated = time.Date(2023, 3, 22, 8, 0, 0, 0, time.UTC)
	shipped = time.Date(2023, 3, 24, 0, 0, 0, 0, time.UTC)
)

const (
	orderNo = "ORD-2023-000421"
	note    = "Bitte klingeln, Hintereingang für größere Pakete"
	guid    = "00112233-4455-6677-8899-aabbccddeeff"
)

func values() []change.Value {
	text := func(s string) change.Value { return change.TextValue([]byte(s)) }
	decimal := func(s string) change.Value { return change.DecimalValue([]byte(s)) }
	return []change.Value{
		change.IntValue(123456789), change.IntValue(4711), text(orderNo), text("PAID"), decimal("1234.50"), decimal("234.56"),
		decimal("0.190000"), change.DateTimeValue(created.Unix(), int32(created.Nanosecond())), change.DateTimeValue(updated.Unix(), 0),
		change.DateValue(shipped.Unix() / 86400), text(note), text("Köln"), text("DE"), change.IntValue(3), change.Float64Value(2.75),
		change.BoolValue(true), text(guid), change.BytesValue([]byte{1, 2, 3, 4, 5, 6, 7, 8}), change.IntValue(-2), change.Null,
	}
}

// Native is the row of Row as the Avro libraries take it.
func Native() map[string]any {
	return map[string]any{
		"id": int64(123456789), "customer_id": int32(4711), "order_no": orderNo, "status": "PAID", "amount": big.NewRat(123450, 100),
		"tax": big.NewRat(23456, 100), "rate": big.NewRat(19, 100), "created": created, "updated": updated, "ship_date": shipped,
		"note": note, "city": "Köln", "country": "DE", "qty": int32(3), "weight": 2.75, "paid": true, "guid": guid,
		"payload": []byte{1, 2, 3, 4, 5, 6, 7, 8}, "priority": int32(-2), "phone": nil,
	}
}

// Struct is the row of Row as encoding/json writes it.
func Struct() any {
	return &struct {
		ID         int64   `json:"id"`
		CustomerID int32   `json:"customer_id"`
		OrderNo    string  `json:"order_no"`
		Status     string  `json:"status"`
		Amount     string  `json:"amount"`
		Tax        *string `json:"tax"`
		Rate       *string `json:"rate"`
		Created    string  `json:"created"`
		Updated    string  `json:"updated"`
		ShipDate   string  `json:"ship_date"`
		Note       string  `json:"note"`
		City       string  `json:"city"`
		Country    string  `json:"country"`
		Qty        int32   `json:"qty"`
		Weight     float64 `json:"weight"`
		Paid       bool    `json:"paid"`
		GUID       string  `json:"guid"`
		Payload    string  `json:"payload"`
		Priority   int32   `json:"priority"`
		Phone      *string `json:"phone"`
	}{
		123456789, 4711, orderNo, "PAID", "1234.50", new("234.56"), new("0.190000"), "2023-03-21 14:34:21.123456", "2023-03-22 08:00:00.000000",
		"2023-03-24", note, "Köln", "DE", 3, 2.75, true, guid, "0102030405060708", -2, nil,
	}
}
