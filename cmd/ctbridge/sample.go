package main

import (
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
)

// keyChange is the sample's UPDATE of a key column.
const keyChange = "KEY_CHANGE"

// sampleTask is a task with the defaults, for the sample.
func sampleTask() (*config.Task, error) {
	return config.Parse([]byte("task: sample\nserver: db1\nsource: {engine: sqlserver, dsn: 'sqlserver://reader@db1?database=shop'}\nkafka: {brokers: ['kafka:9092']}\n"), nil)
}

// sampleEvent is the event of an operation in a small table of orders.
func sampleEvent(operation string) *change.Event {
	at := time.Date(2023, 9, 11, 3, 23, 25, 0, time.UTC)
	ev := &change.Event{
		Table: sampleTable(), Op: change.OpUpdate, Position: "20230911032325000000000000000000005", ChangeSequence: []byte("20230911032325000000000000000000005"),
		StreamPosition: []byte("0000002a:00000168:0003"), TransactionID: []byte("00000000000000000000000000000A1F"), Timestamp: change.InstantValue(at.Unix(), 0, 0),
		Before: sampleRow(17, "new", "129.50"), After: sampleRow(17, "shipped", "129.50"), Changed: change.Mask{0}, HasChanged: true,
	}
	ev.Changed.Set(2)
	switch operation {
	case "INSERT":
		ev.Op, ev.Before, ev.Changed = change.OpInsert, nil, change.Mask{0x1f}
	case "DELETE":
		ev.Op, ev.After, ev.Changed = change.OpDelete, nil, change.Mask{0x01}
	case "REFRESH":
		*ev = change.Event{Table: ev.Table, Op: change.OpRefresh, After: ev.After, Load: &change.Load{Begin: ev.Timestamp, Fence: ev.Position, Row: 1}}
	case keyChange:
		ev.After = sampleRow(18, "new", "129.50")
		ev.Changed = change.Mask{0x01}
	}
	return ev
}

func sampleTable() *change.Table {
	return change.NewTable(change.TableID{Schema: "dbo", Name: "orders"}, 1, []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}, Native: "int", KeyPosition: 1},
		{Name: "customer", Type: change.Type{Kind: change.WString, Length: 80}, Native: "nvarchar(40)", Nullable: true},
		{Name: "status", Type: change.Type{Kind: change.String, Length: 10}, Native: "varchar(10)"},
		{Name: "amount", Type: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}, Native: "decimal(10,2)", Nullable: true},
		{Name: "placed", Type: change.Type{Kind: change.DateTime, Scale: 3}, Native: "datetime2(3)"},
	})
}

func sampleRow(id int64, status, amount string) []change.Value {
	placed := time.Date(2023, 9, 10, 18, 0, 1, 250e6, time.UTC)
	return []change.Value{
		change.IntValue(id), change.TextValue([]byte("Zoë Ng")), change.TextValue([]byte(status)), change.DecimalValue([]byte(amount)),
		change.DateTimeValue(placed.Unix(), int32(placed.Nanosecond())),
	}
}
