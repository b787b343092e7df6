package bridge_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// asks is a world that takes requests; ask sends one.
func asks(t testing.TB, o bridge.LoadOptions) (w *world, ask func(action bridge.Action, table, where string)) {
	w = newWorld(t)
	requests := make(chan bridge.Request, 10)
	w.options.Load, w.options.Requests = o, requests
	n := int64(0)
	return w, func(action bridge.Action, table, where string) {
		requests <- bridge.Request{Number: n, ID: "r" + string(rune('0'+n)), Table: change.TableID{Name: table}, Action: action, Where: where}
		n++
	}
}

// loadOf gives the committed load of a table.
func (w *world) loadOf(table string) checkpoint.Load {
	w.Helper()
	entries, _ := w.ledger.snapshot()
	state, err := checkpoint.Decode(entries, checkpoint.Shard{}, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	if load := state.Table(change.TableID{Name: table}).Load; load != nil {
		return *load
	}
	return checkpoint.Load{}
}

func (l *ledger) snapshot() (map[string][]byte, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string][]byte)
	for k, v := range l.entries {
		out[k] = v
	}
	return out, len(l.records)
}

// waitLoad blocks until the committed load satisfies a condition.
func (w *world) waitLoad(table, what string, done func(l checkpoint.Load) bool) {
	w.Helper()
	w.ledger.wait(w, what, func([]string) bool { return done(w.loadOf(table)) })
}

// A reload of one table, with a condition, of a task that streams: the others go on, changes follow the rows, a restart does not load again.
func TestReloadOnRequest(t *testing.T) {
	t.Parallel()
	w, ask := asks(t, bridge.LoadOptions{ChunkRows: 2})
	w.create("a", "b")
	w.preload("a", 9)
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("b", "I", 2, "t2", 1, "x")
	stop := w.start()
	w.ledger.wait(t, "the changes", count(2))
	ask(bridge.ActionLoad, "a", "t.id > 4")
	w.waitLoad("a", "the load", func(l checkpoint.Load) bool { return l.State == checkpoint.LoadDone })
	w.add("a", "I", 3, "t3", 10, "x")
	got := w.ledger.wait(t, "the next change", count(8))
	w.want(refreshed(got, "a"), "5", "6", "7", "8", "9")
	if load := w.loadOf("a"); load.Request != "r0" || load.Rows != 5 || load.Where != "t.id > 4" {
		t.Errorf("the load is %+v", load)
	}
	stop()
	w.add("b", "I", 4, "t4", 2, "x")
	ask(bridge.ActionCancel, "a", "")
	stop = w.start()
	w.waitLoad("a", "the refusal", func(l checkpoint.Load) bool { return l.Request == "r1" })
	got = w.ledger.wait(t, "the change of b", count(9))
	stop()
	if load := w.loadOf("a"); len(got) != 9 || load.State != checkpoint.LoadDone || !strings.Contains(load.Note, "no load to cancel") {
		t.Errorf("%d records, load %+v", len(got), load)
	}
}

// Pause, resume and cancel; a paused reload lets the table stream.
func TestPauseResumeCancel(t *testing.T) {
	t.Parallel()
	w, ask := asks(t, bridge.LoadOptions{RowsPerSecond: 5})
	w.create("a")
	w.preload("a", 20)
	w.start()
	ask(bridge.ActionLoad, "a", "")
	w.ledger.wait(t, "a chunk", count(5))
	ask(bridge.ActionLoad, "a", "")
	w.waitLoad("a", "the refusal", func(l checkpoint.Load) bool { return l.Request == "r1" && strings.Contains(l.Note, "under way") })
	ask(bridge.ActionPause, "a", "")
	w.waitLoad("a", "the pause", func(l checkpoint.Load) bool { return l.State == checkpoint.LoadPaused })
	w.add("a", "I", 1, "t1", 21, "meanwhile")
	got := w.ledger.wait(t, "a change", func(r []string) bool { return slices.Contains(r, "a 21 1 INSERT +(21,meanwhile,null) #1 true v1") })
	rows := len(refreshed(got, "a"))
	ask(bridge.ActionResume, "a", "")
	w.ledger.wait(t, "more rows", func(r []string) bool { return len(refreshed(r, "a")) > rows })
	ask(bridge.ActionCancel, "a", "")
	w.waitLoad("a", "the end", func(l checkpoint.Load) bool { return l.State == checkpoint.LoadCancelled })
	w.add("a", "I", 2, "t2", 22, "after")
	got = w.ledger.wait(t, "a change", func(r []string) bool { return slices.Contains(r, "a 22 2 INSERT +(22,after,null) #1 true v1") })
	keys := refreshed(got, "a")
	if len(keys) >= 20 || w.observed.late != 0 {
		t.Errorf("%d rows, %d late", len(keys), w.observed.late)
	}
	w.want(keys, numbers(len(keys))...)
}

// A condition that the database refuses ends its load, not the table.
func TestBadConditionEndsItsLoad(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"no such column = 1", "abs(-9223372036854775807 - t.id) > 0"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			w, ask := asks(t, bridge.LoadOptions{})
			w.create("a")
			w.preload("a", 3)
			w.start()
			ask(bridge.ActionLoad, "a", where)
			w.waitLoad("a", "the end", func(l checkpoint.Load) bool { return l.State == checkpoint.LoadCancelled && l.Note != "" })
			w.add("a", "I", 1, "t1", 4, "x")
			w.ledger.wait(t, "a change", count(1))
		})
	}
}

// A request whose answer could not be committed is answered by the next session, once.
func TestRequestOutlivesAFailure(t *testing.T) {
	t.Parallel()
	w, ask := asks(t, bridge.LoadOptions{})
	w.create("a")
	w.preload("a", 3)
	w.ledger.onCommit = func(n int) error {
		if n <= 2 {
			return fault.New(fault.Retry, "sink", errors.New("away"), "")
		}
		return nil
	}
	ask(bridge.ActionLoad, "a", "")
	w.start()
	got := w.ledger.wait(t, "the rows", count(3))
	w.want(refreshed(got, "a"), "1", "2", "3")
}
