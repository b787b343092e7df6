package bridge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/test/qlikwriter"
)

// kept gives the committed state of a table.
func (w *world) kept(table string) *checkpoint.Table {
	w.Helper()
	entries, _ := w.ledger.snapshot()
	state, err := checkpoint.Decode(entries, checkpoint.Shard{}, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	return state.Table(change.TableID{Name: table})
}

// ask leaves a reset in the checkpoint of a task that does not run.
func (w *world) askStopped(table string, r checkpoint.Reset) {
	w.Helper()
	e := w.kept(table).Ask(r)
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	w.ledger.entries[e.Key] = e.Value
}

// settled waits until a reset is done.
func (w *world) settled(table, id string) checkpoint.Reset {
	w.Helper()
	var out checkpoint.Reset
	w.ledger.wait(w, "the reset "+id, func([]string) bool {
		found, done := w.kept(table).Resets.Find(id)
		if done {
			out = *found
		}
		return done
	})
	return out
}

// Each target, of a task that stands still and of one that runs: what is published again or skipped, what the record says, and that the move does not
// stay on.
func TestResetTargets(t *testing.T) {
	t.Parallel()
	all := sequenceOf(1, 6)
	for name, c := range map[string]struct {
		reset  checkpoint.Reset
		became change.Position
		again  []string // of rows 1..6, published before
	}{
		"earliest":   {checkpoint.Reset{To: checkpoint.ResetEarliest}, "", all},
		"back":       {checkpoint.Reset{To: checkpoint.ResetPosition, After: change.Position(qlikwriter.Seq(4))}, change.Position(qlikwriter.Seq(4)), sequenceOf(5, 6)},
		"now":        {checkpoint.Reset{To: checkpoint.ResetNow}, change.Position(qlikwriter.Seq(6)), nil},
		"forward":    {checkpoint.Reset{To: checkpoint.ResetPosition, After: change.Position(qlikwriter.Seq(7))}, change.Position(qlikwriter.Seq(7)), nil},
		"forget":     {checkpoint.Reset{To: checkpoint.ResetForget}, "", all},
		"newer kind": {checkpoint.Reset{To: "sideways"}, change.Position(qlikwriter.Seq(6)), nil},
	} {
		for _, running := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " running ", running), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				log := w.logged()
				requests := make(chan bridge.Request, 1)
				w.options.Requests = requests
				w.create("parcel", "depot")
				w.published("parcel", 6)
				r := c.reset
				r.ID, r.By, r.Reason, r.Asked = "r1", "ann@desk", "a test", time.Unix(1_900_000_000, 0).UTC()
				var stop func() error
				if running {
					stop = w.start()
					requests <- bridge.Request{ID: "r1", Table: change.TableID{Name: "parcel"}, Action: bridge.ActionReset, Reset: &r}
				} else {
					w.askStopped("parcel", r)
					stop = w.start()
				}
				done := w.settled("parcel", "r1")
				w.fill("parcel", 7, 8)
				want := append(slices.Clone(all), c.again...)
				if name != "forward" {
					want = append(want, "7")
				}
				want = append(want, "8")
				w.ledger.wait(t, "the rows behind the reset", func(r []string) bool { return len(ids(r, "parcel")) >= len(want) })
				w.polls(3) // the look-back finds nothing more
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				stop = w.start()
				w.fill("parcel", 9, 9)
				got := w.ledger.wait(t, "one more row", func(r []string) bool { return len(ids(r, "parcel")) > len(want) })
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if want = append(want, "9"); !slices.Equal(ids(got, "parcel"), want) {
					t.Errorf("published %v, want %v", ids(got, "parcel"), want)
				}
				if done.From != change.Position(qlikwriter.Seq(6)) || done.Became != c.became || done.By != "ann@desk" || done.Done.IsZero() || (done.Note == "") != (name != "newer kind") {
					t.Errorf("the record is %+v", done)
				}
				if w.kept("parcel").Resets.Pending != nil || w.observed.late != 0 {
					t.Errorf("still pending, or %d late rows", w.observed.late)
				}
				if n := strings.Count(log.String(), "by=ann@desk"); n != 1 || !strings.Contains(log.String(), "reason=\"a test\"") {
					t.Errorf("told %d times: %s", n, log)
				}
			})
		}
	}
}

// A row that becomes visible below a position that was chosen forward is found all the same, as after any other beginning.
func TestResetToNowKeepsTheLookBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begin := time.Now()
	w.source.Now = func() time.Time { return qlikwriter.Day.Add(time.Second + time.Since(begin)) }
	w.create("parcel")
	w.published("parcel", 2)
	w.fill("parcel", 5, 9)
	w.askStopped("parcel", checkpoint.Reset{ID: "r1", To: checkpoint.ResetNow})
	stop := w.start()
	w.settled("parcel", "r1")
	w.fill("parcel", 8, 8) // a second row of that sequence, written late
	w.fill("parcel", 10, 10)
	got := w.ledger.wait(t, "the late row and the next", func(r []string) bool { return len(ids(r, "parcel")) >= 4 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := ids(got, "parcel"); !slices.Equal(got, []string{"1", "2", "8", "10"}) && !slices.Equal(got, []string{"1", "2", "10", "8"}) {
		t.Errorf("published %v", got)
	}
}

// Case 27: a hole is accepted by a person, once and by its limits, whatever the policy; the next one stops the table again.
func TestCase27_AcceptGapOnce(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		w := newWorld(t)
		requests := make(chan bridge.Request, 1)
		w.options.Requests = requests
		w.create("parcel")
		w.published("parcel", 3)
		w.fill("parcel", 4, 10)
		w.purge("parcel", 7)
		stop := w.start()
		w.observed.waitState(t, "parcel", bridge.TableFailed)
		hole := checkpoint.Hole{Kind: "rows_purged", From: change.Position(qlikwriter.Seq(3)), To: change.Position(qlikwriter.Seq(7))}
		if !running {
			stop()
		}
		ask := func(id string, h checkpoint.Hole) checkpoint.Reset {
			r := checkpoint.Reset{ID: id, To: checkpoint.ResetAcceptGap, Hole: &h, By: "ann"}
			if running {
				requests <- bridge.Request{Number: int64(id[1] - '0'), ID: id, Table: change.TableID{Name: "parcel"}, Action: bridge.ActionReset, Reset: &r}
			} else {
				stop()
				w.askStopped("parcel", r)
				stop = w.start()
			}
			return w.settled("parcel", id)
		}
		if done := ask("r1", hole); !strings.Contains(done.Note, "another hole") {
			t.Errorf("running %v: another hole was accepted: %+v", running, done)
		}
		hole.To = change.Position(qlikwriter.Seq(8))
		if done := ask("r2", hole); done.Note != "" || done.From != hole.From {
			t.Errorf("running %v: %+v", running, done)
		}
		got := w.ledger.wait(t, "the rows behind the hole", func(r []string) bool { return len(ids(r, "parcel")) == 6 })
		if want := append(sequenceOf(1, 3), sequenceOf(8, 10)...); !slices.Equal(ids(got, "parcel"), want) {
			t.Errorf("published %v, want %v", ids(got, "parcel"), want)
		}
		if done := ask("r3", hole); !strings.Contains(done.Note, "no hole") {
			t.Errorf("running %v: %+v", running, done)
		}
		stop()
		w.fill("parcel", 11, 20)
		w.purge("parcel", 15)
		w.observed.TableChanged(change.TableID{Name: "parcel"}, bridge.TableStreaming, 1, nil)
		stop = w.start()
		w.observed.waitState(t, "parcel", bridge.TableFailed) // the second hole
		stop()
	}
}

// A reset survives whatever ends the session before its commit; it is carried out once. Racing requests of a running task are each answered.
func TestResetSurvivesFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.create("parcel")
		w.published("parcel", 6)
		fail := rapid.IntRange(0, 3).Draw(rt, "failing commits")
		w.ledger.mu.Lock()
		first := w.ledger.asked
		w.ledger.onCommit = func(n int) error {
			if n-first <= fail {
				return fault.New(fault.Retry, "commit", errors.New("away"), "")
			}
			return nil
		}
		w.ledger.mu.Unlock()
		requests := make(chan bridge.Request, 8)
		w.options.Requests = requests
		back := rapid.IntRange(1, 6).Draw(rt, "back to")
		w.askStopped("parcel", checkpoint.Reset{ID: "r0", To: checkpoint.ResetPosition, After: change.Position(qlikwriter.Seq(back))})
		want := append(sequenceOf(1, 6), sequenceOf(back+1, 6)...)
		stop := w.start()
		w.settled("parcel", "r0")
		got := w.ledger.wait(t, "the rows again", func(r []string) bool { return len(ids(r, "parcel")) >= len(want) })
		if !slices.Equal(ids(got, "parcel"), want) {
			rt.Fatalf("published %v, want %v", ids(got, "parcel"), want)
		}
		n := rapid.IntRange(1, 4).Draw(rt, "requests")
		for i := range n {
			requests <- bridge.Request{Number: int64(i), ID: fmt.Sprint("q", i), Table: change.TableID{Name: "parcel"}, Action: bridge.ActionReset, Reset: &checkpoint.Reset{To: checkpoint.ResetEarliest}}
		}
		for i := range n {
			w.settled("parcel", fmt.Sprint("q", i))
		}
		w.fill("parcel", 7, 7)
		w.ledger.wait(t, "row 7", func(r []string) bool { return slices.Contains(ids(r, "parcel"), "7") })
		if err := stop(); err != nil {
			rt.Fatal(err)
		}
	})
}

// A full load that a reset asks for shows the table as it is; changes follow it, and what had not been read is not published.
func TestResetToALoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("parcel")
	w.published("parcel", 2)
	w.preload("parcel", 3)
	w.fill("parcel", 3, 5)
	w.askStopped("parcel", checkpoint.Reset{ID: "r1", To: checkpoint.ResetLoad})
	stop := w.start()
	w.waitLoad("parcel", "the load", func(l checkpoint.Load) bool { return l.State == checkpoint.LoadDone })
	w.fill("parcel", 6, 6)
	got := w.ledger.wait(t, "the next change", func(r []string) bool { return slices.Contains(ids(r, "parcel"), "6") })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(refreshed(got, "parcel"), "1", "2", "3")
	if got := ids(got, "parcel"); len(got) != 2+3+1 {
		t.Errorf("published %v", got)
	}
}
