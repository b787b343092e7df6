package sqlservercdc_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/mssql"
	"ctbridge/test/cdcwriter"
	"ctbridge/test/tdspeer"
)

// queries remembers what the peer is asked, and can fail a query.
type queries struct {
	mu    sync.Mutex
	texts []string
	fail  func(n int, text string) bool
	deny  func(text string) bool

	script func(text string) *tdspeer.Result // nil = as the database answers
}

// overheard is a peer whose queries are remembered.
func overheard(t *testing.T) (*bench, *queries) {
	t.Helper()
	q := &queries{}
	d := tdspeer.NewDatabase(t, "dbo", "cdc")
	peer := tdspeer.Start(t, func(text string, args []any) tdspeer.Result {
		q.mu.Lock()
		q.texts = append(q.texts, text)
		fail := q.fail != nil && q.fail(len(q.texts), text)
		deny := q.deny != nil && q.deny(text)
		var scripted *tdspeer.Result
		if q.script != nil {
			scripted = q.script(text)
		}
		q.mu.Unlock()
		if scripted != nil {
			return *scripted
		}
		if fail {
			return tdspeer.Fail(1205, "Transaction was deadlocked")
		}
		if deny {
			return tdspeer.Fail(229, "The SELECT permission was denied on the object")
		}
		return d.Answer(text, args)
	})
	admin := d.Admin()
	t.Cleanup(func() { admin.Close() })
	return newBench(t, peer.DSN(), &cdcwriter.Writer{DB: admin, Schema: "cdc", Base: "dbo"}), q
}

// since gives the queries that were asked since the last call, those that set a session up left out.
func (q *queries) since() (out []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, text := range q.texts {
		if !strings.HasPrefix(text, "SET ") {
			out = append(out, text)
		}
	}
	q.texts = nil
	return out
}

func TestCase79_DeadlockVictim(t *testing.T) {
	t.Parallel()
	b, q := overheard(t)
	c := b.capture(cdcwriter.Parcel("parcel"))
	for lsn := 2; lsn < 40; lsn++ {
		b.commit(lsn, c, row(1, 1, 2, lsn, "x", nil))
	}
	pages, discoveries := 0, 0
	q.fail = func(_ int, text string) bool {
		switch {
		case strings.Contains(text, "c0"):
			pages++
			return pages == 3
		case strings.Contains(text, "[index_columns]"):
			discoveries++
			return discoveries == 1
		}
		return false
	}
	r := b.run()
	stop := r.start()
	got := r.ledger.wait(t, 38)
	stop()
	if len(got) != 38 || pages < 4 || discoveries < 2 {
		t.Fatalf("%d records, %d pages and %d discoveries asked", len(got), pages, discoveries)
	}
}

func TestCase85_IdleTicksAreCheap(t *testing.T) {
	t.Parallel()
	b, q := overheard(t)
	const tables = 60
	for i := range tables {
		b.capture(cdcwriter.Parcel(fmt.Sprint("parcel", i)))
	}
	b.commit(2, cdcwriter.Changes{})
	l := b.layout(options())
	p := source.NewPoller(b.engine, l, source.Options{PageRows: 10})
	d := b.discover(l)
	progress := make([]source.Progress, 0, tables)
	for _, captured := range d.Tables {
		progress = append(progress, source.Progress{Captured: captured, After: at(2)})
	}
	texts := make(map[string]bool)
	q.since()
	for tick := range 20 {
		b.commit(3+tick, cdcwriter.Changes{})
		if _, err := p.Poll(t.Context(), progress); err != nil {
			t.Fatal(err)
		}
		asked := q.since()
		if tick > 0 && len(asked) > 2 {
			t.Fatalf("tick %d asked %d queries: %q", tick, len(asked), asked)
		}
		for _, text := range asked {
			texts[text] = true
		}
	}
	if len(texts) > 3 { // newest LSN, detection, and the retention margin of the first tick
		t.Errorf("%d different texts", len(texts))
	}
}

// A long range of LSNs, few of them with rows: pages are bounded by rows, and each page asks once for the times of its transactions.
func TestCase86_LongRangeOfLSNs(t *testing.T) {
	t.Parallel()
	b, q := overheard(t)
	c := b.capture(cdcwriter.Parcel("parcel"))
	const transactions, every = 20_000, 100
	tx, err := b.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for lsn := 2; lsn < transactions; lsn++ {
		text := fmt.Sprintf("INSERT INTO [cdc].[lsn_time_mapping] VALUES (%s, '2031-05-10 16:00:00.000', %s)", cdcwriter.Literal(cdcwriter.LSN(lsn)), cdcwriter.Literal(cdcwriter.LSN(lsn)))
		if _, err := tx.Exec(text); err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			if lsn%every != 0 {
				break
			}
			if _, err := tx.Exec(b.InsertText(c, cdcwriter.LSN(lsn), row(1, n, 2, lsn*10+n, "x", nil))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	l := b.layout(options())
	captured := b.only(l)
	q.since()
	const size = 50
	var after change.Position
	total, pages := 0, 0
	for more := true; more; pages++ {
		page, err := l.Page(t.Context(), captured, after, end, size)
		if err != nil || page.Failed != nil || len(page.Events) > size {
			t.Fatalf("%d events, %v, %v", len(page.Events), err, page.Failed)
		}
		for i := range page.Events {
			if ev := &page.Events[i]; !ev.Timestamp.HasContent() || ev.Position <= after {
				t.Fatalf("%s after %s, time %+v", ev.Position, after, ev.Timestamp)
			}
			after = page.Events[i].Position
		}
		total, more = total+len(page.Events), page.More
	}
	const want = (transactions/every - 1) * 10
	if asked := len(q.since()); total != want || asked > 2*pages {
		t.Errorf("%d events of %d in %d pages with %d queries", total, want, pages, asked)
	}
}

// A page inside of one large transaction costs as much at its end as at its beginning.
func BenchmarkPagesOfOneTransaction(b *testing.B) {
	d := tdspeer.NewDatabase(b, "dbo", "cdc")
	peer := tdspeer.Start(b, d.Answer)
	admin := d.Admin()
	defer admin.Close()
	e, err := mssql.Open(mssql.Config{DSN: peer.DSN()})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	ask := openAsk(b, peer.DSN())
	w := &cdcwriter.Writer{DB: admin, Ask: ask, Schema: "cdc", Base: "dbo"}
	w.Enable(b)
	parcel := cdcwriter.Parcel("parcel")
	w.Create(b, parcel)
	w.Capture(b, parcel, "parcel", cdcwriter.LSN(1))
	const rows = 20_000
	c := cdcwriter.Changes{Instance: "parcel", Table: parcel}
	for n := range rows {
		c.Rows = append(c.Rows, row(1+n/100, n, 2, n, "status of a parcel", "12.34"))
	}
	w.Commit(b, cdcwriter.LSN(2), cdcwriter.Day, c)
	l := newLayout(e)
	found, err := l.Discover(b.Context())
	if err != nil || len(found.Tables) != 1 {
		b.Fatalf("%d tables, %v", len(found.Tables), err)
	}
	read := 0
	begin := time.Now()
	for b.Loop() {
		var after change.Position
		for more := true; more; {
			page, err := l.Page(b.Context(), found.Tables[0], after, end, 2000)
			if err != nil || page.Failed != nil {
				b.Fatal(err, page.Failed)
			}
			read += len(page.Events)
			after, more = page.Events[len(page.Events)-1].Position, page.More && len(page.Events) > 0
		}
	}
	b.ReportMetric(float64(read)/time.Since(begin).Seconds(), "rows/s")
}
