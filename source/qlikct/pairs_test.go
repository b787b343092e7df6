package qlikct_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/layouttest"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

// history draws change rows and what must come of them, which it knows without reading anything: each kind of sequence says its own events.
type history struct {
	rt   *rapid.T
	rows []qlikwriter.Row
	want []string // lines of events, by sequence; within a sequence in any order
	kept func(status string) bool

	alone, left int // before-images without update; events that the filter leaves out
}

func (h *history) row(n int, oper string, id int, status string) {
	h.rows = append(h.rows, qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: oper, Tx: "t", Values: []any{id, status, nil}})
}

func (h *history) event(status, format string, args ...any) {
	if !h.kept(status) {
		h.left++
		return
	}
	h.want = append(h.want, fmt.Sprintf(format, args...))
}

func (h *history) pair(n, was, id int, status string) {
	h.row(n, "B", was, "old")
	h.row(n, "U", id, status)
	h.event(status, "%d UPDATE -(%d,old,null) +(%d,%s,null)", n, was, id, status)
}

func (h *history) sequence(n int) {
	status := rapid.SampledFrom([]string{"a", "b", "a long text that makes pages end early by their bytes"}).Draw(h.rt, "status")
	switch rapid.IntRange(0, 7).Draw(h.rt, "kind") {
	case 0, 1:
		h.row(n, "I", n, status)
		h.event(status, "%d INSERT +(%d,%s,null)", n, n, status)
	case 2:
		h.row(n, "D", n, status)
		h.event(status, "%d DELETE -(%d,%s,null)", n, n, status)
	case 3:
		h.row(n, "U", n, status)
		h.event(status, "%d UPDATE +(%d,%s,null)", n, n, status)
	case 4:
		h.pair(n, n, n, status)
	case 5: // an update of the key
		h.pair(n, n, n+100_000, status)
	case 6: // replayed by hand: several updates of one sequence
		for k := range rapid.IntRange(2, 6).Draw(h.rt, "updates") {
			h.pair(n, 1000*n+k, 1000*n+k, status)
		}
	case 7:
		h.row(n, "B", n, "old")
		h.alone++
	}
}

// Every event comes once, with its own before-image, however the rows lie in the table and wherever pages end.
func TestPairsAcrossPageEdges(t *testing.T) {
	t.Parallel()
	bench := openSQLite(t)
	shape := qlikwriter.Parcel("parcel")
	bench.Writer.Create(t, shape)
	rapid.Check(t, func(rt *rapid.T) {
		bench.Writer.Exec(t, `DELETE FROM "parcel__ct"`)
		h := &history{rt: rt, kept: func(string) bool { return true }}
		options := qlikct.Options{Tables: every{}, Orphans: qlikct.OrphanSkip}
		if rapid.Bool().Draw(rt, "filter") {
			h.kept = func(status string) bool { return status != "b" }
			options.Filter = func(change.TableID) string { return "status <> 'b'" }
		}
		for n := range rapid.IntRange(1, 25).Draw(rt, "sequences") {
			h.sequence(n + 1)
		}
		bench.Writer.Add(t, bench.Writer.DB, shape, rapid.Permutation(h.rows).Draw(rt, "rows")...)
		l := qlikct.New(bench.Engine, options, slog.New(slog.DiscardHandler))
		found, err := l.Discover(t.Context())
		if err != nil || len(found.Tables) != 1 {
			rt.Fatal(found, err)
		}
		captured := found.Tables[0]
		captured.PageBytes = rapid.SampledFrom([]int{0, 600, 3000}).Draw(rt, "page bytes")
		got, skipped := readPages(rt, t, l, captured, rapid.IntRange(1, 12).Draw(rt, "page rows"))
		slices.Sort(got)
		slices.Sort(h.want)
		if !slices.Equal(got, h.want) {
			rt.Fatalf("got\n%q\nwant\n%q", got, h.want)
		}
		if skipped["orphan_before_image"] != h.alone || skipped[source.SkippedFilter] != h.left {
			rt.Fatalf("left out %v; want %d before-images, %d by the filter", skipped, h.alone, h.left)
		}
	})
}

// Rows before one that cannot be decoded come all the same, and so do those before a before-image that stands alone.
func TestCase91_RowsBeforeABadOne(t *testing.T) {
	t.Parallel()
	bench := openSQLite(t)
	shape := qlikwriter.Parcel("parcel")
	bench.Writer.Create(t, shape)
	h := &history{kept: func(string) bool { return true }}
	h.row(1, "I", 1, "a")
	h.row(2, "B", 1, "a")
	h.row(2, "U", 1, "b")
	h.rows = append(h.rows, qlikwriter.Row{Seq: qlikwriter.Seq(4), Oper: "I", Tx: "t", Values: []any{4, "bad", "n/a"}})
	bench.Writer.Add(t, bench.Writer.DB, shape, h.rows...)
	l := qlikct.New(bench.Engine, qlikct.Options{Tables: every{}}, slog.New(slog.DiscardHandler))
	found, err := l.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expect := func(text string) {
		t.Helper()
		page, err := l.Page(t.Context(), found.Tables[0], "", change.Position(qlikwriter.Seq(9)), 100)
		if err != nil || len(page.Events) != 2 || page.Failed == nil || !strings.Contains(page.Failed.Error(), text) {
			t.Errorf("%d events, failed %v, error %v; want 2 events and %q", len(page.Events), page.Failed, err, text)
		}
	}
	expect("n/a")
	h.rows = nil
	h.row(3, "B", 1, "b")
	bench.Writer.Add(t, bench.Writer.DB, shape, h.rows...)
	expect("before-image without update")
}

// readPages reads a table to its end, as the merge does, and expects positions to rise.
func readPages(rt *rapid.T, t *testing.T, l *qlikct.Layout, captured *source.Captured, rows int) (lines []string, skipped map[string]int) {
	skipped = make(map[string]int)
	end, after := change.Position(qlikwriter.Seq(999_999)), change.Position("")
	for more := true; more; {
		page, err := l.Page(t.Context(), captured, after, end, rows)
		if err != nil || page.Failed != nil {
			rt.Fatalf("page after %q: %v, %v", after, err, page)
		}
		for policy, n := range page.Skipped {
			skipped[policy] += n
		}
		first := after
		for i := range page.Events {
			if p := page.Events[i].Position; p <= first || p < after {
				rt.Fatalf("position %s after %s", p, after)
			}
			lines, after = append(lines, layouttest.Line(&page.Events[i])), page.Events[i].Position
		}
		after = max(after, page.Passed)
		if more = page.More; more && after == first {
			rt.Fatalf("the page after %q gets no further", first)
		}
	}
	return lines, skipped
}
