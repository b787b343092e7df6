package layouttest

import (
	"slices"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

func filtered(predicate string) qlikct.Options {
	return qlikct.Options{Filter: func(change.TableID) string { return predicate }}
}

func at(n int) change.Position { return change.Position(qlikwriter.Seq(n)) }

// A filter sees the row as it is after the change, or the deleted one. What it keeps is paired; what it leaves out is counted, takes its before-image
// along, and is no event for anybody, though it is there for the low and the high end.
func checkFilter(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s,
		row("I", 1, 1, "draft", nil), row("I", 2, 2, "open", nil),
		row("B", 3, 2, "open", nil), row("U", 3, 2, "draft", nil), // moves out
		row("B", 4, 2, "draft", nil), row("U", 4, 2, "open", "1.00"), // moves in
		row("D", 5, 1, "draft", nil), row("D", 6, 2, "open", "1.00"),
		row("I", 7, 3, nil, nil), // neither true nor false
		row("I", 8, 4, "draft", nil))
	l := b.layout(filtered("status <> 'draft' AND t.id > 0"))
	captured := b.only(l)
	for _, size := range []int{1, 2, 3, 5, 100} {
		got, passed, left := b.readFiltered(l, captured, size)
		b.want(got, "2 INSERT +(2,open,null)", "4 UPDATE -(2,draft,null) +(2,open,1.00)", "6 DELETE -(2,open,1.00)")
		if passed != at(8) || left != 5 {
			t.Errorf("pages of %d: passed %s, %d rows left out; want row 8 and 5 rows", size, passed, left)
		}
	}
	positions, err := l.Positions(b.ctx, captured, at(1), end)
	if want := []change.Position{at(2), at(4), at(6)}; err != nil || !slices.Equal(positions, want) {
		t.Errorf("positions %v, %v; want %v", positions, err, want)
	}
	if n, err := l.Count(b.ctx, captured, "", end); err != nil || n != 3 {
		t.Errorf("count %d, %v; want 3", n, err)
	}
	if next, id, err := l.Peek(b.ctx, []*source.Captured{captured}, at(2)); err != nil || next != at(4) || string(id) != "tx4" {
		t.Errorf("peek %s %s %v; want row 4", next, id, err)
	}
	if next, _, err := l.Peek(b.ctx, []*source.Captured{captured}, at(6)); err != nil || next != "" {
		t.Errorf("peek behind the last kept row %q %v", next, err)
	}
	if oldest, has, err := l.Oldest(b.ctx, captured, at(8)); err != nil || oldest != at(1) || !has {
		t.Errorf("low end %s, row 8 there %v, %v", oldest, has, err)
	}
	if newest, err := l.Detect(b.ctx, []*source.Captured{captured}); err != nil || newest[0].Position != at(8) {
		t.Errorf("detected %v, %v; want row 8", newest, err)
	}
}

// readFiltered reads a table in pages, from where each says that it goes on.
func (b *bench) readFiltered(l *qlikct.Layout, t *source.Captured, size int) (lines []string, passed change.Position, left int) {
	b.Helper()
	for range 100 {
		page, err := l.Page(b.ctx, t, passed, end, size)
		if err != nil || page.Failed != nil {
			b.Fatal(err, page.Failed)
		}
		for i := range page.Events {
			lines = append(lines, Line(&page.Events[i]))
			passed = page.Events[i].Position
		}
		if page.More && page.Passed <= passed && len(page.Events) == 0 {
			b.Fatal("an empty page promises more and does not move")
		}
		passed, left = max(passed, page.Passed), left+page.Skipped[source.SkippedFilter]
		if !page.More {
			return lines, passed, left
		}
	}
	b.Fatal("the pages do not end")
	return nil, "", 0
}

// Rows of one sequence are paired all together before any is left out: a kept update does not take the before-image of another.
func checkFilterReplayed(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s,
		row("B", 5, 1, "a", nil), row("U", 5, 1, "draft", nil), row("B", 5, 2, "b", nil), row("U", 5, 3, "open", nil),
		row("B", 6, 4, "c", nil), row("U", 6, 4, "draft", nil), row("U", 6, 4, "draft", nil))
	l := b.layout(filtered("status <> 'draft'"))
	got, passed, left := b.readFiltered(l, b.only(l), 1)
	b.want(got, "5 UPDATE -(2,b,null) +(3,open,null)")
	if passed != at(6) || left != 3 {
		t.Errorf("passed %s, left out %d", passed, left)
	}
}

// A before-image without update is found all the same, and is not taken for one whose update was left out.
func checkFilterOrphans(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s, row("B", 1, 1, "a", nil), row("U", 1, 1, "draft", nil), row("I", 2, 2, "open", nil), row("B", 3, 2, "open", nil), row("I", 4, 3, "open", nil))
	o := filtered("status <> 'draft'")
	l := b.layout(o)
	page, err := l.Page(b.ctx, b.only(l), "", end, 100)
	if err != nil || page.Failed == nil || !strings.Contains(page.Failed.Error(), qlikwriter.Seq(3)) || len(page.Events) != 1 {
		t.Fatalf("%d events, %v, %v; want one and the orphan 3", len(page.Events), page.Failed, err)
	}
	o.Orphans = qlikct.OrphanSkip
	l = b.layout(o)
	page, err = l.Page(b.ctx, b.only(l), "", end, 100)
	if err != nil || page.Failed != nil || len(page.Events) != 2 || page.Skipped["orphan_before_image"] != 1 || page.Skipped[source.SkippedFilter] != 1 {
		t.Fatalf("%d events, skipped %v, %v, %v", len(page.Events), page.Skipped, page.Failed, err)
	}
}

// A predicate that the database refuses stops its table, with the database's own words.
func checkFilterWrong(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	b.Writer.Add(t, b.Writer.DB, s, row("I", 1, 1, "a", nil))
	for _, predicate := range []string{"nosuch = 1", "status = = 2", "no_such_function(status)"} {
		l := b.layout(filtered(predicate))
		_, err := l.Page(b.ctx, b.only(l), "", end, 10)
		if fault.ClassOf(err) != fault.Table || !strings.Contains(err.Error(), "source.filters") {
			t.Errorf("%s: %v (class %s)", predicate, err, fault.ClassOf(err))
		}
		if err != nil && strings.HasPrefix(predicate, "no") && !strings.Contains(strings.ToLower(err.Error()), predicate[:6]) {
			t.Errorf("%s: %v does not say what the database said", predicate, err)
		}
	}
}
