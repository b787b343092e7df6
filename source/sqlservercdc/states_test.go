package sqlservercdc_test

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
	"ctbridge/test/tdspeer"
)

// watched is an observer that remembers the states of tables.
type watched struct {
	silent
	mu      sync.Mutex
	states  map[string]bridge.TableState
	why     map[string]error
	changed chan struct{}
}

func newWatched() *watched {
	return &watched{states: make(map[string]bridge.TableState), why: make(map[string]error), changed: make(chan struct{})}
}

func (w *watched) TableChanged(id change.TableID, state bridge.TableState, _ int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states[id.Name], w.why[id.Name] = state, err
	close(w.changed)
	w.changed = make(chan struct{})
}

// wait blocks until a table is in a state, and gives the reason.
func (w *watched) wait(t testing.TB, table string, state bridge.TableState) error {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		is, why, changed := w.states[table], w.why[table], w.changed
		w.mu.Unlock()
		if is == state {
			return why
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s is %s after 20 s, want %s (%v)", table, is, state, why)
		}
	}
}

// Case 28: a database that has gone back is a state of its own, and no reason to read on.
func TestCase28_StateRewound(t *testing.T) {
	everywhere(t, func(b *bench) {
		c, other := b.capture(cdcwriter.Parcel("parcel")), b.capture(cdcwriter.Parcel("other"))
		b.commit(0x99, c, row(1, 1, 2, 1, "a", nil))
		r, heard := b.run(), newWatched()
		r.options.Observer = heard
		stop := r.start()
		r.ledger.wait(b, 1)
		stop()
		for _, table := range []string{"parcel_CT", "lsn_time_mapping"} {
			b.Exec(b, "DELETE FROM ["+b.Schema+"].["+table+"]")
		}
		b.commit(0x50, other, row(1, 1, 2, 2, "b", nil))
		stop = r.start()
		err := heard.wait(b, "parcel", bridge.TableRewound)
		if err == nil || !strings.Contains(err.Error(), "source_rewound") || !strings.Contains(err.Error(), "restored, or failed over") {
			b.Errorf("the reason is %v", err)
		}
		// A replica that lagged behind catches up, and the table streams again by itself.
		b.commit(0x99, c, row(1, 1, 2, 1, "a", nil))
		b.commit(0x9a, c, row(1, 1, 2, 3, "c", nil))
		heard.wait(b, "parcel", bridge.TableStreaming)
		got := bares(r.ledger.wait(b, 3))
		stop()
		sort.Strings(got)
		b.want(got, "other 80 INSERT +(2,b,null) #1 true v1", "parcel 153 INSERT +(1,a,null) #1 true v1", "parcel 154 INSERT +(3,c,null) #1 true v1")
	})
}

// Case 24: a capture job that stands still is a state of every table, and ends with it.
func TestCase24_StateCaptureStopped(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
		r, heard, clock := b.run(), newWatched(), &clock{now: time.Unix(1_900_000_000, 0)}
		log, said := logger()
		r.layout.CaptureTimeout, r.layout.Now = 10*time.Minute, clock.Now
		r.options.Observer, r.options.Log = heard, log
		stop := r.start()
		r.ledger.wait(b, 1)
		heard.wait(b, "parcel", bridge.TableStreaming)
		clock.Move(11 * time.Minute)
		if err := heard.wait(b, "parcel", bridge.TableCaptureStopped); err == nil || !strings.Contains(err.Error(), "sp_cdc_help_jobs") {
			b.Errorf("the reason is %v", err)
		}
		heard.silent.mu.Lock()
		trouble := heard.silent.trouble
		heard.silent.mu.Unlock()
		if trouble == nil {
			b.Error("the source counts as reachable")
		}
		b.commit(0x11, c, row(1, 1, 2, 2, "b", nil))
		heard.wait(b, "parcel", bridge.TableStreaming)
		r.ledger.wait(b, 2)
		stop()
		if said.count("nothing new comes from the source") != 1 || said.count("the source goes on") != 1 {
			b.Errorf("said %s", said.text())
		}
	})
}

// Case 90: rights that are missing are named, with the table and the grant; the other tables go on.
func TestCase90_DeniedWhileRunning(t *testing.T) {
	t.Parallel()
	b, q := overheard(t)
	c, other := b.capture(cdcwriter.Parcel("parcel")), b.capture(cdcwriter.Parcel("other"))
	b.Exec(t, "UPDATE [cdc].[change_tables] SET [role_name] = N'cdc_reader' WHERE [capture_instance] = N'parcel'")
	b.commit(2, c, row(1, 1, 2, 1, "a", nil))
	b.commit(3, other, row(1, 1, 2, 2, "b", nil))
	q.deny = func(text string) bool { return strings.Contains(text, "[parcel_CT]") }
	r, heard := b.run(), newWatched()
	r.options.Observer = heard
	stop := r.start()
	err := heard.wait(t, "parcel", bridge.TableFailed)
	for _, want := range []string{"cdc.parcel_CT", "GRANT SELECT ON SCHEMA::cdc", "gating role cdc_reader"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the reason is %v, want %q in it", err, want)
		}
	}
	b.want(bares(r.ledger.wait(t, 1)), "other 3 INSERT +(2,b,null) #1 true v1")
	q.mu.Lock()
	q.deny = nil
	q.mu.Unlock()
	r.ledger.wait(t, 2)
	stop()
}

// A base table that the login may not see leaves its instance without a name: the problem of an exactly named table says so.
func TestCase90_BaseTableNotSeen(t *testing.T) {
	t.Parallel()
	b := peerBench(t)
	b.capture(cdcwriter.Parcel("parcel"))
	b.Exec(t, "UPDATE [cdc].[change_tables] SET [source_object_id] = 7")
	o := options()
	o.Tables = only{b.ID("parcel")}
	d := b.discover(b.layout(o))
	if len(d.Problems) != 1 {
		t.Fatalf("problems %v", d.Problems)
	}
	for _, want := range []string{"GRANT VIEW DEFINITION ON [dbo].[parcel]", "capture instances parcel", "sp_cdc_enable_table"} {
		if !strings.Contains(d.Problems[0].Error(), want) {
			t.Errorf("%v, want %q in it", d.Problems[0], want)
		}
	}
}

// Case 27: a hole that a person accepts is gone on behind, this once, told like any other; the next hole stops the table again.
func TestCase27_GapAcceptedOnce(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		r, heard := b.run(), newWatched()
		requests := make(chan bridge.Request, 3)
		r.options.Observer, r.options.Requests = heard, requests
		hole := func(at int) {
			b.commit(at, c, row(1, 1, 2, at, "lost", nil))
			b.commit(at+5, c, row(1, 1, 2, at+5, "kept", nil))
			b.CleanUp(b, cdcwriter.LSN(at+3), "parcel")
		}
		b.commit(0x10, c, row(1, 1, 2, 0x10, "first", nil))
		stop := r.start()
		r.ledger.wait(b, 1)
		accept := func(n int64, h checkpoint.Hole) {
			requests <- bridge.Request{Number: n, ID: fmt.Sprint("once ", n), Table: b.ID("parcel"), Action: bridge.ActionReset, Reset: &checkpoint.Reset{To: checkpoint.ResetAcceptGap, Hole: &h}}
		}
		accept(0, checkpoint.Hole{Kind: "rows_purged"})
		r.ledger.until(b, "the first answer", func([]string) bool { return anyEntry(r.ledger, "stands at no hole") })
		stop()
		for n, at := range []int{0x20, 0x30} {
			hole(at)
			stop = r.start()
			err := heard.wait(b, "parcel", bridge.TableFailed)
			if err == nil || !strings.Contains(err.Error(), "rows_purged") || !strings.Contains(err.Error(), "sp_cdc_change_job") {
				b.Errorf("hole %d: %v", n, err)
			}
			told := regexp.MustCompile(`change sequences above (\S+), up to ([^)\s]+)`).FindStringSubmatch(err.Error())
			accept(int64(n+1), checkpoint.Hole{Kind: "rows_purged", From: change.Position(told[1]), To: change.Position(told[2])})
			r.ledger.wait(b, n+2)
			heard.wait(b, "parcel", bridge.TableStreaming)
			stop()
		}
		b.want(bares(r.ledger.committed), "parcel 16 INSERT +(16,first,null) #1 true v1", "parcel 37 INSERT +(37,kept,null) #1 true v1", "parcel 53 INSERT +(53,kept,null) #1 true v1")
		if len(heard.gaps) != 2 {
			b.Errorf("gaps %v, want two", heard.gaps)
		}
	})
}

// anyEntry looks for a text in the checkpoint; the ledger is locked.
func anyEntry(l *ledger, text string) bool {
	for _, value := range l.entries {
		if strings.Contains(string(value), text) {
			return true
		}
	}
	return false
}

// Case 28: what the server knows of its capture job is told with the silence, asked once; where the login may not ask, the silence is told alone.
func TestCase28_WhyTheCaptureJobStands(t *testing.T) {
	t.Parallel()
	b, q := overheard(t)
	c := b.capture(cdcwriter.Parcel("parcel"))
	b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
	asked := 0
	q.script = func(text string) *tdspeer.Result {
		switch {
		case strings.Contains(text, "msdb.dbo.cdc_jobs"):
			asked++
			return &tdspeer.Result{Columns: []tdspeer.Column{{Name: "n", Type: "int"}}, Rows: [][]any{{0}}}
		case strings.Contains(text, "dm_cdc_errors"):
			return &tdspeer.Result{Columns: []tdspeer.Column{{Name: "entered", Type: "nvarchar(30)"}, {Name: "number", Type: "bigint"}, {Name: "message", Type: "nvarchar(1024)"}},
				Rows: [][]any{{"2031-05-10 16:00:00.000", 22859, "Log Scan process failed"}}}
		}
		return nil
	}
	told := func(l *sqlservercdc.Layout, clock *clock) string {
		t.Helper()
		b.poll(l, at(0x10))
		clock.Move(11 * time.Minute)
		for range 3 {
			if w := b.poll(l, at(0x10)); w.Trouble != nil {
				continue
			}
			t.Fatal("no trouble")
		}
		return b.poll(l, at(0x10)).Trouble.Error()
	}
	hands := &clock{now: time.Unix(1_900_000_000, 0)}
	why := told(b.layout(sqlservercdc.Options{CaptureTimeout: 10 * time.Minute, Now: hands.Now}), hands)
	for _, want := range []string{"has not moved for 11m", "sp_cdc_add_job", "22859 at 2031-05-10", "Log Scan process failed"} {
		if !strings.Contains(why, want) {
			t.Errorf("told %q, want %q in it", why, want)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	q.script = nil
	q.deny = func(text string) bool {
		return strings.Contains(text, "msdb") || strings.Contains(text, "dm_cdc_errors")
	}
	if why := told(b.layout(sqlservercdc.Options{CaptureTimeout: 10 * time.Minute, Now: hands.Now}), hands); strings.Contains(why, "add_job") || !strings.Contains(why, "has not moved") {
		t.Errorf("without rights: %q", why)
	}
}
