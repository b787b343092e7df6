package layouttest

import (
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

// Changes replayed by hand double sequences. Two updates and two before-images of one sequence are two events, not the four rows of a join.
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
