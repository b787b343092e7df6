package sqlservercdc_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/test/cdcwriter"
)

// pairings draws change rows of one table and what must come of them. The expectation is made together with the rows, row by row of the base table; it
// knows nothing of how they are read.
type pairings struct {
	lsn  int
	rows map[int][]cdcwriter.Row // by LSN
	want []expected
}

type expected struct {
	at   [4]int // commit LSN, command, sequence value, operation
	text string
}

func (p *pairings) add(cmd, seq, op int, key int, text string) {
	p.rows[p.lsn] = append(p.rows[p.lsn], row(cmd, seq, op, key, text, nil))
}

func (p *pairings) expect(cmd, seq, op int, format string, args ...any) {
	p.want = append(p.want, expected{[4]int{p.lsn, cmd, seq, op}, fmt.Sprintf("%d ", p.lsn) + fmt.Sprintf(format, args...)})
}

func (p *pairings) update(cmd, seq, key int) {
	p.add(cmd, seq, 3, key, "was")
	p.add(cmd, seq, 4, key, "is")
	p.expect(cmd, seq, 4, "UPDATE -(%d,was,null) +(%d,is,null)", key, key)
}

// tuple draws the rows of one tuple: what the server writes, and what it should not but might.
func (p *pairings) tuple(rt *rapid.T, cmd, seq, key int) {
	switch rapid.IntRange(0, 5).Draw(rt, "kind") {
	case 0:
		p.add(cmd, seq, 2, key, "in")
		p.expect(cmd, seq, 2, "INSERT +(%d,in,null)", key)
	case 1:
		p.add(cmd, seq, 1, key, "out")
		p.expect(cmd, seq, 1, "DELETE -(%d,out,null)", key)
	case 2: // a key update
		p.add(cmd, seq, 1, key, "k")
		p.add(cmd, seq, 2, key+1, "k")
		p.expect(cmd, seq, 1, "DELETE -(%d,k,null)", key)
		p.expect(cmd, seq, 2, "INSERT +(%d,k,null)", key+1)
	case 3: // one sequence value for the rows of a statement
		for n := range rapid.IntRange(2, 12).Draw(rt, "updates of one tuple") {
			p.update(cmd, seq, key+n)
		}
	case 4: // all at once
		p.add(cmd, seq, 1, key, "a")
		p.expect(cmd, seq, 1, "DELETE -(%d,a,null)", key)
		p.update(cmd, seq, key+1)
		p.add(cmd, seq, 2, key+2, "b")
		p.expect(cmd, seq, 2, "INSERT +(%d,b,null)", key+2)
	default:
		p.update(cmd, seq, key)
	}
}

func drawPairings(rt *rapid.T) *pairings {
	p := &pairings{rows: make(map[int][]cdcwriter.Row)}
	key := 0
	for p.lsn = 2; p.lsn < 2+rapid.IntRange(1, 4).Draw(rt, "transactions"); p.lsn++ {
		for cmd := 1; cmd <= rapid.IntRange(1, 3).Draw(rt, "commands"); cmd++ {
			for _, seq := range rapid.SliceOfNDistinct(rapid.IntRange(1, 9), 1, 4, rapid.ID).Draw(rt, "sequence values") {
				key += 20
				p.tuple(rt, cmd, seq, key)
			}
		}
		rows := rapid.Permutation(p.rows[p.lsn]).Draw(rt, "order of writing")
		p.rows[p.lsn] = rows
	}
	sort.SliceStable(p.want, func(i, j int) bool { return slices.Compare(p.want[i].at[:], p.want[j].at[:]) < 0 })
	return p
}

// texts gives the expected events; those of one position, which have no order, sorted.
func (p *pairings) texts() (out []string) {
	for i := 0; i < len(p.want); {
		n := i
		var same []string
		for ; n < len(p.want) && p.want[n].at == p.want[i].at; n++ {
			same = append(same, p.want[n].text)
		}
		sort.Strings(same)
		out, i = append(out, same...), n
	}
	return out
}

// I7: whatever lies in a transaction, wherever a page ends, at which event reading goes on and up to which it is asked for: every update comes once,
// with its own before-image, and rows of one position never part.
func TestPairsAcrossPageEdges(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"numbered", "old server", "updated server"} {
		t.Run(kind, func(t *testing.T) {
			b := onPeer(t)
			parcel := cdcwriter.Parcel("parcel")
			parcel.Old = kind == "old server"
			c := b.capture(parcel)
			rapid.Check(t, func(rt *rapid.T) { pairsAcrossEdges(b, rt, c, kind) })
		})
	}
}

func pairsAcrossEdges(b *bench, rt *rapid.T, c cdcwriter.Changes, kind string) {
	for _, table := range []string{"parcel_CT", "lsn_time_mapping"} {
		b.Exec(b, "DELETE FROM ["+b.Schema+"].["+table+"]")
	}
	p := drawPairings(rt)
	for lsn, rows := range p.rows {
		if kind != "numbered" { // sequence values alone tell statements apart
			rows = slices.Clone(rows)
			for i := range rows {
				rows[i].Seq += 10 * rows[i].Cmd
			}
		}
		b.commit(lsn, c, rows...)
	}
	if kind == "updated server" {
		before := rapid.IntRange(2, 6).Draw(rt, "updated at")
		b.Exec(b, "UPDATE ["+b.Schema+"].[parcel_CT] SET [__$command_id] = NULL WHERE [__$start_lsn] < "+cdcwriter.Literal(cdcwriter.LSN(before)))
	}
	l := b.layout(options())
	captured := b.only(l)
	captured.PageBytes = rapid.SampledFrom([]int{0, 300, 2000, 100_000}).Draw(rt, "page bytes")
	size := rapid.IntRange(1, 30).Draw(rt, "page size")
	want := p.texts()
	events, failed := b.events(l, captured, "", end, size)
	if got := texts(events); failed != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		rt.Fatalf("%v, got\n  %s\nwant\n  %s", failed, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	from := rapid.IntRange(0, len(events)-1).Draw(rt, "restart behind")
	upto := rapid.IntRange(from, len(events)-1).Draw(rt, "asked up to")
	for from+1 < len(events) && events[from+1].Position == events[from].Position {
		from++
	}
	for upto+1 < len(events) && events[upto+1].Position == events[upto].Position {
		upto++
	}
	rest, failed := b.events(l, captured, events[from].Position, events[upto].Position, size)
	if got := texts(rest); failed != nil || strings.Join(got, "\n") != strings.Join(want[min(from+1, upto+1):upto+1], "\n") {
		rt.Fatalf("behind %d up to %d: %v, got\n  %s\nof\n  %s", from, upto, failed, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func texts(events []change.Event) (out []string) {
	for i := 0; i < len(events); {
		n := i
		var same []string
		for ; n < len(events) && events[n].Position == events[i].Position; n++ {
			same = append(same, line(&events[n]))
		}
		sort.Strings(same)
		out, i = append(out, same...), n
	}
	return out
}

// An update that stands alone has no before-image; a before-image that stands alone is refused wherever the page ends, and what lies before it is good.
func TestCase21_OrphansAmongPairs(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(2, c, row(1, 1, 4, 1, "alone", nil), row(1, 2, 3, 2, "was", nil), row(1, 2, 4, 2, "is", nil))
		b.commit(3, c, row(1, 1, 3, 3, "was", nil), row(1, 1, 3, 4, "was", nil), row(1, 1, 4, 4, "is", nil))
		b.commit(4, c, row(1, 1, 2, 5, "in", nil))
		l := b.layout(options())
		for _, size := range []int{1, 2, 3, 100} {
			events, failed := b.events(l, b.only(l), "", end, size)
			b.want(texts(events), "2 UPDATE +(1,alone,null)", "2 UPDATE -(2,was,null) +(2,is,null)")
			if failed == nil || !strings.Contains(failed.Error(), lsnText(3)) || !strings.Contains(failed.Error(), "before-image without its update") {
				b.Fatalf("size %d: %v", size, failed)
			}
		}
	})
}
