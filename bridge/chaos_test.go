package bridge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/test/qlikwriter"
)

var errWeather = errors.New("connection lost")

// Whatever fails in the sink and whenever the bridge is stopped: every row leaves once, in order, with gap-free counters.
func TestEveryRowOnceUnderFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		tables := []string{"a", "b", "c"}
		w.create(tables...)
		w.options.CommitRecords = rapid.IntRange(1, 9).Draw(rt, "commit")
		w.source.PageRows = rapid.IntRange(1, 9).Draw(rt, "page")
		rows := rapid.IntRange(1, 60).Draw(rt, "rows")
		var want []string
		tx, counter := 0, 0
		for n := 1; n <= rows; n++ {
			if counter == 0 || rapid.IntRange(0, 3).Draw(rt, "next tx") == 0 {
				tx, counter = tx+1, 0
			}
			counter++
			table := rapid.SampledFrom(tables).Draw(rt, "table")
			w.add(table, "I", n, fmt.Sprint("t", tx), n, "x")
			want = append(want, fmt.Sprintf("%s %d %d INSERT +(%d,x,null) #%d", table, n, n, n, counter))
		}
		publishes := rapid.SliceOfN(rapid.IntRange(1, 80), 0, 5).Draw(rt, "failing publishes")
		commits := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 3).Draw(rt, "failing commits")
		w.ledger.onPublish = func(n int, _ *change.Record) error { return failAt(n, publishes) }
		w.ledger.onCommit = func(n int) error { return failAt(n, commits) }
		for len(w.ledger.records) < rows {
			before := len(w.ledger.records)
			stop := w.start()
			w.ledger.wait(t, "progress", func(r []string) bool { return len(r) > before || len(r) >= rows })
			stop()
		}
		for i, r := range w.ledger.records {
			if !strings.HasPrefix(r, want[i]+" ") {
				rt.Fatalf("record %d is %q, want %q", i, r, want[i])
			}
		}
		if len(w.ledger.records) != rows {
			rt.Fatalf("%d records, want %d", len(w.ledger.records), rows)
		}
	})
}

func failAt(n int, calls []int) error {
	if slices.Contains(calls, n) {
		return fault.New(fault.Retry, "sink", errWeather, "")
	}
	return nil
}

// Rows that become visible below published ones are published late and counted, within a table and across tables, also after a restart.
func TestLateRowsAcrossARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a", "b")
	w.add("a", "I", 2, "t2", 2, "x")
	w.add("a", "I", 4, "t4", 4, "x")
	stop := w.start()
	w.ledger.wait(t, "two records", count(2))
	stop()
	w.add("a", "I", 3, "t3", 3, "x") // below a's position
	w.add("b", "I", 1, "t1", 1, "x") // below the task's position
	stop = w.start()
	w.ledger.wait(t, "the late rows", count(4))
	w.add("a", "I", 5, "t5", 5, "x")
	got := w.ledger.wait(t, "a later row", count(5))
	stop()
	w.want(got[2:4], "b 1 1 INSERT +(1,x,null) #1 true v1", "a 3 3 INSERT +(3,x,null) #1 true v1")
	if w.observed.late != 2 {
		t.Errorf("%d late rows counted, want 2", w.observed.late)
	}
	stop = w.start()
	w.add("a", "I", 6, "t6", 6, "x")
	got = w.ledger.wait(t, "the last row", count(6))
	stop()
	if len(got) != 6 || !strings.HasPrefix(got[5], "a 6 6 ") {
		t.Fatalf("after another restart: %v", got)
	}
}

// The writer as it is: batches of several source transactions, applied table by table, seconds apart.
func TestWriterAppliesTableByTable(t *testing.T) {
	t.Parallel()
	for _, settle := range []time.Duration{0, 300 * time.Millisecond} {
		t.Run(settle.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.source.Horizon.Policy, w.source.Horizon.Settle = "settle", settle
			w.create("child", "parent")
			stop := w.start()
			apply := func(table string, numbers ...int) {
				tx, err := w.writer.DB.Begin()
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range numbers {
					w.writer.Add(t, tx, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("t", n/4), Values: []any{n, "x", nil}})
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			apply("parent", 4, 6, 8, 10)
			if settle == 0 {
				w.ledger.wait(t, "the parents", count(4))
			}
			apply("child", 5, 7, 9, 11)
			got := w.ledger.wait(t, "all rows", count(8))
			stop()
			if settle == 0 {
				if len(got) != 8 || w.observed.late == 0 {
					t.Fatalf("%d records, %d late; want 8, some late", len(got), w.observed.late)
				}
				return
			}
			for i, r := range got {
				n := i + 4
				if want := fmt.Sprintf(" INSERT +(%d,x,null) #%d %v v1", n, n%4+1, n%4 == 3); !strings.HasSuffix(r, want) {
					t.Errorf("record %d is %q, want …%q", i, r, want)
				}
			}
			if w.observed.late != 0 {
				t.Errorf("%d late rows, want none", w.observed.late)
			}
		})
	}
}
