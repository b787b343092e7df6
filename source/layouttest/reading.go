package layouttest

import (
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

// Before-images pair by sequence, whatever the order they lie in and wherever a page ends.
func checkPairs(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s,
		row("B", 21, 1, "a", "1.10"), row("B", 22, 2, "b", "2.00"), row("U", 21, 1, "x", "1.10"), row("U", 22, 2, "y", nil),
		row("I", 23, 3, "new", "0.01"), row("D", 24, 1, "x", "1.10"))
	l := b.layout(qlikct.Options{})
	captured := b.only(l)
	for _, size := range []int{1, 2, 3, 100} {
		got, failed := b.readAll(l, captured, size)
		if failed != nil {
			t.Fatal(failed)
		}
		b.want(got, "21 UPDATE -(1,a,1.10) +(1,x,1.10)", "22 UPDATE -(2,b,2.00) +(2,y,null)", "23 INSERT +(3,new,0.01)", "24 DELETE -(1,x,1.10)")
	}
}

// Rows of one sequence never part at a page edge, however many there are.
func checkEqualPositions(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, 1, "a", nil))
	for id := 10; id < 15; id++ {
		b.Writer.Add(t, b.Writer.DB, s, row("I", 2, id, "same", nil))
	}
	b.Writer.Add(t, b.Writer.DB, s, row("I", 3, 3, "c", nil))
	l := b.layout(qlikct.Options{})
	captured := b.only(l)
	page, err := l.Page(b.ctx, captured, change.Position(qlikwriter.Seq(1)), end, 2)
	if err != nil || len(page.Events) != 5 || !page.More {
		t.Fatalf("page of the equal rows: %d events, more %v, error %v; want all 5 and more", len(page.Events), page.More, err)
	}
	for _, size := range []int{1, 2, 3, 5, 6, 100} {
		got, _ := b.readAll(l, captured, size)
		if len(got) != 7 {
			t.Fatalf("page size %d: %d events, want 7: %v", size, len(got), got)
		}
	}
}

// Changes replayed by hand double sequences. The self-join would multiply them: two updates and two before-images make four rows.
func checkReplayed(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	for range 2 {
		b.Writer.Add(t, b.Writer.DB, s, row("B", 5, 1, "a", nil), row("U", 5, 1, "b", nil), row("I", 6, 2, "n", nil))
	}
	l := b.layout(qlikct.Options{})
	got, failed := b.readAll(l, b.only(l), 3)
	if failed != nil {
		t.Fatal(failed)
	}
	b.want(got, "5 UPDATE -(1,a,null) +(1,b,null)", "5 UPDATE -(1,a,null) +(1,b,null)", "6 INSERT +(2,n,null)", "6 INSERT +(2,n,null)")
}

func checkTruncate(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, 1, "a", nil), row("TRUNCATE", 2, nil, nil, nil), row("I", 3, 2, "b", nil))
	l := b.layout(qlikct.Options{})
	got, failed := b.readAll(l, b.only(l), 2)
	if failed != nil {
		t.Fatal(failed)
	}
	b.want(got, "1 INSERT +(1,a,null)", "2 TRUNCATE", "3 INSERT +(2,b,null)")
}

// Each header column can be missing but the sequence and one operation column.
func checkHeaderSubsets(t *testing.T, b *bench) {
	subsets := map[string][]string{
		"short":   {"change_seq", "change_oper", "timestamp"},
		"both":    {"change_seq", "change_oper", "operation", "timestamp"},
		"long":    {"change_seq", "operation"},
		"turned":  {"operation", "timestamp", "change_seq", "transaction_id"},
		"nomask":  {"change_seq", "change_oper", "stream_position", "operation", "transaction_id", "timestamp"},
		"minimal": {"change_seq", "change_oper"},
	}
	for name, headers := range subsets {
		s := qlikwriter.Parcel(name)
		s.Headers = headers
		b.Writer.Create(t, s)
		oper := map[bool]map[string]string{true: {"B": "BEFOREIMAGE", "U": "UPDATE", "I": "INSERT"}, false: {"B": "B", "U": "U", "I": "I"}}[!contains(headers, "change_oper")]
		b.Writer.Add(t, b.Writer.DB, s, row(oper["I"], 1, 1, "a", nil), row(oper["B"], 2, 1, "a", nil), row(oper["U"], 2, 1, "b", nil))
		l := b.layout(qlikct.Options{Tables: Only{b.Writer.ID(name)}})
		captured := b.only(l)
		page, err := l.Page(b.ctx, captured, "", end, 100)
		if err != nil || page.Failed != nil || len(page.Events) != 2 {
			t.Fatalf("%s: %d events, errors %v, %v", name, len(page.Events), err, page.Failed)
		}
		ev := &page.Events[1]
		b.want([]string{Line(ev)}, "2 UPDATE -(1,a,null) +(1,b,null)")
		if got, want := len(ev.TransactionID) > 0, contains(headers, "transaction_id"); got != want || captured.HasTx != want {
			t.Errorf("%s: transaction id present %v, captured says %v; want %v", name, got, captured.HasTx, want)
		}
		if got, want := ev.Timestamp.HasContent(), contains(headers, "timestamp"); got != want {
			t.Errorf("%s: timestamp present %v, want %v", name, got, want)
		}
		if ev.Timestamp.HasContent() && ev.Timestamp.Num != qlikwriter.Day.Unix() {
			t.Errorf("%s: timestamp %d, want %d", name, ev.Timestamp.Num, qlikwriter.Day.Unix())
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func checkNullSequence(t *testing.T, b *bench) {
	good, bad := qlikwriter.Parcel("good"), qlikwriter.Parcel("bad")
	b.Writer.Create(t, good)
	b.Writer.Create(t, bad)
	b.Writer.Add(t, b.Writer.DB, good, row("I", 1, 1, "a", nil))
	b.Writer.Add(t, b.Writer.DB, bad, row("I", 2, 1, "a", nil), qlikwriter.Row{Oper: "I", Values: []any{2, "lost?", nil}})
	l := b.layout(qlikct.Options{})
	d := b.discover(l)
	newest, err := l.Detect(b.ctx, d.Tables)
	if err != nil {
		t.Fatal(err)
	}
	for i, captured := range d.Tables {
		isBad := captured.Table.ID.Name == "bad"
		if (newest[i].Problem != nil) != isBad {
			t.Errorf("%s: problem %v", captured.Table.ID, newest[i].Problem)
		}
		if isBad && (fault.ClassOf(newest[i].Problem) != fault.Table || !strings.Contains(newest[i].Problem.Error(), "no change sequence (NULL)")) {
			t.Errorf("problem %v", newest[i].Problem)
		}
	}
}

// A before-image without update is reported, never dropped in silence.
func checkOrphans(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, 1, "a", nil), row("B", 2, 1, "a", nil), row("U", 2, 1, "b", nil),
		row("B", 3, 1, "b", nil), row("I", 4, 4, "d", nil))
	l := b.layout(qlikct.Options{})
	for _, size := range []int{1, 2, 100} {
		got, failed := b.readAll(l, b.only(l), size)
		b.want(got, "1 INSERT +(1,a,null)", "2 UPDATE -(1,a,null) +(1,b,null)")
		if failed == nil || !strings.Contains(failed.Error(), qlikwriter.Seq(3)) || fault.ClassOf(failed) != fault.Poison {
			t.Fatalf("size %d: failed %v, want a poison that names the sequence", size, failed)
		}
	}
	l = b.layout(qlikct.Options{Orphans: qlikct.OrphanSkip})
	page, err := l.Page(b.ctx, b.only(l), "", end, 100)
	if err != nil || len(page.Events) != 3 || page.Skipped["orphan_before_image"] != 1 {
		t.Fatalf("skip: %d events, skipped %v, error %v", len(page.Events), page.Skipped, err)
	}
}

// A row that cannot be understood ends the page before it; what lies before it is good.
func checkBadRow(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, 1, "a", nil), row("X", 2, 2, "b", nil), row("I", 3, 3, "c", nil))
	l := b.layout(qlikct.Options{})
	for _, size := range []int{1, 2, 100} {
		got, failed := b.readAll(l, b.only(l), size)
		b.want(got, "1 INSERT +(1,a,null)")
		if failed == nil || fault.ClassOf(failed) != fault.Poison || !strings.Contains(failed.Error(), qlikwriter.Seq(2)) {
			t.Fatalf("size %d: failed %v", size, failed)
		}
	}
}

func checkPositions(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, 1, "a", nil), row("B", 2, 1, "a", nil), row("U", 2, 1, "b", nil), row("I", 3, 3, "c", nil), row("I", 3, 4, "c", nil))
	l := b.layout(qlikct.Options{})
	captured := b.only(l)
	positions, err := l.Positions(b.ctx, captured, change.Position(qlikwriter.Seq(1)), end)
	if err != nil || len(positions) != 3 || positions[0] != change.Position(qlikwriter.Seq(2)) {
		t.Fatalf("positions %v, %v", positions, err)
	}
	if n, err := l.Count(b.ctx, captured, "", end); err != nil || n != 4 {
		t.Fatalf("count %d, %v; want 4 events", n, err)
	}
	at, id, err := l.Peek(b.ctx, b.discover(l).Tables, change.Position(qlikwriter.Seq(1)))
	if err != nil || at != change.Position(qlikwriter.Seq(2)) || string(id) != "tx2" {
		t.Fatalf("peek %s %s %v", at, id, err)
	}
	if at, _, err := l.Peek(b.ctx, b.discover(l).Tables, change.Position(qlikwriter.Seq(3))); err != nil || at != "" {
		t.Fatalf("peek at the end: %q %v", at, err)
	}
}

// A page ends at its byte limit, whole sequences only.
func checkPageBytes(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	s.Columns[1] = "status varchar(2000)"
	b.Writer.Create(t, s)
	for n := 1; n <= 40; n++ {
		b.Writer.Add(t, b.Writer.DB, s, row("I", n, n, strings.Repeat("x", 2000), nil))
	}
	l := b.layout(qlikct.Options{PageBytes: 16 << 10})
	captured := b.only(l)
	page, err := l.Page(b.ctx, captured, "", end, 1000)
	if err != nil || !page.More || len(page.Events) == 0 || len(page.Events) > 10 {
		t.Fatalf("%d events, more %v, %v; want a few and more", len(page.Events), page.More, err)
	}
	if got, _ := b.readAll(l, captured, 1000); len(got) != 40 {
		t.Fatalf("%d events in all, want 40", len(got))
	}
}

// A table whose two images do not fit into one result is paired all the same.
func checkWideTable(t *testing.T, b *bench) {
	const columns = 900
	s := qlikwriter.Shape{Table: "wide", Key: []string{"c1"}, Columns: []string{"c1 int NOT NULL"}}
	for n := 2; n <= columns; n++ {
		s.Columns = append(s.Columns, fmt.Sprintf("c%d int", n))
	}
	b.Writer.Create(t, s)
	before, after, plain := make([]any, columns), make([]any, columns), make([]any, columns)
	before[0], after[0], plain[0], before[columns-1], after[columns-1] = 1, 1, 2, 7, 8
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, plain...), row("B", 2, before...), row("U", 2, after...), row("U", 3, plain...))
	l := b.layout(qlikct.Options{})
	captured := b.only(l)
	for _, size := range []int{1, 100} {
		var pairs []string
		for after := change.Position(""); ; {
			page, err := l.Page(b.ctx, captured, after, end, size)
			if err != nil || page.Failed != nil {
				t.Fatal(err, page.Failed)
			}
			for _, ev := range page.Events {
				last := "none"
				if ev.Before != nil {
					last = fmt.Sprint(ev.Before[columns-1].Num)
				}
				pairs = append(pairs, fmt.Sprint(last, " ", ev.After[columns-1].Num, " ", len(ev.After)))
				after = ev.Position
			}
			if !page.More {
				break
			}
		}
		b.want(pairs, "none 0 900", "7 8 900", "none 0 900")
	}
}
