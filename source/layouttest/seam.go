package layouttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// Run runs every check of the seam; open gives each its own scratch database.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	checks := []struct {
		name string
		run  func(s *seam)
	}{
		{"Case21_Pairs", pairs},
		{"EqualPositionsStayTogether", equalPositions},
		{"Orphans", orphans},
		{"UnknownOperation", unknownOperation},
		{"AskedRanges", askedRanges},
		{"LowEnd", lowEnd},
		{"Detection", detection},
		{"Case61_Names", names},
		{"HostileNames", hostileNames},
		{"Keys", keys},
		{"Headers", headers},
		{"ExactTableMissing", exactMissing},
		{"DetectionSurvivesADroppedTable", droppedTable},
		{"PageBytes", pageBytes},
		{"WideTable", wideTable},
		{"Case38_Structures", structures},
		{"BaseTable", baseTable},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			f := open(t)
			if limited, ok := f.(Limited); ok && limited.Lacks(c.name) != "" {
				t.Skip(limited.Lacks(c.name))
			}
			c.run(&seam{T: t, Fixture: f, ctx: context.Background()})
		})
	}
}

// seam is one check's database.
type seam struct {
	*testing.T
	Fixture
	ctx context.Context
}

// last lies behind every position of a check.
func (s *seam) last() change.Position { return s.Position(1000) }

func (s *seam) discover(l source.Layout) source.Discovery {
	s.Helper()
	d, err := l.Discover(s.ctx)
	if err != nil {
		s.Fatalf("discover: %v", err)
	}
	return d
}

// only discovers exactly one readable table.
func (s *seam) only(l source.Layout) *source.Captured {
	s.Helper()
	d := s.discover(l)
	if len(d.Tables) != 1 || len(d.Problems) != 0 {
		s.Fatalf("discovered %d tables, problems %v; want one table", len(d.Tables), d.Problems)
	}
	return d.Tables[0]
}

// read reads a range of a table in pages of a size. No position may lie on both sides of a page's edge, nor go back.
func (s *seam) read(l source.Layout, t *source.Captured, after, upto change.Position, size int) (lines []string, failed error) {
	s.Helper()
	for pages := 0; ; pages++ {
		if pages > 1000 {
			s.Fatal("the pages do not end")
		}
		page, err := l.Page(s.ctx, t, after, upto, size)
		if err != nil {
			s.Fatalf("page behind %q: %v", after, err)
		}
		for i := range page.Events {
			ev := &page.Events[i]
			switch {
			case ev.Position <= after && (i == 0 || ev.Position < after):
				s.Fatalf("%q comes behind %q", ev.Position, after)
			case ev.Position > upto:
				s.Fatalf("%q comes, asked was up to %q", ev.Position, upto)
			}
			after = ev.Position
			lines = append(lines, LineAs(s.Number(ev.Position), ev))
		}
		if page.Failed != nil || !page.More {
			return lines, page.Failed
		}
	}
}

// all reads a whole table in pages of several sizes, which must all give the same.
func (s *seam) all(l source.Layout, t *source.Captured, want ...string) {
	s.Helper()
	for _, size := range []int{1, 2, 3, 100} {
		got, failed := s.read(l, t, "", s.last(), size)
		if failed != nil {
			s.Fatalf("page size %d: %v", size, failed)
		}
		s.same(got, want)
	}
}

func (s *seam) same(got, want []string) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// choice chooses exactly named tables.
type choice []change.TableID

// Match finds the table in the list.
func (c choice) Match(id change.TableID) bool { return slices.Contains(c, id) }

// Exact gives the list.
func (c choice) Exact() []change.TableID { return c }

// Before-images leave with their updates, whatever the order they stand in and wherever a page ends (I7).
func pairs(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	s.Write(s, p, inserted(23, 3, "new", "0.01"), updated(22, of(2, "b", "2.00"), of(2, "y", nil)), deleted(24, 1, "x", "1.10"),
		updated(21, of(1, "a", "1.10"), of(1, "x", "1.10")), updated(25, nil, of(3, "z", nil)))
	l := s.Layout(Options{})
	s.all(l, s.only(l), "21 UPDATE -(1,a,1.10) +(1,x,1.10)", "22 UPDATE -(2,b,2.00) +(2,y,null)", "23 INSERT +(3,new,0.01)", "24 DELETE -(1,x,1.10)", "25 UPDATE +(3,z,null)")
}

// Rows of one position never part at a page's edge, however many there are; updates among them keep their own before-images.
func equalPositions(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	changes := []Change{inserted(1, 1, "a", nil), inserted(4, 4, "d", nil)}
	for id := 10; id < 15; id++ {
		changes = append(changes, inserted(2, id, "same", nil), updated(3, of(id, "same", nil), of(id, fmt.Sprint("is", id), nil)))
	}
	s.Write(s, p, changes...)
	l := s.Layout(Options{})
	captured := s.only(l)
	want := []string{"1 INSERT +(1,a,null)"}
	for id := 10; id < 15; id++ {
		want = append(want, fmt.Sprintf("2 INSERT +(%d,same,null)", id))
	}
	for id := 10; id < 15; id++ {
		want = append(want, fmt.Sprintf("3 UPDATE -(%d,same,null) +(%d,is%d,null)", id, id, id))
	}
	want = append(want, "4 INSERT +(4,d,null)")
	for _, size := range []int{1, 2, 5, 6, 100} {
		got, failed := s.read(l, captured, "", s.last(), size)
		if failed != nil || len(got) != len(want) {
			s.Fatalf("page size %d: %d events, want %d; %v", size, len(got), len(want), failed)
		}
		slices.Sort(got[1:6]) // those of one position have no order
		slices.Sort(got[6:11])
		s.same(got, want)
	}
}

// A before-image without its update ends the page, named by its position; what lies before it is good.
func orphans(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	s.Write(s, p, inserted(1, 1, "a", nil), updated(2, of(1, "a", nil), of(1, "b", nil)), updated(3, of(1, "b", nil), nil), inserted(4, 4, "d", nil))
	l := s.Layout(Options{})
	captured := s.only(l)
	for _, size := range []int{1, 2, 3, 100} {
		got, failed := s.read(l, captured, "", s.last(), size)
		s.same(got, []string{"1 INSERT +(1,a,null)", "2 UPDATE -(1,a,null) +(1,b,null)"})
		s.poison(failed, 3)
	}
}

// poison wants the error of a row that cannot be carried, which names where it stands.
func (s *seam) poison(err error, number int) {
	s.Helper()
	// A position in an error is a row's own: of that of the number, only its front is sure.
	at := string(s.Position(number))[:12]
	if err == nil || fault.ClassOf(err) != fault.Poison || !strings.Contains(err.Error(), at) {
		s.Fatalf("failed with %v, want a poison at %s…", err, at)
	}
}

// An operation that nobody knows ends the page; what lies before it is good.
func unknownOperation(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	s.Write(s, p, inserted(1, 1, "a", nil), Change{Number: 2, Op: unknown, After: of(2, "b", nil)}, inserted(3, 3, "c", nil))
	l := s.Layout(Options{})
	captured := s.only(l)
	for _, size := range []int{1, 2, 100} {
		got, failed := s.read(l, captured, "", s.last(), size)
		s.same(got, []string{"1 INSERT +(1,a,null)"})
		s.poison(failed, 2)
	}
}

// Page, Positions and Count agree on every range between two events.
func askedRanges(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	s.Write(s, p, inserted(1, 1, "a", nil), updated(2, of(1, "a", nil), of(1, "b", nil)), inserted(3, 3, "c", nil), inserted(3, 4, "c", nil), deleted(5, 1, "b", nil))
	l := s.Layout(Options{})
	captured := s.only(l)
	page, err := l.Page(s.ctx, captured, "", s.last(), 100)
	if err != nil || page.Failed != nil || len(page.Events) != 5 {
		s.Fatalf("%d events, %v, %v", len(page.Events), err, page.Failed)
	}
	edges := []change.Position{"", s.Position(0), s.Position(2), s.Position(4), s.last()}
	for i := range page.Events {
		edges = append(edges, page.Events[i].Position)
	}
	for _, after := range edges {
		for _, upto := range edges {
			var want []change.Position
			for i := range page.Events {
				if at := page.Events[i].Position; at > after && at <= upto {
					want = append(want, at)
				}
			}
			got, err := l.Positions(s.ctx, captured, after, upto)
			if err != nil || !slices.Equal(got, want) {
				s.Fatalf("positions in (%q, %q]: %q, %v; want %q", after, upto, got, err, want)
			}
			if n, err := l.Count(s.ctx, captured, after, upto); err != nil || n != int64(len(want)) {
				s.Fatalf("count of (%q, %q]: %d, %v; want %d", after, upto, n, err, len(want))
			}
			if lines, failed := s.read(l, captured, after, upto, 2); failed != nil || len(lines) != len(want) {
				s.Fatalf("events in (%q, %q]: %q, %v; want %d", after, upto, lines, failed, len(want))
			}
		}
	}
}

// The low end of a change table: its lowest position, and whether a row has a given one.
func lowEnd(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	l := s.Layout(Options{})
	captured := s.only(l)
	if oldest, has, err := l.Oldest(s.ctx, captured, s.Position(3)); oldest != "" || has || err != nil {
		s.Fatalf("empty table: %q, %v, %v", oldest, has, err)
	}
	s.Write(s, p, inserted(3, 1, "a", nil), inserted(5, 2, "b", nil))
	at, err := l.Positions(s.ctx, captured, "", s.last())
	if err != nil || len(at) != 2 {
		s.Fatal(at, err)
	}
	for position, want := range map[change.Position]bool{at[0]: true, at[1]: true, s.Position(4): false, s.Position(2): false} {
		if oldest, has, err := l.Oldest(s.ctx, captured, position); oldest != at[0] || has != want || err != nil {
			s.Errorf("low end %q, row at %q there: %v, %v; want %q, %v", oldest, position, has, err, at[0], want)
		}
	}
}

// Detection gives the newest position of each table, empty for an empty one.
func detection(s *seam) {
	one, two, empty := parcelOf("a"), parcelOf("b"), parcelOf("c")
	for _, table := range []Table{one, two, empty} {
		s.Create(s, table)
	}
	s.Write(s, one, inserted(7, 1, "a", nil), inserted(3, 1, "a", nil))
	s.Write(s, two, updated(9, of(1, "a", nil), of(1, "b", nil)))
	l := s.Layout(Options{})
	d := s.discover(l)
	newest, err := l.Detect(s.ctx, d.Tables)
	if err != nil || len(newest) != 3 {
		s.Fatal(newest, err)
	}
	for i, want := range []string{"7", "9", ""} {
		got := ""
		if newest[i].Position != "" {
			got = s.Number(newest[i].Position)
		}
		if got != want || newest[i].Problem != nil || d.Tables[i].Table.ID != s.ID([]string{"a", "b", "c"}[i]) {
			s.Errorf("%s: newest %q, problem %v; want %s", d.Tables[i].Table.ID, newest[i].Position, newest[i].Problem, want)
		}
	}
}

var errNotMissing = errors.New("does not tell that the table is missing")

// exactMissing: a table that is named and not there is a problem of its own.
func exactMissing(s *seam) {
	s.Create(s, parcelOf("parcel"))
	l := s.Layout(Options{Tables: choice{s.ID("parcel"), s.ID("nowhere")}})
	d := s.discover(l)
	if len(d.Tables) != 1 || len(d.Problems) != 1 || d.Problems[0].Table != s.ID("nowhere") {
		s.Fatalf("%d tables, problems %v", len(d.Tables), d.Problems)
	}
	if err := missing(d.Problems[0]); err != nil {
		s.Error(err)
	}
}

// missing wants an error by which the runner tells an absent table from a broken one.
func missing(err error) error {
	var m interface{ TableMissing() bool }
	if !errors.As(err, &m) || !m.TableMissing() {
		return fmt.Errorf("%w: %w", errNotMissing, err)
	}
	return nil
}

func droppedTable(s *seam) {
	for _, name := range []string{"keeps", "goes"} {
		s.Create(s, parcelOf(name))
		s.Write(s, parcelOf(name), inserted(7, 1, "a", nil))
	}
	l := s.Layout(Options{})
	d := s.discover(l)
	s.Vanish(s, parcelOf("goes"))
	newest, err := l.Detect(s.ctx, d.Tables)
	if err != nil {
		s.Fatal(err)
	}
	if newest[0].Problem == nil || fault.ClassOf(newest[0].Problem) != fault.Table || newest[1].Problem != nil || s.Number(newest[1].Position) != "7" {
		s.Fatalf("detected %+v", newest)
	}
	if changed, err := l.Changed(s.ctx, d.Tables); err != nil || !changed[0] || changed[1] {
		s.Fatalf("changed %v, %v", changed, err)
	}
}
