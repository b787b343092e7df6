package layouttest

import (
	"fmt"
	"slices"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Names with every quoting character.
func names(s *seam) {
	table := Table{Name: "Acme Ltd$Item Ledger$4f2a", Key: []string{"a.b"}, Columns: []Column{{"a.b", "int", true}, {"Unit, Price", "int", false}, {`odd]na"me`, "int", false}, {"größe", "int", false}}}
	s.Create(s, table)
	s.Write(s, table, inserted(1, 1, 2, 3, 4), updated(2, of(1, 2, 3, 4), of(1, 5, 6, 7)))
	l := s.Layout(Options{Tables: choice{s.ID(table.Name)}})
	captured := s.only(l)
	s.all(l, captured, "1 INSERT +(1,2,3,4)", "2 UPDATE -(1,2,3,4) +(1,5,6,7)")
	for i, c := range captured.Table.Columns {
		if c.Name != table.Columns[i].Name {
			s.Errorf("column %d is called %q", i, c.Name)
		}
	}
}

// The key is that of the base table, or what the options name.
func keys(s *seam) {
	table := parcelOf("parcel")
	loose := parcelOf("loose")
	loose.Key = nil
	s.Create(s, table)
	s.Create(s, loose)
	got := func(o Options, name string) []int {
		o.Tables = choice{s.ID(name)}
		return s.only(s.Layout(o)).Table.Key
	}
	if key := got(Options{}, "parcel"); !slices.Equal(key, []int{0}) {
		s.Errorf("key of the base table: %v", key)
	}
	if key := got(Options{}, "loose"); len(key) != 0 {
		s.Errorf("key of a table without one: %v", key)
	}
	named := Options{Keys: map[change.TableID][]string{s.ID("loose"): {"fee", "id"}}}
	if key := got(named, "loose"); !slices.Equal(key, []int{2, 0}) {
		s.Errorf("key from the options: %v", key)
	}
	wrong := s.Layout(Options{Tables: choice{s.ID("loose")}, Keys: map[change.TableID][]string{s.ID("loose"): {"nowhere"}}})
	if d := s.discover(wrong); len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Error(), `key column "nowhere"`) {
		s.Errorf("problems %v", d.Problems)
	}
}

// Every event tells its transaction, its time and its place in the log; transactions have names of their own.
func headers(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	s.Write(s, p, inserted(1, 1, "a", nil), inserted(1, 2, "b", nil), inserted(2, 3, "c", nil))
	l := s.Layout(Options{})
	captured := s.only(l)
	page, err := l.Page(s.ctx, captured, "", s.last(), 100)
	if err != nil || page.Failed != nil || len(page.Events) != 3 || !captured.HasTx {
		s.Fatalf("%d events, %v, %v, transactions %v", len(page.Events), err, page.Failed, captured.HasTx)
	}
	var ids []string
	for i := range page.Events {
		ev := &page.Events[i]
		if len(ev.TransactionID) == 0 || len(ev.StreamPosition) == 0 || ev.Timestamp.Kind != change.KindInstant || ev.Table != captured.Table {
			s.Errorf("event %d: transaction %q, stream position %q, time %+v", i, ev.TransactionID, ev.StreamPosition, ev.Timestamp)
		}
		ids = append(ids, string(ev.TransactionID))
	}
	if ids[0] != ids[1] || ids[1] == ids[2] {
		s.Errorf("transactions %q", ids)
	}
}

// A page ends at its byte limit, whole positions only.
func pageBytes(s *seam) {
	p := parcelOf("parcel")
	p.Columns[1].Type = "varchar(2000)"
	s.Create(s, p)
	var changes []Change
	for n := 1; n <= 40; n++ {
		changes = append(changes, inserted(n, n, strings.Repeat("x", 2000), nil))
	}
	s.Write(s, p, changes...)
	l := s.Layout(Options{PageBytes: 16 << 10})
	captured := s.only(l)
	page, err := l.Page(s.ctx, captured, "", s.last(), 1000)
	if err != nil || !page.More || len(page.Events) == 0 || len(page.Events) > 10 {
		s.Fatalf("%d events, more %v, %v; want a few and more", len(page.Events), page.More, err)
	}
	if got, failed := s.read(l, captured, "", s.last(), 1000); len(got) != 40 || failed != nil {
		s.Fatalf("%d events in all, want 40; %v", len(got), failed)
	}
}

// A table with very many columns is paired all the same.
func wideTable(s *seam) {
	const columns = 900
	table := Table{Name: "wide", Key: []string{"c1"}}
	values := func(first, last any) []any {
		row := make([]any, columns)
		row[0], row[columns-1] = first, last
		return row
	}
	for n := 1; n <= columns; n++ {
		table.Columns = append(table.Columns, Column{fmt.Sprint("c", n), "int", n == 1})
	}
	s.Create(s, table)
	s.Write(s, table, inserted(1, values(1, nil)...), updated(2, values(1, 7), values(1, 8)), inserted(3, values(2, nil)...))
	l := s.Layout(Options{})
	captured := s.only(l)
	for _, size := range []int{1, 100} {
		got, failed := s.read(l, captured, "", s.last(), size)
		if failed != nil || len(got) != 3 {
			s.Fatalf("%d events, %v", len(got), failed)
		}
		nulls := strings.Repeat(",null", columns-2)
		s.same(got[1:2], []string{"2 UPDATE -(1" + nulls + ",7) +(1" + nulls + ",8)"})
	}
}

// Rows carry the structure that they were written with: a table that has grown is read under its former structure up to the boundary, and under the new
// one from there.
func structures(s *seam) {
	p := parcelOf("parcel")
	s.Create(s, p)
	s.Write(s, p, inserted(1, 1, "a", nil), updated(2, of(1, "a", nil), of(1, "b", nil)))
	l := s.Layout(Options{})
	before := s.only(l)
	if changed, err := l.Changed(s.ctx, []*source.Captured{before}); err != nil || changed[0] {
		s.Fatalf("nothing has changed: %v, %v", changed, err)
	}
	grown := s.Grow(s, p, Column{"weight", "int", false}, 2)
	s.Write(s, grown, inserted(3, 2, "c", nil, 30), updated(4, of(2, "c", nil, 30), of(2, "d", nil, 40)))
	if changed, err := l.Changed(s.ctx, []*source.Captured{before}); err != nil || !changed[0] {
		s.Fatalf("the table has grown: %v, %v", changed, err)
	}
	now := s.only(l)
	if len(now.Table.Columns) != 4 || now.Table.ColumnIndex("weight") != 3 {
		s.Fatalf("columns %+v", now.Table.Columns)
	}
	earlier, err := l.Under(now, change.NewTable(now.Table.ID, 1, before.Table.Columns), before.Memo)
	if err != nil {
		s.Fatal(err)
	}
	for _, size := range []int{1, 100} {
		old, failed := s.read(l, earlier, "", s.Position(2), size)
		if failed != nil {
			s.Fatal(failed)
		}
		s.same(old, []string{"1 INSERT +(1,a,null)", "2 UPDATE -(1,a,null) +(1,b,null)"})
		fresh, failed := s.read(l, now, s.Position(2), s.last(), size)
		if failed != nil {
			s.Fatal(failed)
		}
		s.same(fresh, []string{"3 INSERT +(2,c,null,30)", "4 UPDATE -(2,c,null,30) +(2,d,null,40)"})
	}
}

// The base table is read in chunks of any size, each from where the last one ended, with the columns of the captured table.
func baseTable(s *seam) {
	p := parcelOf("parcel")
	p.Key = []string{"id", "status"}
	p.Columns[1].NotNull = true
	s.Create(s, p)
	var want []string
	for id := 1; id <= 5; id++ {
		for _, status := range []string{"a", "b"} {
			s.Fill(s, p, of(id, status, "1.50"))
			want = append(want, fmt.Sprintf("REFRESH +(%d,%s,1.50)", id, status))
		}
	}
	l := s.Layout(Options{})
	captured := s.only(l)
	poller := source.NewPoller(s.Engine(), l, source.Options{Parallel: 2})
	for _, size := range []int{1, 3, 10, 100} {
		chunks, err := poller.Chunks(captured, "")
		if err != nil {
			s.Fatal(err)
		}
		var got, after []string
		for last := false; !last && len(got) <= len(want); {
			chunk, err := chunks.Read(s.ctx, after, size)
			if err != nil || chunk.Failed != nil {
				s.Fatal(err, chunk)
			}
			for i, row := range chunk.Rows {
				got = append(got, LineAs("", &change.Event{Table: captured.Table, Op: change.OpRefresh, After: row}))
				after = after[:0]
				for _, k := range chunk.Keys[i] {
					after = append(after, string(k.Raw))
				}
			}
			last = chunk.Last
		}
		s.same(got, want)
		if err := chunks.Close(); err != nil {
			s.Fatal(err)
		}
	}
}
