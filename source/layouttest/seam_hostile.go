package layouttest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// hostile are names that would end a quoted identifier or a text early, if anybody wrote them into SQL as they are, and do harm then.
var hostile = []string{
	`'; DROP TABLE canary; --`,
	`"; DROP TABLE canary; --`,
	`]; DROP TABLE canary; --`,
	"`; DROP TABLE canary; --",
	`"]'` + "`" + `"]]''` + "``",
	`\'; DROP TABLE canary; --`,
	"new\nline; DROP TABLE canary; --",
	"tab\tand\rreturn",
	"/* DROP */ TABLE */ canary",
	"%s %d %[1]s ${x} {y}",
	"$1 ? :x @p1",
	"trailing.dot.",
	"größe 名前 \u202eevil",
	"a\u0301 and \u00e1",
}

// longest is how many bytes or characters a name may have by engine, less than 128 where the product takes less, less what suffixes need (those of the index of a change table).
var longest = map[string]int{"postgres": 63 - 8, "mysql": 64 - 8}

// hostileNames reads tables and columns with hostile names on every way that there is: discovery, detection, paging, counting, looks at what is
// left, the load by key. The canary lives.
func hostileNames(s *seam) {
	canary := parcelOf("canary")
	s.Create(s, canary)
	s.Fill(s, canary, of(1, "alive", "1.00"))
	for i, name := range append(hostile, s.long()) {
		s.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			(&seam{T: t, Fixture: s.Fixture, ctx: s.ctx}).oneHostile(name, 3*i)
		})
	}
	l := s.Layout(Options{Tables: choice{s.ID("canary")}})
	rows := s.load(l, s.only(l))
	s.same(rows, []string{"REFRESH +(1,alive,1.00)"})
}

// long is the longest name that the product takes.
func (s *seam) long() string {
	most := longest[s.Engine().Name()]
	if most == 0 {
		most = 128 - 8
	}
	return strings.Repeat(`x'"]`, most/4) + strings.Repeat("y", most%4)
}

func (s *seam) oneHostile(name string, n int) {
	most := longest[s.Engine().Name()]
	if most > 0 && utf8.RuneCountInString(name) > most {
		s.Fatalf("%q is too long for the product", name)
	}
	table := Table{Name: name, Key: []string{name, "n"}, Columns: []Column{{name, "varchar(40)", true}, {"n", "int", true}, {name + "v", "int", false}}}
	s.Create(s, table)
	value := "';--\"]`\n" // as data, too
	s.Write(s, table, inserted(n+1, value, 1, 1), updated(n+2, of(value, 1, 1), of(value, 1, 2)), deleted(n+3, value, 1, 2))
	l := s.Layout(Options{Tables: choice{s.ID(name)}, Keys: map[change.TableID][]string{s.ID(name): {name, "n"}}})
	captured := s.only(l)
	s.all(l, captured, fmt.Sprintf("%d INSERT +(%s,1,1)", n+1, value), fmt.Sprintf("%d UPDATE -(%s,1,1) +(%s,1,2)", n+2, value, value), fmt.Sprintf("%d DELETE -(%s,1,2)", n+3, value))
	newest, err := l.Detect(s.ctx, []*source.Captured{captured})
	if err != nil || newest[0].Problem != nil || s.Number(newest[0].Position) != fmt.Sprint(n+3) {
		s.Errorf("detection: %+v %v", newest, err)
	}
	if rows, err := l.Count(s.ctx, captured, "", s.last()); err != nil || rows != 3 {
		s.Errorf("count: %d %v", rows, err)
	}
	if p, err := l.Positions(s.ctx, captured, "", s.last()); err != nil || len(p) != 3 {
		s.Errorf("positions: %q %v", p, err)
	}
	s.Fill(s, table, of("a", 1, 5), of("a", 2, 6), of("b", 1, 7))
	s.same(s.load(l, captured), []string{"REFRESH +(a,1,5)", "REFRESH +(a,2,6)", "REFRESH +(b,1,7)"})
}

// load reads a base table in chunks of one row.
func (s *seam) load(l source.Layout, captured *source.Captured) (lines []string) {
	s.Helper()
	chunks, err := source.NewPoller(s.Engine(), l, source.Options{Parallel: 2}).Chunks(captured, "")
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = chunks.Close() }()
	var after []string
	for range 100 {
		chunk, err := chunks.Read(s.ctx, after, 1)
		if err != nil || chunk.Failed != nil {
			s.Fatal(err, chunk)
		}
		for i, row := range chunk.Rows {
			lines = append(lines, LineAs("", &change.Event{Table: captured.Table, Op: change.OpRefresh, After: row}))
			after = nil
			for _, k := range chunk.Keys[i] {
				after = append(after, string(k.Raw))
			}
		}
		if chunk.Last {
			return lines
		}
	}
	s.Fatal("the chunks do not end")
	return nil
}
