package bridge_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/test/qlikwriter"
)

// filter lets the world's tables have only rows that meet a predicate.
func (w *world) filter(predicate string) {
	w.layout.Filter = func(change.TableID) string { return predicate }
	w.source.LoadFilter = w.layout.Filter
}

// waitEntry waits until a checkpoint entry holds a text.
func (w *world) waitEntry(key, text string) {
	w.Helper()
	deadline := time.After(20 * time.Second)
	for {
		w.ledger.mu.Lock()
		entry, changed := string(w.ledger.entries[key]), w.ledger.changed
		w.ledger.mu.Unlock()
		if strings.Contains(entry, text) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			w.Fatalf("entry %s is %s after 20 s, want %s in it", key, entry, text)
		}
	}
}

// A transaction's counters run over published events, and its last flag comes although its last rows, even of other tables, are left out.
func TestFilterKeepsCountersAndTheLastFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.filter("status <> 'draft'")
	w.create("depot", "parcel")
	w.add("parcel", "I", 1, "t1", 1, "draft")
	w.add("parcel", "I", 2, "t1", 2, "a")
	w.add("depot", "I", 3, "t1", 3, "draft")
	w.add("parcel", "B", 4, "t1", 2, "a")
	w.add("parcel", "U", 4, "t1", 2, "b")
	w.add("parcel", "B", 5, "t1", 2, "b")
	w.add("parcel", "U", 5, "t1", 2, "draft")
	w.add("depot", "I", 6, "t1", 4, "draft")
	w.add("depot", "I", 7, "t2", 5, "draft")
	stop := w.start()
	w.ledger.wait(t, "two records", count(2))
	w.observed.waitDropped(t, source.SkippedFilter, 5)
	w.add("parcel", "I", 8, "t3", 6, "c")
	got := w.ledger.wait(t, "three records", count(3))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got, "parcel 2 2 INSERT +(2,a,null) #1 false v1", "parcel 2 4 UPDATE -(2,a,null) +(2,b,null) #2 true v1", "parcel 6 8 INSERT +(6,c,null) #1 true v1")
	if w.observed.late != 0 {
		t.Errorf("%d late rows", w.observed.late)
	}
}

// Rows that are left out are read once: the position moves past them, durably, and the task is idle then. A purge of all of them is no hole, and
// neither is one while the task is away.
func TestFilterMovesPastWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.filter("status <> 'draft'")
	w.create("parcel")
	w.add("parcel", "I", 1, "t1", 1, "a")
	for n := 2; n <= 30; n++ { // several pages
		w.add("parcel", "I", n, "t2", n, "draft")
	}
	stop := w.start()
	w.ledger.wait(t, "a record", count(1))
	w.observed.waitDropped(t, source.SkippedFilter, 29)
	w.add("parcel", "I", 31, "t2", 31, "draft")
	w.waitEntry("table//parcel", qlikwriter.Seq(31))
	w.writer.Exec(t, "DELETE FROM parcel__ct")
	w.polls(5)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.add("parcel", "I", 40, "t3", 40, "draft")
	w.add("parcel", "I", 41, "t3", 41, "b")
	stop = w.start()
	got := w.ledger.wait(t, "the second record", count(2))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got, "parcel 1 1 INSERT +(1,a,null) #1 true v1", "parcel 41 41 INSERT +(41,b,null) #1 true v1")
	if w.observed.late != 0 || len(w.observed.gaps) != 0 || w.observed.states["parcel"] == bridge.TableFailed || w.observed.dropped[source.SkippedFilter] != 31 {
		t.Errorf("late %d, gaps %v, state %s (%s), left out %v", w.observed.late, w.observed.gaps, w.observed.states["parcel"], w.observed.errors["parcel"], w.observed.dropped)
	}
}

// A backlog that is left out as a whole is passed step by step, not at its end: what was passed is not read again when the way is cut short.
func TestFilterPassesABacklogStepByStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.filter("status <> 'draft'")
	w.source.PageRows = 10
	var mu sync.Mutex
	clock := time.Now()
	w.options.Now = func() time.Time { // a second for each look
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(time.Second)
		return clock
	}
	w.create("depot", "parcel")
	w.add("depot", "I", 1, "t0", 1, "a") // held back all the while
	for n := 2; n <= 200; n++ {
		w.add("parcel", "I", n, "t1", n, "draft")
	}
	w.add("parcel", "I", 201, "t2", 201, "b")
	failed := false
	w.ledger.onCommit = func(n int) error {
		if n == 6 && !failed {
			failed = true
			return errors.New("the broker is away")
		}
		return nil
	}
	stop := w.start()
	got := w.ledger.wait(t, "both records", count(2))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got, "depot 1 1 INSERT +(1,a,null) #1 true v1", "parcel 201 201 INSERT +(201,b,null) #1 true v1")
	if w.ledger.commits < 8 || !failed || w.observed.late != 0 {
		t.Errorf("%d commits, failed %v, late %d", w.ledger.commits, failed, w.observed.late)
	}
}

// A row that becomes visible below rows that were left out is published late; one that is left out itself is no late row.
func TestFilterAndLateRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.filter("status <> 'draft'")
	w.create("parcel")
	w.add("parcel", "I", 5, "t1", 1, "draft")
	stop := w.start()
	w.observed.waitDropped(t, source.SkippedFilter, 1)
	w.waitEntry("table//parcel", qlikwriter.Seq(5))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	stop = w.start() // the look-back outlives a restart
	w.polls(3)
	w.add("parcel", "I", 3, "t0", 2, "draft")
	w.add("parcel", "I", 4, "t0", 3, "late")
	got := w.ledger.wait(t, "the late record", count(1))
	w.add("parcel", "I", 6, "t2", 4, "b")
	got = append(got[:0:0], w.ledger.wait(t, "two records", count(2))...)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got, "parcel 3 4 INSERT +(3,late,null) #1 true v1", "parcel 4 6 INSERT +(4,b,null) #1 true v1")
}

// Another predicate counts for the rows from then on: what was left out before does not turn up as late.
func TestFilterChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.filter("status <> 'draft'")
	w.create("parcel")
	for n, status := range []string{"a", "draft", "b", "draft"} {
		w.add("parcel", "I", n+1, "t1", n+1, status)
	}
	stop := w.start()
	w.ledger.wait(t, "two records", count(2))
	w.waitEntry("table//parcel", qlikwriter.Seq(4))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.filter("status <> 'b'")
	stop = w.start()
	w.polls(10) // the look-back is checked meanwhile
	w.add("parcel", "I", 5, "t2", 5, "draft")
	w.add("parcel", "I", 6, "t2", 6, "b")
	got := w.ledger.wait(t, "three records", count(3))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got[2:], "parcel 5 5 INSERT +(5,draft,null) #1 true v1")
	if w.observed.late != 0 || strings.Contains(string(w.ledger.entries["table//parcel"]), "<>") {
		t.Errorf("%d late rows; entry %s", w.observed.late, w.ledger.entries["table//parcel"])
	}
}

// The full load takes the rows that the predicate of loads keeps.
func TestFilterOfTheFullLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.filter("status <> 'draft'")
	w.options.Load.Mode = bridge.LoadInitial
	w.create("parcel")
	for n, status := range []string{"a", "draft", "b"} {
		w.writer.Exec(t, "INSERT INTO parcel VALUES (%d, '%s', NULL)", n+1, status)
	}
	stop := w.start()
	w.ledger.wait(t, "the load", count(2))
	w.add("parcel", "I", 9, "t2", 9, "c")
	got := w.ledger.wait(t, "three records", count(3))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got, "parcel 1 REFRESH +(1,a,null) #0 false v1", "parcel 3 REFRESH +(3,b,null) #0 false v1", "parcel 9 9 INSERT +(9,c,null) #1 true v1")
}

func TestWrongFilterStopsItsTableAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.layout.Filter = func(id change.TableID) string { return map[string]string{"bad": "nosuch = 1"}[id.Name] }
	w.create("bad", "good")
	w.add("bad", "I", 1, "t1", 1, "a")
	w.add("good", "I", 2, "t2", 2, "b")
	w.start()
	w.ledger.wait(t, "the good record", count(1))
	if err := w.observed.waitState(t, "bad", bridge.TableFailed); !strings.Contains(err, "nosuch") || !strings.Contains(err, "source.filters") {
		t.Errorf("error %q", err)
	}
}

// Whatever the rows, the page size and the commits: what is published is what would be published if the rows that are left out had never been there.
func TestFilterIsAsIfTheRowsHadNeverBeenThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.filter("status <> 'draft'")
		w.source.PageRows = rapid.IntRange(1, 9).Draw(rt, "page")
		w.options.CommitRecords = rapid.IntRange(1, 6).Draw(rt, "commit")
		tables := []string{"a", "b"}
		w.create(tables...)
		counts, last, tx := map[string]int{}, -1, 0
		var want []string
		for n := 1; n <= rapid.IntRange(1, 25).Draw(rt, "rows"); n++ {
			if rapid.IntRange(0, 2).Draw(rt, "next") == 0 {
				tx++
			}
			table, status := rapid.SampledFrom(tables).Draw(rt, "table"), rapid.SampledFrom([]string{"x", "draft", "y"}).Draw(rt, "status")
			id := fmt.Sprint("t", tx)
			line := fmt.Sprintf("%s %d %d INSERT +(%d,%s,null)", table, n, n, n, status)
			oper := "I"
			if rapid.Bool().Draw(rt, "update") {
				w.add(table, "B", n, id, n, "draft")
				oper, line = "U", fmt.Sprintf("%s %d %d UPDATE -(%d,draft,null) +(%d,%s,null)", table, n, n, n, n, status)
			}
			w.add(table, oper, n, id, n, status)
			if status == "draft" {
				continue
			}
			if last >= 0 && !strings.HasSuffix(want[last], id) {
				want[last] += " last"
			}
			counts[id]++
			want, last = append(want, fmt.Sprintf("%s #%d %s", line, counts[id], id)), len(want)
		}
		w.add("a", "I", 99, "end", 99, "end")
		if last >= 0 {
			want[last] += " last"
		}
		for i, line := range want {
			flag, fields := strings.HasSuffix(line, " last"), strings.Fields(strings.TrimSuffix(line, " last"))
			want[i] = fmt.Sprintf("%s %v v1", strings.Join(fields[:len(fields)-1], " "), flag)
		}
		want = append(want, "a 99 99 INSERT +(99,end,null) #1 true v1")
		stop := w.start()
		got := w.ledger.wait(t, "all records", count(len(want)))
		if err := stop(); err != nil {
			rt.Fatal(err)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	})
}
