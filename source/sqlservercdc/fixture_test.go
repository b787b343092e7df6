package sqlservercdc_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/layouttest"
	"ctbridge/source/mssql"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
	"ctbridge/test/tdspeer"
)

// bench is an engine on a database with an empty hand-made schema of change tables. The wire, the driver and the engine are real; the server is the
// peer, or a real one where there is one.
type bench struct {
	*testing.T
	engine source.Engine
	*cdcwriter.Writer
	observed *observed
}

// everywhere runs a check on the peer and, where CTBRIDGE_TEST_SQLSERVER_DSN is set, on a server.
func everywhere(t *testing.T, check func(b *bench)) {
	t.Helper()
	t.Run("peer", func(t *testing.T) { check(onPeer(t)) })
	if dsn := os.Getenv("CTBRIDGE_TEST_SQLSERVER_DSN"); dsn != "" {
		t.Run("server", func(t *testing.T) { check(onServer(t, dsn)) })
	}
}

// onEach runs a suite that opens a database for each of its checks.
func onEach(t *testing.T, suite func(t *testing.T, open func(t *testing.T) *bench)) {
	t.Helper()
	t.Run("peer", func(t *testing.T) { suite(t, onPeer) })
	if dsn := os.Getenv("CTBRIDGE_TEST_SQLSERVER_DSN"); dsn != "" {
		t.Run("server", func(t *testing.T) { suite(t, func(t *testing.T) *bench { return onServer(t, dsn) }) })
	}
}

func onPeer(t *testing.T) *bench {
	t.Helper()
	t.Parallel()
	return peerBench(t)
}

func peerBench(t *testing.T) *bench {
	t.Helper()
	d := tdspeer.NewDatabase(t, "dbo", "cdc")
	peer := tdspeer.Start(t, d.Answer)
	admin := d.Admin()
	t.Cleanup(func() { admin.Close() })
	return newBench(t, peer.DSN(), &cdcwriter.Writer{DB: admin, Schema: "cdc", Base: "dbo"})
}

var scratch atomic.Int64

func onServer(t *testing.T, dsn string) *bench {
	t.Helper()
	admin, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("cdc%d_%d", os.Getpid(), scratch.Add(1))
	w := &cdcwriter.Writer{DB: admin, Schema: name, Base: name + "b"}
	w.Exec(t, "CREATE SCHEMA ["+w.Schema+"]")
	w.Exec(t, "CREATE SCHEMA ["+w.Base+"]")
	t.Cleanup(func() { drop(t, w); admin.Close() })
	return newBench(t, dsn, w)
}

// onBabelfish tells that the server is a stand-in that executes T-SQL.
func (b *bench) onBabelfish() bool {
	b.Helper()
	if b.Schema == "cdc" {
		return false // the peer
	}
	var version string
	if err := b.Ask.QueryRow("SELECT @@VERSION").Scan(&version); err != nil {
		b.Fatal(err)
	}
	return strings.HasPrefix(version, "Babelfish")
}

func drop(t *testing.T, w *cdcwriter.Writer) {
	for _, schema := range []string{w.Schema, w.Base} {
		rows, err := w.DB.Query("SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = @p1", schema)
		if err != nil {
			t.Error(err)
			return
		}
		var names []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Error(err)
			}
			names = append(names, name)
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		for _, name := range names {
			w.Exec(t, "DROP TABLE ["+schema+"].["+name+"]")
		}
		w.Exec(t, "DROP SCHEMA ["+schema+"]")
	}
}

func newBench(t *testing.T, dsn string, w *cdcwriter.Writer) *bench {
	t.Helper()
	ask, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := mssql.Open(mssql.Config{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(); ask.Close() })
	w.Ask = ask
	b := &bench{T: t, engine: engine, Writer: w, observed: &observed{}}
	w.Enable(t)
	return b
}

// observed remembers what the layout tells.
type observed struct {
	age, margin          time.Duration
	notCaptured, oddNull int
	leftOut              int
}

func (o *observed) CaptureAge(age time.Duration)                         { o.age = age }
func (o *observed) RetentionMargin(_ change.TableID, left time.Duration) { o.margin = left }
func (o *observed) NotCaptured(_ change.TableID, n int)                  { o.notCaptured = n }
func (o *observed) LeftOut(_ change.TableID, n int)                      { o.leftOut = n }
func (o *observed) NullInNotNull(_ change.TableID, n int)                { o.oddNull += n }

// inSchema chooses the tables of a schema, and names some exactly.
type inSchema struct {
	schema string
	exact  []change.TableID
}

func (s inSchema) Match(id change.TableID) bool { return id.Schema == s.schema }
func (s inSchema) Exact() []change.TableID      { return s.exact }

func (b *bench) layout(o sqlservercdc.Options) *sqlservercdc.Layout {
	return b.logged(o, slog.New(slog.DiscardHandler))
}

func (b *bench) logged(o sqlservercdc.Options, log *slog.Logger) *sqlservercdc.Layout {
	if o.Tables == nil {
		o.Tables = inSchema{schema: b.Base}
	}
	o.Schema, o.Observer = b.Schema, b.observed
	return sqlservercdc.New(b.engine, o, log)
}

func (b *bench) discover(l *sqlservercdc.Layout) source.Discovery {
	b.Helper()
	d, err := l.Discover(b.Context())
	if err != nil {
		b.Fatalf("discover: %v", err)
	}
	return d
}

// only discovers exactly one readable table.
func (b *bench) only(l *sqlservercdc.Layout) *source.Captured {
	b.Helper()
	d := b.discover(l)
	if len(d.Tables) != 1 || len(d.Problems) != 0 {
		b.Fatalf("discovered %d tables, problems %v; want one table", len(d.Tables), d.Problems)
	}
	return d.Tables[0]
}

// capture makes a base table with one capture instance named like it.
func (b *bench) capture(t cdcwriter.Table) cdcwriter.Changes {
	b.Helper()
	b.Create(b, t)
	b.Capture(b, t, t.Name, cdcwriter.LSN(1))
	return cdcwriter.Changes{Instance: t.Name, Table: t}
}

// commit writes one transaction of a table.
func (b *bench) commit(lsn int, c cdcwriter.Changes, rows ...cdcwriter.Row) {
	b.Helper()
	c.Rows = rows
	b.Commit(b, cdcwriter.LSN(lsn), cdcwriter.Day.Add(time.Duration(lsn)*time.Second), c)
}

// row makes a change row.
func row(cmd, seq, op int, values ...any) cdcwriter.Row {
	return cdcwriter.Row{Cmd: cmd, Seq: seq, Op: op, Values: values}
}

// end lies behind every position.
const end = change.Position("ffffffffffffffffffff:ffffffff:ffffffffffffffffffff:9")

// events reads a table in pages of a size.
func (b *bench) events(l *sqlservercdc.Layout, t *source.Captured, after, upto change.Position, size int) (out []change.Event, failed error) {
	b.Helper()
	for pages := 0; ; pages++ {
		if pages > 1000 {
			b.Fatal("the pages do not end")
		}
		page, err := l.Page(b.Context(), t, after, upto, size)
		if err != nil {
			b.Fatalf("page after %s: %v", after, err)
		}
		if page.More && len(page.Events) == 0 {
			b.Fatal("an empty page promises more")
		}
		out = append(out, page.Events...)
		if n := len(page.Events); n > 0 {
			after = page.Events[n-1].Position
		}
		if page.Failed != nil || !page.More {
			return out, page.Failed
		}
	}
}

// all reads a table from its beginning in pages of several sizes, which must all give the same, and returns one line per event.
func (b *bench) all(l *sqlservercdc.Layout, t *source.Captured) []string {
	b.Helper()
	var first []string
	for _, size := range []int{1, 2, 3, 100} {
		events, failed := b.events(l, t, "", end, size)
		if failed != nil {
			b.Fatal(failed)
		}
		var lines []string
		for i := range events {
			lines = append(lines, line(&events[i]))
		}
		if first == nil {
			first = lines
		}
		b.want(lines, first...)
	}
	return first
}

func (b *bench) want(got []string, want ...string) {
	b.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// line shows an event: number of its LSN, operation, row before and after.
func line(ev *change.Event) string {
	if ev.Op == change.OpRefresh {
		return layouttest.LineAs("", ev)
	}
	n, _ := strconv.ParseInt(string(ev.Position[:16]), 16, 64)
	return layouttest.LineAs(strconv.FormatInt(n, 10), ev)
}

// selects is how the engine reads the columns of a table.
func selects(e source.Engine, t *source.Captured) (out []string) {
	for _, c := range t.Table.Columns {
		out = append(out, e.Column("t", c))
	}
	return out
}

func openAsk(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlserver", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func newLayout(e source.Engine) *sqlservercdc.Layout {
	return sqlservercdc.New(e, sqlservercdc.Options{Tables: inSchema{schema: "dbo"}}, slog.New(slog.DiscardHandler))
}
