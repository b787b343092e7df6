package bridge_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/test/qlikwriter"
)

// fill writes rows from..upto of one table, each a transaction.
func (w *world) fill(table string, from, upto int) {
	w.Helper()
	for n := from; n <= upto; n++ {
		w.add(table, "I", n, fmt.Sprint("t", n), n, "x")
	}
}

// purge deletes rows up to a sequence, as a retention job does.
func (w *world) purge(table string, upto int) {
	w.Helper()
	w.writer.Exec(w, "DELETE FROM %s__ct WHERE header__change_seq <= '%s'", table, qlikwriter.Seq(upto))
}

// ids are the rows of a table among the records, by id.
func ids(records []string, table string) (out []string) {
	for _, r := range records {
		if f := strings.Fields(r); f[0] == table {
			out = append(out, f[1])
		}
	}
	return out
}

func sequenceOf(from, upto int) (out []string) {
	for n := from; n <= upto; n++ {
		out = append(out, fmt.Sprint(n))
	}
	return out
}

// published runs the bridge until rows 1..n of a table have left.
func (w *world) published(table string, n int) {
	w.Helper()
	w.fill(table, 1, n)
	stop := w.start()
	w.ledger.wait(w, "the first rows", func(r []string) bool { return len(ids(r, table)) >= n })
	if err := stop(); err != nil {
		w.Fatal(err)
	}
}

// Case 25: a purge passed the reader while it was away. With fail no row is published and the error names the hole; another table goes on.
func TestCase25_PurgedUnreadFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("parcel", "depot")
	w.published("parcel", 3)
	w.fill("parcel", 4, 10)
	w.purge("parcel", 7)
	w.add("depot", "I", 11, "t11", 11, "x")
	w.start()
	w.ledger.wait(t, "the other table's row", count(4))
	err := w.observed.waitState(t, "parcel", bridge.TableFailed)
	for _, part := range []string{"purged before they were read", qlikwriter.Seq(3), qlikwriter.Seq(8), "source.on_reset"} {
		if !strings.Contains(err, part) {
			t.Errorf("error %q does not tell %s", err, part)
		}
	}
	if got := ids(w.ledger.records, "parcel"); len(got) != 3 {
		t.Errorf("published %v behind the hole", got)
	}
}

// Case 25: with continue the hole is told once, in log, metric and a message, then the rows that are left come; a restart does not tell it again.
func TestCase25_PurgedUnreadContinues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.OnReset, w.options.GapMarker, w.output().MetadataTopic = bridge.ResetContinue, true, "meta"
	log := w.logged()
	w.create("parcel")
	w.published("parcel", 3)
	w.fill("parcel", 4, 10)
	w.purge("parcel", 7)
	stop := w.start()
	got := w.ledger.wait(t, "the rows that are left", func(r []string) bool { return len(ids(r, "parcel")) == 6 })
	stop()
	stop = w.start()
	w.fill("parcel", 20, 20)
	w.ledger.wait(t, "another row", func(r []string) bool { return len(ids(r, "parcel")) == 7 })
	stop()
	if want := append(sequenceOf(1, 3), sequenceOf(8, 10)...); !slices.Equal(ids(got, "parcel"), want) {
		t.Errorf("published %v, want %v", ids(got, "parcel"), want)
	}
	hole := fmt.Sprintf("parcel rows_purged: change sequences above %s, up to %s", qlikwriter.Seq(3), qlikwriter.Seq(8))
	if !slices.Equal(w.observed.gaps, []string{hole}) {
		t.Errorf("gaps %v, want %s", w.observed.gaps, hole)
	}
	if !strings.Contains(log.String(), "hole in the changes") || !strings.Contains(log.String(), qlikwriter.Seq(8)) {
		t.Errorf("log %s", log)
	}
	var markers []string
	for _, r := range got {
		if strings.HasPrefix(r, "meta parcel {") {
			markers = append(markers, r)
		}
	}
	if len(markers) != 1 || !strings.Contains(markers[0], `"type":"GAP"`) ||
		!strings.Contains(markers[0], fmt.Sprintf(`"reason":"rows_purged","from":"%s","to":"%s"`, qlikwriter.Seq(3), qlikwriter.Seq(8))) {
		t.Errorf("markers %v", markers)
	}
}

// logged keeps the log.
func (w *world) logged() *text {
	out := &text{}
	w.options.Log = slog.New(slog.NewTextHandler(out, nil))
	return out
}

type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *text) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *text) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// Case 23: retention behind the reader is no reset, whether the task runs or not, and whether the purge leaves rows or none.
func TestCase23_PurgeBehindTheReaderIsNoReset(t *testing.T) {
	t.Parallel()
	for name, purge := range map[string]func(w *world, stop func() error) func() error{
		"while running": func(w *world, stop func() error) func() error {
			w.purge("parcel", 5)
			w.polls(3) // it sees the empty table
			return stop
		},
		"then a restart": func(w *world, stop func() error) func() error {
			w.purge("parcel", 5)
			w.polls(3)
			stop()
			return w.start()
		},
		"partly, over a restart": func(w *world, stop func() error) func() error {
			stop()
			w.purge("parcel", 4)
			return w.start()
		},
		"while away": func(w *world, stop func() error) func() error {
			stop()
			w.purge("parcel", 5)
			stop = w.start()
			w.polls(3)
			stop()
			return w.start()
		},
		"while away, and the next row follows directly": func(w *world, stop func() error) func() error {
			stop()
			w.purge("parcel", 5)
			w.fill("parcel", 6, 6)
			return w.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("parcel")
			w.fill("parcel", 1, 5)
			stop := w.start()
			w.ledger.wait(t, "the first rows", count(5))
			stop = purge(w, stop)
			w.fill("parcel", 9, 9)
			w.ledger.wait(t, "the next row", func(r []string) bool { return slices.Contains(ids(r, "parcel"), "9") })
			stop()
			w.observed.mu.Lock()
			defer w.observed.mu.Unlock()
			if w.observed.states["parcel"] != bridge.TableStreaming || len(w.observed.gaps) > 0 {
				t.Errorf("%s: %s, gaps %v", w.observed.states["parcel"], w.observed.errors["parcel"], w.observed.gaps)
			}
		})
	}
}

// polls waits until the bridge has looked some times more.
func (w *world) polls(n int) {
	w.Helper()
	w.observed.mu.Lock()
	from := w.observed.polls
	w.observed.mu.Unlock()
	deadline := time.After(20 * time.Second)
	for {
		w.observed.mu.Lock()
		now, changed := w.observed.polls, w.observed.polledNow
		w.observed.mu.Unlock()
		if now >= from+n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			w.Fatalf("%d polls after 20 s, want %d", now-from, n)
		}
	}
}

// Case 28: a database that was restored from an older copy is a state of its own, no silent wait; the rows that come later are not lost under fail.
func TestCase28_RestoredFromAnOlderCopy(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprint("away ", away), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("parcel")
			w.fill("parcel", 1, 9)
			stop := w.start()
			w.ledger.wait(t, "the first rows", count(9))
			if away {
				stop()
			}
			w.writer.Exec(t, "DELETE FROM parcel__ct WHERE header__change_seq > '%s'", qlikwriter.Seq(5))
			if away {
				w.fill("parcel", 12, 12) // the writer has gone on
				w.start()
			}
			err := w.observed.waitState(t, "parcel", bridge.TableRewound)
			if !strings.Contains(err, "source_rewound") || !strings.Contains(err, qlikwriter.Seq(9)) {
				t.Errorf("error %q", err)
			}
			if got := w.ledger.wait(t, "the rows", count(9)); len(got) != 9 {
				t.Errorf("published %v", got[9:])
			}
		})
	}
}

// Case 42c: all rows deleted, sequences started anew. The policy decides; under continue every row that is there is published, none is late.
func TestCase42_SequencesStartAnew(t *testing.T) {
	t.Parallel()
	for _, policy := range []bridge.ResetPolicy{bridge.ResetFail, bridge.ResetContinue} {
		for _, c := range []struct {
			rows int // 6 are more than before: the newest lies above the position again
			away bool
		}{{2, false}, {2, true}, {6, true}} {
			t.Run(fmt.Sprintf("%s, %d rows, away %v", policy, c.rows, c.away), func(t *testing.T) {
				t.Parallel()
				startAnew(newWorld(t), policy, c.rows, c.away)
			})
		}
	}
}

func startAnew(w *world, policy bridge.ResetPolicy, rows int, away bool) {
	w.options.OnReset = policy
	w.create("parcel")
	for n := 11; n <= 15; n++ {
		w.add("parcel", "I", n, fmt.Sprint("t", n), n, "x")
	}
	stop := w.start()
	w.ledger.wait(w, "the first rows", count(5))
	if away {
		stop()
	}
	tx, err := w.writer.DB.Begin()
	if err != nil {
		w.Fatal(err)
	}
	if _, err := tx.Exec("DELETE FROM parcel__ct"); err != nil {
		w.Fatal(err)
	}
	for n := 1; n <= rows; n++ {
		w.writer.Add(w, tx, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(3*n + 1), Oper: "I", Tx: fmt.Sprint("u", n), Values: []any{100 + n, "new", nil}})
	}
	if err := tx.Commit(); err != nil {
		w.Fatal(err)
	}
	if away {
		stop = w.start()
	}
	if policy == bridge.ResetFail {
		if err := w.observed.waitState(w, "parcel", bridge.TableRewound); !strings.Contains(err, "source_rewound") {
			w.Errorf("error %q", err)
		}
		return
	}
	w.ledger.wait(w, "the new rows", count(5+rows))
	w.fill("parcel", 30, 30)
	got := w.ledger.wait(w, "a row above", count(6+rows))
	stop()
	want := append(sequenceOf(11, 15), append(sequenceOf(101, 100+rows), "30")...)
	if !slices.Equal(ids(got, "parcel"), want) || len(w.observed.gaps) != 1 || w.observed.late != 0 {
		w.Errorf("published %v, want %v; gaps %v, %d late", ids(got, "parcel"), want, w.observed.gaps, w.observed.late)
	}
}

// A task that cannot publish for long loses rows to a purge that it had seen: told although nothing of them was in the checkpoint.
func TestPurgedRowsThatWereSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("parcel")
	w.fill("parcel", 1, 2)
	refuse := make(chan struct{})
	w.ledger.onPublish = func(_ int, r *change.Record) error {
		select {
		case <-refuse:
			return fmt.Errorf("no broker answers")
		default:
			return nil
		}
	}
	w.start()
	w.ledger.wait(t, "two rows", count(2))
	close(refuse)
	w.fill("parcel", 3, 6)
	w.polls(3)
	w.purge("parcel", 6)
	if err := w.observed.waitState(t, "parcel", bridge.TableFailed); !strings.Contains(err, "rows_purged") || !strings.Contains(err, qlikwriter.Seq(6)) {
		t.Errorf("error %q", err)
	}
}

// With resnapshot a table that went back is loaded again, and its changes go on behind the load: rows that begin anew with lower sequences are
// published, those that the load covers are not.
func TestResnapshotAfterARewind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.OnReset = bridge.ResetResnapshot
	w.create("parcel", "other")
	w.published("parcel", 5)
	w.preload("parcel", 4)
	w.writer.Exec(t, "DELETE FROM parcel__ct WHERE header__change_seq > '%s'", qlikwriter.Seq(2))
	w.start()
	got := w.ledger.wait(t, "the load", func(r []string) bool { return len(refreshed(r, "parcel")) == 4 })
	w.observed.waitState(t, "parcel", bridge.TableStreaming)
	w.add("parcel", "I", 3, "u3", 9, "anew")
	got = w.ledger.wait(t, "the new row", count(len(got)+1))
	w.want(got[len(got)-1:], "parcel 9 3 INSERT +(9,anew,null) #1 true v1")
	if len(w.observed.gaps) != 1 || w.observed.late != 0 {
		t.Errorf("gaps %v, %d late", w.observed.gaps, w.observed.late)
	}
}

// Case 27: the override does not stay on: after a run with continue the next one, with fail, goes on behind the hole, and fails at another.
func TestCase27_ContinueOnceThenFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("parcel")
	w.published("parcel", 3)
	w.fill("parcel", 6, 7)
	w.purge("parcel", 6)
	w.options.OnReset = bridge.ResetContinue
	stop := w.start()
	w.ledger.wait(t, "the row that is left", count(4))
	stop()
	w.options.OnReset = bridge.ResetFail
	w.fill("parcel", 8, 8)
	stop = w.start()
	w.ledger.wait(t, "the next row", count(5))
	stop()
	w.fill("parcel", 12, 13)
	w.purge("parcel", 12)
	w.start()
	w.observed.waitState(t, "parcel", bridge.TableFailed)
}

// TRUNCATE as a message of its own: in order with its neighbours' commit, keyed by table, not counted as dropped.
func TestTruncateMarker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Truncate, w.output().MetadataTopic = bridge.TruncateMarker, "meta"
	w.create("parcel")
	w.add("parcel", "I", 1, "t1", 1, "a")
	w.add("parcel", "TRUNCATE", 2, "t2", nil, "")
	w.add("parcel", "I", 3, "t3", 2, "b")
	stop := w.start()
	w.ledger.wait(t, "all records", count(4))
	w.add("parcel", "TRUNCATE", 4, "t4", nil, "") // alone in its window
	got := w.ledger.wait(t, "the last marker", count(5))
	stop()
	marker := func(n int) string {
		return fmt.Sprintf(`meta parcel {"magic":"atMSG","type":"TRUNCATE","headers":null,"messageSchemaId":null,"messageSchema":null,"message":{"task":"test","schema":"","table":"parcel",`+
			`"timestamp":"2023-09-11T03:23:25.000","changeSequence":"%s","transactionId":"t%d"}}`, qlikwriter.Seq(n), n)
	}
	w.want(got, "meta parcel metadata v1", "parcel 1 1 INSERT +(1,a,null) #1 true v1", marker(2), "parcel 2 3 INSERT +(2,b,null) #1 true v1", marker(4))
	if len(w.observed.dropped) > 0 {
		t.Errorf("dropped %v", w.observed.dropped)
	}
	stop = w.start()
	w.add("parcel", "I", 5, "t5", 3, "c")
	got = w.ledger.wait(t, "one more", count(6))
	stop()
	w.want(got[5:], "parcel 3 5 INSERT +(3,c,null) #1 true v1")
}

// Case 43: rows 1..5, then 3..7 again with the same sequences: seven events with de-duplication, ten without.
func TestCase43_ReplayedByHand(t *testing.T) {
	t.Parallel()
	for dedup, want := range map[time.Duration][]string{
		time.Minute: sequenceOf(1, 7),
		0:           append(append(sequenceOf(1, 5), sequenceOf(3, 5)...), "6", "7"),
	} {
		for _, read := range []bool{true, false} { // whether rows 1..5 are published before the replay
			t.Run(fmt.Sprintf("dedup %s, read %v", dedup, read), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.options.Deduplicate = dedup
				w.create("parcel")
				w.fill("parcel", 1, 5)
				stop := func() error { return nil }
				if read {
					stop = w.start()
					w.ledger.wait(t, "the first rows", count(5))
				}
				w.fill("parcel", 3, 7)
				if !read {
					stop = w.start()
				}
				w.ledger.wait(t, "all rows", count(len(want)))
				w.fill("parcel", 9, 9)
				got := ids(w.ledger.wait(t, "one more", count(len(want)+1)), "parcel")
				w.observed.waitDropped(t, bridge.DroppedDuplicate, 10-len(want))
				stop()
				sorted, expected := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(append(want, "9")))
				if !slices.Equal(sorted, expected) {
					t.Errorf("published %v, want %v", got, expected)
				}
			})
		}
	}
}

// Case 34: a table that is added begins with what it holds, also after a restart; the others go on where they are.
func TestCase34_AddedTableTouchesNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a")
	w.published("a", 3)
	w.create("b")
	w.fill("b", 1, 2)
	w.fill("a", 4, 4)
	stop := w.start()
	got := w.ledger.wait(t, "all rows", count(6))
	stop()
	if !slices.Equal(ids(got, "a"), sequenceOf(1, 4)) || !slices.Equal(ids(got, "b"), sequenceOf(1, 2)) || len(got) != 6 {
		t.Errorf("got %v", got)
	}
}

// A table that leaves for ever is missing; it neither stops the others nor ends the task, and its position stays for its return.
func TestDroppedTableIsMissingAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // looks for tables once a minute: the poll must notice
	w.create("goes", "stays")
	w.fill("goes", 1, 1)
	w.start()
	w.ledger.wait(t, "the first record", count(1))
	w.writer.Exec(t, "DROP TABLE goes__ct")
	w.observed.waitState(t, "goes", bridge.TableMissing)
	w.fill("stays", 2, 3)
	w.ledger.wait(t, "the other table's records", count(3))
	s := qlikwriter.Parcel("goes")
	s.NoBase = true
	w.writer.Create(t, s)
	w.fill("goes", 4, 4)
	got := w.ledger.wait(t, "the row of the table that came back", count(4))
	if !slices.Equal(ids(got, "goes"), []string{"1", "4"}) {
		t.Errorf("got %v", got)
	}
	w.observed.waitState(t, "goes", bridge.TableStreaming)
}

// A table that went and came back while the task was down was not purged: nothing stops it.
func TestDroppedTableComesBackOverARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("goes", "stays")
	w.fill("goes", 1, 3)
	stop := w.start()
	w.ledger.wait(t, "the first records", count(3))
	w.writer.Exec(t, "DROP TABLE goes__ct")
	w.observed.waitState(t, "goes", bridge.TableMissing)
	w.polls(2) // it is in the checkpoint
	stop()
	s := qlikwriter.Parcel("goes")
	s.NoBase = true
	w.writer.Create(t, s)
	w.fill("goes", 7, 8)
	w.start()
	got := w.ledger.wait(t, "the rows of the table that came back", count(5))
	if !slices.Equal(ids(got, "goes"), []string{"1", "2", "3", "7", "8"}) {
		t.Errorf("got %v", got)
	}
	w.observed.waitState(t, "goes", bridge.TableStreaming)
}

// The same with sequences that were all used before: what the bridge has seen gone and sees again is another row.
func TestEmptiedAndFilledWithTheSameSequences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.OnReset = bridge.ResetContinue
	w.create("parcel")
	w.fill("parcel", 1, 5)
	stop := w.start()
	w.ledger.wait(t, "the first rows", count(5))
	w.writer.Exec(t, "DELETE FROM parcel__ct")
	w.polls(3)
	tx, err := w.writer.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 8; n++ {
		w.writer.Add(t, tx, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("u", n), Values: []any{n, "new", nil}})
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	got := w.ledger.wait(t, "the new rows", count(13))
	stop()
	if want := append(sequenceOf(1, 5), sequenceOf(1, 8)...); !slices.Equal(ids(got, "parcel"), want) || len(w.observed.gaps) != 1 || w.observed.late != 0 {
		t.Errorf("got %v, want %v; gaps %v, %d late", ids(got, "parcel"), want, w.observed.gaps, w.observed.late)
	}
}
