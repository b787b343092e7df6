package layouttest

import (
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

func checkPrefixSuffix(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	s.Prefix, s.Suffix = "h_", "_chg"
	b.Writer.Create(t, s)
	b.Writer.Create(t, qlikwriter.Parcel("other"))
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, 1, "a", "2.50"))
	l := b.layout(qlikct.Options{Prefix: "h_", Suffix: "_chg"})
	captured := b.only(l)
	if captured.Table.ID != b.Writer.ID("parcel") || captured.Changes != b.Writer.ID("parcel_chg") || len(captured.Table.Columns) != 3 {
		t.Fatalf("captured %+v", captured)
	}
	got, _ := b.readAll(l, captured, 10)
	b.want(got, "1 INSERT +(1,a,2.50)")
}

func checkWithoutSequence(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	s.Headers, s.NoIndex = []string{"change_oper", "timestamp"}, true
	b.Writer.Create(t, s)
	b.problem(b.layout(qlikct.Options{}), "has no column header__change_seq")
	s = qlikwriter.Parcel("second")
	s.Headers = []string{"change_seq", "timestamp"}
	b.Writer.Create(t, s)
	b.problem(b.layout(qlikct.Options{Tables: Only{b.Writer.ID("second")}}), "neither header__change_oper nor header__operation")
}

// wide makes a fixture with many columns, so that a mask has several bytes.
func wide(table string, columns int) qlikwriter.Shape {
	s := qlikwriter.Shape{Table: table, Key: []string{"c01"}}
	for i := 1; i <= columns; i++ {
		ddl := "c" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + " int"
		if i == 1 {
			ddl += " NOT NULL"
		}
		s.Columns = append(s.Columns, ddl)
	}
	return s
}

func values(columns int, changed ...int) []any {
	out := make([]any, columns)
	for i := range out {
		out[i] = i + 1
	}
	for _, c := range changed {
		out[c-1] = 1000 + c
	}
	return out
}

// maskOf builds a change-table mask of data columns (from 1) behind seven headers, in a byte order.
func maskOf(order qlikct.ByteOrder, columns int, data ...int) []byte {
	mask := make([]byte, (7+columns+7)/8)
	for _, c := range data {
		bit := 6 + c
		at := bit / 8
		if order == qlikct.OrderMSB {
			at = len(mask) - 1 - at
		}
		mask[at] |= 1 << (bit % 8)
	}
	if order == qlikct.OrderMSB {
		return []byte(strings.TrimLeft(string(mask), "\x00"))
	}
	return []byte(strings.TrimRight(string(mask), "\x00"))
}

// The byte order of masks is decided from the data; both orders that exist in the field give the same columns.
func checkMaskOrder(t *testing.T, b *bench) {
	for _, order := range []qlikct.ByteOrder{qlikct.OrderLSB, qlikct.OrderMSB} {
		s := wide("wide_"+string(order), 16)
		b.Writer.Create(t, s)
		all := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
		insert, before, update := row("I", 1, values(16)...), row("B", 2, values(16)...), row("U", 2, values(16, 8, 16)...)
		insert.Mask, before.Mask, update.Mask = maskOf(order, 16, all...), []byte{}, maskOf(order, 16, 8, 16)
		b.Writer.Add(t, b.Writer.DB, s, insert, before, update)
		l := b.layout(qlikct.Options{Tables: Only{b.Writer.ID(s.Table)}})
		page, err := l.Page(b.ctx, b.only(l), "", end, 10)
		if err != nil || page.Failed != nil {
			t.Fatal(err, page.Failed)
		}
		if l.MaskOrder() != order {
			t.Errorf("decided %q, want %q", l.MaskOrder(), order)
		}
		for c := 1; c <= 16; c++ {
			if got, want := page.Events[1].Changed.Has(c-1), c == 8 || c == 16; got != want {
				t.Errorf("%s: update changed column %d: %v, want %v", order, c, got, want)
			}
			if !page.Events[0].Changed.Has(c - 1) {
				t.Errorf("%s: insert misses column %d", order, c)
			}
		}
		again := b.layout(qlikct.Options{})
		if err := again.Recall(l.Memory()); err != nil || again.MaskOrder() != order {
			t.Errorf("recalled %q, %v; want %q", again.MaskOrder(), err, order)
		}
	}
}

// One broken mask decides nothing.
func checkOneMaskDecidesNothing(t *testing.T, b *bench) {
	s := wide("wide", 16)
	b.Writer.Create(t, s)
	insert := row("I", 1, values(16)...)
	insert.Mask = maskOf(qlikct.OrderMSB, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
	b.Writer.Add(t, b.Writer.DB, s, insert)
	l := b.layout(qlikct.Options{})
	page, err := l.Page(b.ctx, b.only(l), "", end, 10)
	if err != nil || page.Failed != nil || l.MaskOrder() != "" || l.Memory() != nil {
		t.Fatalf("one mask: order %q, errors %v, %v", l.MaskOrder(), err, page.Failed)
	}
	if !page.Events[0].Changed.Has(15) {
		t.Error("the only order that is possible is not used")
	}
}

func checkBadMask(t *testing.T, b *bench) {
	s := wide("wide", 16)
	b.Writer.Create(t, s)
	bad := row("I", 1, values(16)...)
	bad.Mask = []byte{0x01, 0, 0, 0, 0, 1}
	b.Writer.Add(t, b.Writer.DB, s, bad)
	l := b.layout(qlikct.Options{MaskOrder: qlikct.OrderLSB})
	_, failed := b.readAll(l, b.only(l), 10)
	if failed == nil || !strings.Contains(failed.Error(), "marks bit 0, which is a header column") || !strings.Contains(failed.Error(), "mask_byte_order") {
		t.Fatalf("failed %v", failed)
	}
}

// NULL is told from "not captured" by the mask, the before-image and the base table's NOT NULL.
func checkAbsent(t *testing.T, b *bench) {
	s := wide("wide", 3)
	s.Columns[1] = "c02 int NOT NULL"
	b.Writer.Create(t, s)
	insert, update, before, drop := row("I", 1, 1, 2, nil), row("U", 2, 1, 2, nil), row("B", 2, 1, 2, 3), row("D", 3, 1, nil, nil)
	insert.Mask, update.Mask, drop.Mask = maskOf("msb", 3, 1, 2), maskOf("msb", 3, 2), maskOf("msb", 3, 1)
	set := row("U", 4, 1, 2, nil)
	set.Mask = maskOf("msb", 3, 3)
	b.Writer.Add(t, b.Writer.DB, s, insert, before, update, drop, set)
	l := b.layout(qlikct.Options{MaskOrder: qlikct.OrderMSB})
	got, failed := b.readAll(l, b.only(l), 10)
	if failed != nil {
		t.Fatal(failed)
	}
	b.want(got, "1 INSERT +(1,2,absent)", "2 UPDATE -(1,2,3) +(1,2,absent)", "3 DELETE -(1,absent,null)", "4 UPDATE +(1,2,null)")
}

func checkKeys(t *testing.T, b *bench) {
	s := wide("noted", 3)
	s.NoBase = true
	b.Writer.Create(t, s)
	id := b.Writer.ID("noted")
	if captured := b.only(b.layout(qlikct.Options{})); len(captured.Table.Key) != 0 || !captured.Table.Columns[0].Nullable {
		t.Fatalf("without base table: key %v", captured.Table.Key)
	}
	captured := b.only(b.layout(qlikct.Options{Keys: map[change.TableID][]string{id: {"c03", "c01"}}}))
	if k := captured.Table.Key; len(k) != 2 || k[0] != 2 || k[1] != 0 {
		t.Fatalf("key from the options: %v", k)
	}
	b.problem(b.layout(qlikct.Options{Keys: map[change.TableID][]string{id: {"nowhere"}}}), `key column "nowhere"`)
}

func checkControlTables(t *testing.T, b *bench) {
	w := b.Writer
	w.Exec(t, "CREATE TABLE %s (server_name varchar(128), task_name varchar(128), task_status varchar(32), source_timestamp_applied %s)", w.Name("attrep_status"), w.Dialect.Time)
	w.Exec(t, "CREATE TABLE %s (task_name varchar(128), partition_name varchar(64), partition_start_time %s, partition_end_time %s)", w.Name("attrep_cdc_partitions"), w.Dialect.Time, w.Dialect.Time)
	l := b.layout(qlikct.Options{ControlTask: "orders"})
	b.discover(l)
	if at, ok, err := l.Applied(b.ctx); err != nil || ok {
		t.Fatalf("empty status table: %q %v %v", at, ok, err)
	}
	w.Exec(t, "INSERT INTO %s VALUES ('s', 'orders', 'CHANGE PROCESSING', '2023-09-11 03:23:25.120000')", w.Name("attrep_status"))
	w.Exec(t, "INSERT INTO %s VALUES ('s', 'other', 'CHANGE PROCESSING', '2020-01-01 00:00:00.000000')", w.Name("attrep_status"))
	w.Exec(t, "INSERT INTO %s VALUES ('orders', 'p', '2023-09-11 03:00:00.000000', '2023-09-11 04:00:00.000000')", w.Name("attrep_cdc_partitions"))
	at, ok, err := l.Applied(b.ctx)
	applied := time.Date(2023, 9, 11, 3, 23, 25, 120e6, time.UTC)
	if err != nil || !ok || at < change.Position(qlikwriter.SeqAt(applied, 5)) || at >= change.Position(qlikwriter.SeqAt(applied.Add(10*time.Millisecond), 0)) {
		t.Fatalf("applied %q %v %v", at, ok, err)
	}
	at, ok, err = l.Closed(b.ctx)
	closed := time.Date(2023, 9, 11, 4, 0, 0, 0, time.UTC)
	if err != nil || !ok || at >= change.Position(qlikwriter.SeqAt(closed, 0)) || at < change.Position(qlikwriter.SeqAt(closed.Add(-10*time.Millisecond), 5)) {
		t.Fatalf("closed %q %v %v", at, ok, err)
	}
	var _ source.Clocked = l
}
