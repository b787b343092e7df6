package live

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"ctbridge/test/qlikwriter"
)

// event is the inner data message, in JSON or decoded from Avro.
type event struct {
	Data       map[string]any `json:"data"`
	BeforeData map[string]any `json:"beforeData"`
	Headers    struct {
		Operation        string `json:"operation"`
		ChangeSequence   string `json:"changeSequence"`
		Timestamp        string `json:"timestamp"`
		StreamPosition   string `json:"streamPosition"`
		TransactionID    string `json:"transactionId"`
		ChangeMask       string `json:"changeMask"`
		ColumnMask       string `json:"columnMask"`
		Counter          int64  `json:"transactionEventCounter"`
		Last             bool   `json:"transactionLastEvent"`
		ExternalSchemaID string `json:"externalSchemaId"`
	} `json:"headers"`
}

func (m message) event(t testing.TB) event {
	t.Helper()
	var outer struct {
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(m.Value, &outer); err != nil {
		t.Fatal(err)
	}
	inner := []byte(outer.Message)
	if inner == nil {
		inner = m.Value
	}
	var ev event
	if err := json.Unmarshal(inner, &ev); err != nil {
		t.Fatalf("%s: %v", inner, err)
	}
	ev.Headers.ChangeMask = strings.ToUpper(strings.TrimPrefix(ev.Headers.ChangeMask, "hex:"))
	ev.Headers.ColumnMask = strings.ToUpper(strings.TrimPrefix(ev.Headers.ColumnMask, "hex:"))
	return ev
}

// typed is a table with a column of every family.
func typed(d qlikwriter.Dialect) qlikwriter.Shape {
	bytesType, boolType := "bytea", "boolean"
	if d.Name == "mysql" {
		bytesType, boolType = "varbinary(8)", "bit(1)"
	}
	return qlikwriter.Shape{Table: "typed", Key: []string{"id"}, Columns: []string{
		"id bigint NOT NULL", "name varchar(20)", "fee decimal(10,2)", "born date", "seen " + d.Time, "ratio double precision", "raw " + bytesType, "flag " + boolType,
	}}
}

func TestEveryTypeArrives(t *testing.T) {
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		for format, extra := range map[string]func(testing.TB) string{"json": func(testing.TB) string { return "" }, "avro": registry} {
			t.Run(name+"_"+format, func(t *testing.T) { everyType(t, open(t), extra(t), format) })
		}
	}
}

func everyType(t *testing.T, db database, extra, format string) {
	s := typed(db.Dialect)
	db.Create(t, s)
	flag := any(true)
	if db.Dialect.Name == "mysql" {
		flag = []byte{1}
	}
	old := []any{1, "größe", "0.10", "1993-11-25", "2023-03-21 14:34:21.000001", 0.1, []byte{0, 255}, flag}
	now := []any{1, "名前", "-99999999.99", nil, "2023-03-21 14:34:21.000001", 0.1, []byte{0, 255}, nil}
	// The writer's masks: bit 7 is the first data column, one most-significant-first number.
	db.Add(t, db.DB, s,
		qlikwriter.Row{Seq: qlikwriter.Seq(1), Oper: "I", Tx: "00000000000000000000000000060008", Mask: []byte{0x7f, 0x80}, Values: old},
		qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "B", Tx: "00000000000000000000000000060008", Mask: []byte{}, Values: old},
		qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "U", Tx: "00000000000000000000000000060008", Mask: []byte{0x47 + 0x00, 0x00}, Values: now},
		qlikwriter.Row{Seq: qlikwriter.Seq(3), Oper: "D", Tx: "00000000000000000000000000060009", Mask: []byte{0x80}, Values: now})
	b := newBridge(t, db, extra)
	b.start()
	got := b.until(3, "typed")
	b.stop()
	if len(got) != 3 {
		t.Fatalf("%d messages, want 3", len(got))
	}
	insert, update, drop := got[0].event(t), got[1].event(t), got[2].event(t)
	raw := map[string]string{"json": "00FF", "avro": "hex:00ff"}[format]
	checkRow(t, "insert", insert.Data, map[string]any{"id": 1.0, "name": "größe", "fee": "0.10", "born": "1993-11-25", "seen": "2023-03-21 14:34:21.000001", "ratio": 0.1, "raw": raw, "flag": true})
	checkRow(t, "update", update.Data, map[string]any{"id": 1.0, "name": "名前", "fee": "-99999999.99", "born": nil, "seen": "2023-03-21 14:34:21.000001", "ratio": 0.1, "raw": raw, "flag": nil})
	checkRow(t, "before", update.BeforeData, insert.Data)
	checkRow(t, "delete", drop.Data, update.Data)
	h := update.Headers
	if h.Operation != "UPDATE" || h.ChangeSequence != qlikwriter.Seq(2) || h.Timestamp != "2023-09-11T03:23:25.000" || h.StreamPosition != "pos:"+qlikwriter.Seq(2) ||
		h.TransactionID != "00000000000000000000000000060008" || h.Counter != 2 || !h.Last || h.ColumnMask != "00FF" {
		t.Errorf("headers of the update: %+v", h)
	}
	if insert.Headers.Counter != 1 || insert.Headers.Last || drop.Headers.Counter != 1 || !drop.Headers.Last || drop.Headers.ChangeMask != "0001" {
		t.Errorf("headers of insert %+v, delete %+v", insert.Headers, drop.Headers)
	}
	if *got[0].Key != "1" || drop.BeforeData != nil || insert.BeforeData != nil {
		t.Errorf("key %q, before of insert %v, of delete %v", *got[0].Key, insert.BeforeData, drop.BeforeData)
	}
}

func checkRow(t *testing.T, what string, got, want map[string]any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s\n got %v\nwant %v", what, got, want)
	}
}

// Parent and child batches of several transactions, each applied in a database transaction of its own: with the horizon wide enough the order over
// tables and the counters are exact.
func TestTableByTableWithAWideHorizon(t *testing.T) {
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LIVE_SETTLE", "3s")
			db := open(t)
			db.Create(t, qlikwriter.Parcel("parent"))
			db.Create(t, qlikwriter.Parcel("child"))
			b := newBridge(t, db, "")
			b.start()
			for batch := range 3 {
				apply(t, db, "parent", batch*100, 0)
				apply(t, db, "child", batch*100, 1)
			}
			got := b.until(300, "parent", "child")
			b.stop()
			events := decode(t, got)
			if len(events) != 300 {
				t.Fatalf("%d events, want 300", len(events))
			}
			for i, ev := range events {
				n := i + 1
				want := fmt.Sprintf("%d %v", (n-1)%4+1, n%4 == 0)
				if ev.Headers.ChangeSequence != qlikwriter.Seq(n) || fmt.Sprintf("%d %v", ev.Headers.Counter, ev.Headers.Last) != want {
					t.Fatalf("event %d: sequence %s counter %d last %v, want %s", n, ev.Headers.ChangeSequence, ev.Headers.Counter, ev.Headers.Last, want)
				}
			}
		})
	}
}

// With the horizon too narrow nothing is lost or doubled, and the late rows are counted.
func TestTableByTableWithANarrowHorizon(t *testing.T) {
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			db.Create(t, qlikwriter.Parcel("parent"))
			db.Create(t, qlikwriter.Parcel("child"))
			b := newBridge(t, db, "")
			b.start()
			apply(t, db, "parent", 0, 0)
			b.until(50, "parent") // published before the writer comes to the child
			apply(t, db, "child", 0, 1)
			got := b.until(100, "parent", "child")
			late := b.metric("ctbridge_late_rows_total")
			b.stop()
			checkSequences(t, got, 100)
			if late == 0 || late > 50 {
				t.Errorf("%v late rows counted, want those of the child below the parent's last", late)
			}
		})
	}
}

// apply writes half of a batch of 100 rows (25 transactions of four rows, rows alternating between the tables) in one database transaction.
func apply(t testing.TB, db database, table string, from, parity int) {
	t.Helper()
	tx, err := db.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for n := from + 1; n <= from+100; n++ {
		if n%2 == parity {
			db.Add(t, tx, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("tx", (n-1)/4), Values: []any{n, "x", nil}})
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// decode gives the events in order of their sequence; messages of one sequence would stand beside each other.
func decode(t testing.TB, messages []message) []event {
	t.Helper()
	events := make([]event, len(messages))
	for i, m := range messages {
		events[i] = m.event(t)
	}
	sort.SliceStable(events, func(i, j int) bool { return events[i].Headers.ChangeSequence < events[j].Headers.ChangeSequence })
	return events
}
