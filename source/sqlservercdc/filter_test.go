package sqlservercdc_test

import (
	"slices"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
)

func filtered(predicate string) sqlservercdc.Options {
	o := options()
	o.Filter = func(change.TableID) string { return predicate }
	return o
}

// A filter sees the row as it is after the change, or the deleted one; what it leaves out takes its before-image along, and pages move past it.
func TestFilter(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(1, c, row(1, 1, 2, 1, "draft", nil))
		b.commit(2, c, row(1, 1, 2, 2, "open", nil), row(2, 1, 3, 2, "open", nil), row(2, 1, 4, 2, "draft", nil))
		b.commit(3, c, row(1, 1, 3, 2, "draft", nil), row(1, 1, 4, 2, "open", nil), row(2, 1, 1, 1, "draft", nil))
		b.commit(4, c, row(1, 1, 3, 5, "x", nil), row(1, 1, 3, 6, "y", nil), row(1, 1, 4, 5, "draft", nil), row(1, 1, 4, 7, "open", nil)) // one group
		b.commit(5, c, row(1, 1, 2, 3, nil, nil), row(2, 1, 2, 4, "draft", nil))
		l := b.layout(filtered("status <> 'draft' AND t.id > 0"))
		captured := b.only(l)
		want := []string{"2 INSERT +(2,open,null)", "3 UPDATE -(2,draft,null) +(2,open,null)", "4 UPDATE -(6,y,null) +(7,open,null)"}
		var positions []change.Position
		for _, size := range []int{1, 2, 3, 5, 100} {
			var lines []string
			positions = nil
			passed, left := change.Position(""), 0
			for more := true; more; {
				page, err := l.Page(b.Context(), captured, passed, end, size)
				if err != nil || page.Failed != nil || page.More && page.Passed <= passed {
					b.Fatalf("pages of %d behind %s: %v, %v", size, passed, err, page.Failed)
				}
				for i := range page.Events {
					lines, positions = append(lines, line(&page.Events[i])), append(positions, page.Events[i].Position)
				}
				passed, left, more = max(passed, page.Passed), left+page.Skipped[source.SkippedFilter], page.More
			}
			b.want(lines, want...)
			if newest, err := l.Detect(b.Context(), []*source.Captured{captured}); err != nil || newest[0].Position != passed || left != 6 {
				b.Errorf("pages of %d: passed %s, left out %d, newest %v, %v", size, passed, left, newest, err)
			}
		}
		if got, err := l.Positions(b.Context(), captured, "", end); err != nil || !slices.Equal(got, positions) {
			b.Errorf("positions %v, %v; want %v", got, err, positions)
		}
		if n, err := l.Count(b.Context(), captured, "", end); err != nil || n != 3 {
			b.Errorf("count %d, %v", n, err)
		}
		newest, _ := l.Detect(b.Context(), []*source.Captured{captured})
		if oldest, has, err := l.Oldest(b.Context(), captured, newest[0].Position); err != nil || !has || !strings.HasPrefix(string(oldest), string(positions[0][:15])) || oldest >= positions[0] {
			b.Errorf("low end %s, newest there %v, %v", oldest, has, err)
		}
	})
}

func TestWrongFilter(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(1, c, row(1, 1, 2, 1, "draft", nil))
		l := b.layout(filtered("nosuch = 1"))
		_, err := l.Page(b.Context(), b.only(l), "", end, 10)
		if fault.ClassOf(err) != fault.Table || !strings.Contains(err.Error(), "nosuch") || !strings.Contains(err.Error(), "source.filters") {
			b.Errorf("%v (class %s)", err, fault.ClassOf(err))
		}
	})
}
