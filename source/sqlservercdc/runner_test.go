package sqlservercdc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
)

// ledger is a sink in memory. What it was given stays visible when a commit fails, as in Kafka without transactions; committed counts what a
// transactional reader would see.
type ledger struct {
	mu        sync.Mutex
	changed   chan struct{} // closed and replaced after every commit
	published []string      // all, repeats included
	committed []string
	pending   []string
	entries   map[string][]byte
	fail      func(commit int) bool
	commits   int
}

func newLedger() *ledger {
	return &ledger{entries: make(map[string][]byte), changed: make(chan struct{})}
}

func (l *ledger) Open(context.Context) (map[string][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = nil
	out := make(map[string][]byte, len(l.entries))
	for k, v := range l.entries {
		out[k] = v
	}
	return out, nil
}

func (l *ledger) EnsureTopic(context.Context, string, change.TopicRole) error { return nil }
func (l *ledger) EnsureTopics(context.Context, []string, change.TopicRole) (map[string]error, error) {
	return nil, nil
}

func (l *ledger) Publish(_ context.Context, r *change.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, string(r.Value))
	l.published = append(l.published, string(r.Value))
	return nil
}

func (l *ledger) Commit(_ context.Context, entries []checkpoint.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits++
	if l.fail != nil && l.fail(l.commits) {
		return fault.New(fault.Retry, "commit", errors.New("connection lost"), "")
	}
	l.committed, l.pending = append(l.committed, l.pending...), nil
	for _, e := range entries {
		if e.Value == nil {
			delete(l.entries, e.Key)
		} else {
			l.entries[e.Key] = e.Value
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

func (l *ledger) Abort(context.Context) error { return nil }
func (l *ledger) Close() error                { return nil }

// wait blocks until enough records are committed.
func (l *ledger) wait(t testing.TB, n int) []string {
	t.Helper()
	for {
		l.mu.Lock()
		records, changed := append([]string(nil), l.committed...), l.changed
		l.mu.Unlock()
		deadline := time.After(20 * time.Second) // without any commit
		if len(records) >= n {
			return records
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d records after 20 s, want %d:\n%s", len(records), n, strings.Join(records, "\n"))
		}
	}
}

// lines encodes an event as a line: table, event, counter, last flag, version, change sequence.
type lines struct{}

func (lines) Value(context.Context, string, *envelope.Node) (bridge.Encoder, error) {
	return lines{}, nil
}
func (lines) Key(context.Context, string, *envelope.Node) (bridge.Encoder, error) {
	return lines{}, nil
}

func (lines) Append(dst []byte, ev *change.Event) ([]byte, error) {
	return fmt.Appendf(dst, "%s %s %s #%d %v v%d|%s", ev.ChangeSequence, ev.Table.ID.Name, line(ev), ev.Counter, ev.Last, ev.Table.Version, ev.Position), nil
}

// plain is an envelope without shape.
type plain struct{}

func (plain) Declare(t *change.Table) (*envelope.Declaration, error) {
	return &envelope.Declaration{SchemaID: fmt.Sprint("v", t.Version), Value: &envelope.Node{}}, nil
}

func (plain) Expand(dst []*change.Event, ev *change.Event) []*change.Event { return append(dst, ev) }

// silent hears nothing but whether the source is in order.
type silent struct {
	mu      sync.Mutex
	trouble error
	errors  []error
	gaps    []bridge.Gap
}

func (s *silent) Gap(_ change.TableID, gap bridge.Gap) {
	s.mu.Lock()
	s.gaps = append(s.gaps, gap)
	s.mu.Unlock()
}

func (*silent) Polled(time.Duration)                       {}
func (*silent) RowsRead(change.TableID, int)               {}
func (*silent) Committed(bridge.Commit)                    {}
func (*silent) Late(change.TableID, int)                   {}
func (*silent) Dropped(change.TableID, string, int)        {}
func (*silent) Lag(change.TableID, time.Duration)          {}
func (*silent) SinkReachable(error)                        {}
func (*silent) Pending(bool)                               {}
func (*silent) Horizon(change.Position)                    {}
func (*silent) Reached(change.TableID, change.Position)    {}
func (*silent) Loaded(change.TableID, bridge.LoadProgress) {}
func (s *silent) SourceReachable(err error)                { s.mu.Lock(); s.trouble = err; s.mu.Unlock() }
func (s *silent) Failed(bridge.Stage, fault.Class, error)  {}
func (s *silent) TableChanged(_ change.TableID, _ bridge.TableState, _ int, err error) {
	s.mu.Lock()
	s.errors = append(s.errors, err)
	s.mu.Unlock()
}

// run is a bridge from the bench's tables into a ledger.
type run struct {
	*bench
	ledger  *ledger
	source  source.Options
	options bridge.Options
	layout  sqlservercdc.Options
	failing bool // commits fail, so that draining may
}

func (b *bench) run() *run {
	r := &run{bench: b, ledger: newLedger(), source: source.Options{PageRows: 7, Parallel: 2, MaxBytes: 1 << 20}}
	r.options = bridge.Options{
		Task: "test", RetryPause: time.Millisecond, PollInterval: time.Millisecond, Rediscover: time.Minute, StartupTimeout: 20 * time.Second, ShutdownTimeout: 10 * time.Second,
		CommitRecords: 5, CommitBytes: 1 << 20, MaxRecordBytes: 1 << 20, Truncate: bridge.TruncateSkip,
		Outputs: []bridge.Output{{
			Topic:   func(id change.TableID) (string, error) { return id.Name, nil },
			KeyMode: envelope.KeyPrimaryKey, Envelope: plain{}, Format: lines{}, Notices: lines{},
		}},
		Observer: &silent{}, Log: slog.New(slog.DiscardHandler),
	}
	return r
}

// start runs the bridge; stop drains it.
func (r *run) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	runner := bridge.New(source.NewPoller(r.engine, r.bench.layout(r.layout), r.source), r.ledger, r.options)
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil && !r.failing {
				r.Error(err)
			}
		})
	}
	r.Cleanup(stop)
	return stop
}

// bare is a record without its change sequence and position.
func bare(record string) string {
	_, rest, _ := strings.Cut(record, " ")
	text, _, _ := strings.Cut(rest, "|")
	return text
}

func bares(records []string) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = bare(r)
	}
	return out
}

// Random transactions over several tables, random page sizes, failing commits and restarts: what is published is the log, each event once for a reader of
// commits; the change sequences rise, and an event that is published again has the one it had.
func TestPublishedStreamEqualsTheLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) { streamEqualsLog(peerBench(t), rt) })
}

func streamEqualsLog(b *bench, rt *rapid.T) {
	var tables []cdcwriter.Changes
	for _, name := range []string{"a", "b", "c"} {
		tables = append(tables, b.capture(cdcwriter.Parcel(name)))
	}
	want := randomLog(b, rt, tables)
	r := b.run()
	r.failing = true
	r.source.PageRows = rapid.IntRange(1, 9).Draw(rt, "page")
	r.options.CommitRecords = rapid.IntRange(1, 9).Draw(rt, "commit")
	failing := rapid.SliceOfN(rapid.IntRange(1, 30), 0, 6).Draw(rt, "failing commits")
	r.ledger.fail = func(n int) bool {
		for _, f := range failing {
			if f == n {
				return true
			}
		}
		return false
	}
	for got := -1; got < len(want); {
		stop := r.start()
		got = len(r.ledger.wait(b, min(got+1+rapid.IntRange(0, len(want)).Draw(rt, "until"), len(want))))
		stop()
	}
	if got := bares(r.ledger.committed); strings.Join(got, "\n") != strings.Join(want, "\n") {
		rt.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	sequences := make(map[string]string)
	for _, record := range r.ledger.published {
		sequence, position := record[:35], record[strings.IndexByte(record, '|'):]
		if had, again := sequences[position]; again && had != sequence {
			rt.Fatalf("%s was published with the change sequences %s and %s", position, had, sequence)
		}
		sequences[position] = sequence
	}
	last := ""
	for _, record := range r.ledger.committed {
		if record[:35] <= last || strings.Trim(record[:35], "0123456789") != "" {
			rt.Fatalf("change sequence %s follows %s", record[:35], last)
		}
		last = record[:35]
	}
}

// randomLog writes transactions and returns what must be published. The server's clock stands still or goes back at times.
func randomLog(b *bench, rt *rapid.T, tables []cdcwriter.Changes) (want []string) {
	clock := cdcwriter.Day
	lsn := 1
	for range rapid.IntRange(1, 12).Draw(rt, "transactions") {
		lsn += rapid.IntRange(1, 40).Draw(rt, "lsn step")
		clock = clock.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 3, 10, 4000, -3_600_000}).Draw(rt, "clock")) * time.Millisecond)
		byTable := make([]cdcwriter.Changes, len(tables))
		copy(byTable, tables)
		events := rapid.IntRange(0, 12).Draw(rt, "events")
		seq, cmd := 0, 1
		for n := 1; n <= events; n++ {
			if rapid.IntRange(0, 2).Draw(rt, "statement") == 0 {
				cmd++
				seq = rapid.IntRange(0, 5).Draw(rt, "seq")
			}
			seq++
			i := rapid.IntRange(0, len(tables)-1).Draw(rt, "table")
			c := &byTable[i]
			text := ""
			switch rapid.IntRange(0, 2).Draw(rt, "op") {
			case 0:
				c.Rows = append(c.Rows, row(cmd, seq, 2, n, "in", nil))
				text = fmt.Sprintf("INSERT +(%d,in,null)", n)
			case 1:
				c.Rows = append(c.Rows, row(cmd, seq, 3, n, "was", nil), row(cmd, seq, 4, n, "is", nil))
				text = fmt.Sprintf("UPDATE -(%d,was,null) +(%d,is,null)", n, n)
			default:
				c.Rows = append(c.Rows, row(cmd, seq, 1, n, "out", nil))
				text = fmt.Sprintf("DELETE -(%d,out,null)", n)
			}
			want = append(want, fmt.Sprintf("%s %d %s #%d %v v1", c.Table.Name, lsn, text, n, n == events))
		}
		b.Commit(b, cdcwriter.LSN(lsn), clock, byTable...)
	}
	b.Commit(b, cdcwriter.LSN(lsn+1), clock)
	return want
}

func TestCase04_TailOfATransactionAfterAKill(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		var rows []cdcwriter.Row
		var want []string
		for id := 1; id <= 10; id++ {
			rows = append(rows, row(1, id, 2, id, "x", nil))
			want = append(want, fmt.Sprintf("parcel 80 INSERT +(%d,x,null) #%d %v v1", id, id, id == 10))
		}
		b.commit(0x50, c, rows...)
		r := b.run()
		r.options.CommitRecords = 4
		r.ledger.fail = func(n int) bool { return n == 2 }
		stop := r.start()
		got := bares(r.ledger.wait(b, 10))
		stop()
		b.want(got, want...)
	})
}

func TestCase08_TwoUpdatesOfOneRowInOneTransaction(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(2, c, row(1, 9, 3, 9, "a", nil), row(1, 9, 4, 9, "b", nil), row(2, 1, 3, 9, "b", nil), row(2, 1, 4, 9, "c", nil))
		r := b.run()
		stop := r.start()
		got := r.ledger.wait(b, 2)
		stop()
		if got[0][:35] >= got[1][:35] || !strings.Contains(got[1], "+(9,c,null)") || !strings.HasPrefix(got[0], "20310510160002000000000000000000001") {
			b.Fatalf("%s\n%s", got[0], got[1])
		}
	})
}

func TestCase19_TransactionClosesWithoutAnotherRow(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		r := b.run()
		stop := r.start()
		b.commit(2, c, row(1, 1, 2, 1, "a", nil), row(1, 2, 2, 2, "b", nil))
		for lsn := 3; lsn < 6; lsn++ {
			b.commit(lsn, c)
		}
		got := bares(r.ledger.wait(b, 2))
		stop()
		b.want(got, "parcel 2 INSERT +(1,a,null) #1 false v1", "parcel 2 INSERT +(2,b,null) #2 true v1")
	})
}

func TestCase32_OneVersionMoreAtTheSwitch(t *testing.T) {
	everywhere(t, func(b *bench) {
		switched(b)
		r := b.run()
		stop := r.start()
		got := bares(r.ledger.wait(b, 10))
		stop()
		var want []string
		for lsn := 0x10; lsn <= 0x40; lsn += 5 {
			if lsn < 0x25 {
				want = append(want, fmt.Sprintf("parcel %d INSERT +(%d,x,null) #1 true v1", lsn, lsn))
			} else {
				want = append(want, fmt.Sprintf("parcel %d INSERT +(%d,x,null,%d) #1 true v2", lsn, lsn, lsn))
			}
		}
		b.want(got, want...)
	})
}

// The new instance comes while the bridge runs: rows from its start on are read from it, all others from the old one.
func TestCase32_SwitchWhileRunning(t *testing.T) {
	everywhere(t, func(b *bench) {
		old := b.capture(cdcwriter.Parcel("parcel"))
		r := b.run()
		log, said := logger()
		r.options.Log = log
		stop := r.start()
		b.commit(0x10, old, row(1, 1, 2, 1, "x", nil))
		r.ledger.wait(b, 1)
		stop()
		b.commit(0x20, old, row(1, 1, 2, 2, "x", nil))
		grown := cdcwriter.Parcel("parcel")
		grown.Columns = append(grown.Columns, cdcwriter.Column{Name: "weight", Type: "int"})
		b.Capture(b, grown, "parcel_v2", cdcwriter.LSN(0x25))
		rows := func(id int) []cdcwriter.Changes {
			return []cdcwriter.Changes{
				{Instance: "parcel", Table: old.Table, Rows: []cdcwriter.Row{row(1, 1, 2, id, "x", nil)}},
				{Instance: "parcel_v2", Table: grown, Rows: []cdcwriter.Row{row(1, 1, 2, id, "x", nil, id)}},
			}
		}
		b.Commit(b, cdcwriter.LSN(0x25), cdcwriter.Day, rows(3)...)
		b.Commit(b, cdcwriter.LSN(0x26), cdcwriter.Day, rows(4)...)
		stop = r.start()
		r.ledger.wait(b, 4)
		stop()
		// The old instance goes; nothing of it is wanted any more.
		b.Exec(b, "DELETE FROM ["+b.Schema+"].[change_tables] WHERE [capture_instance] = N'parcel'")
		b.Exec(b, "DROP TABLE ["+b.Schema+"].[parcel_CT]")
		b.Commit(b, cdcwriter.LSN(0x27), cdcwriter.Day, rows(5)[1])
		stop = r.start()
		got := bares(r.ledger.wait(b, 5))
		stop()
		b.want(got, "parcel 16 INSERT +(1,x,null) #1 true v1", "parcel 32 INSERT +(2,x,null) #1 true v1", "parcel 37 INSERT +(3,x,null,3) #1 true v2",
			"parcel 38 INSERT +(4,x,null,4) #1 true v2", "parcel 39 INSERT +(5,x,null,5) #1 true v2")
		if said.count("level=WARN") != 0 || said.count("another change table goes on") != 1 {
			b.Errorf("a planned switch is news, no reason to warn: %s", said.text())
		}
	})
}

// A hole that the clean-up has made is told once; then the rows that are left come. With fail nothing of the table is published.
func TestCase25_HoleByPolicy(t *testing.T) {
	for _, policy := range []bridge.ResetPolicy{bridge.ResetContinue, bridge.ResetFail} {
		t.Run(string(policy), func(t *testing.T) {
			b := onPeer(t)
			c, other := b.capture(cdcwriter.Parcel("parcel")), b.capture(cdcwriter.Parcel("other"))
			b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
			r, heard := b.run(), &silent{}
			r.options.OnReset, r.options.Observer = policy, heard
			stop := r.start()
			r.ledger.wait(b, 1)
			stop()
			b.commit(0x20, c, row(1, 1, 2, 2, "lost", nil))
			b.commit(0x45, c, row(1, 1, 2, 3, "b", nil))
			b.commit(0x44, other, row(1, 1, 2, 4, "c", nil))
			b.CleanUp(b, cdcwriter.LSN(0x40), "parcel")
			for range 2 {
				stop = r.start()
				r.ledger.wait(b, map[bridge.ResetPolicy]int{bridge.ResetContinue: 3, bridge.ResetFail: 2}[policy])
				stop()
			}
			want := []string{"parcel 16 INSERT +(1,a,null) #1 true v1", "other 68 INSERT +(4,c,null) #1 true v1", "parcel 69 INSERT +(3,b,null) #1 true v1"}
			gaps := 1
			if policy == bridge.ResetFail {
				want, gaps = want[:2], 0
			}
			b.want(bares(r.ledger.committed), want...)
			if len(heard.gaps) != gaps {
				t.Errorf("gaps %v, want %d", heard.gaps, gaps)
			}
		})
	}
}

// What quiet tables have been read up to is in the checkpoint, though nothing is published.
func TestCase23_QuietTablesAreRemembered(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
		r := b.run()
		clock := &clock{now: time.Unix(1_900_000_000, 0)}
		r.layout.Now = func() time.Time { clock.Move(time.Second); return clock.Now() }
		stop := r.start()
		r.ledger.wait(b, 1)
		b.commit(0x95, c)
		deadline := time.After(20 * time.Second)
		for saved := ""; !strings.Contains(saved, lsnText(0x95)); {
			r.ledger.mu.Lock()
			saved, changed := string(r.ledger.entries["layout"]), r.ledger.changed
			r.ledger.mu.Unlock()
			if strings.Contains(saved, lsnText(0x95)) {
				break
			}
			select {
			case <-changed:
			case <-deadline:
				b.Fatalf("remembered only %q", saved)
			}
		}
		stop()
		b.CleanUp(b, cdcwriter.LSN(0x90), "parcel")
		b.commit(0x96, c, row(1, 1, 2, 2, "b", nil))
		stop = r.start()
		r.ledger.wait(b, 2)
		stop()
	})
}
