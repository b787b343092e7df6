package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// bounded is an envelope whose transactions have messages of their own; toldEncoder writes them, and the data messages as counted does.
type bounded struct{ plain }

func (bounded) DeclareBound(int) *envelope.Declaration {
	return &envelope.Declaration{Value: &envelope.Node{}, Key: &envelope.Node{Name: "key"}}
}

func (bounded) Collection(id change.TableID) string { return "shop." + id.Name }

type bounding struct{ counted }

func (f bounding) Value(ctx context.Context, topic string, n *envelope.Node) (bridge.Encoder, error) {
	if topic == "bounds" {
		return toldEncoder{}, nil
	}
	return f.counted.Value(ctx, topic, n)
}

func (bounding) Key(context.Context, string, *envelope.Node) (bridge.Encoder, error) {
	return toldEncoder{key: true}, nil
}

type toldEncoder struct{ key bool }

func (e toldEncoder) Append(dst []byte, ev *change.Event) ([]byte, error) {
	if e.key {
		return append(dst, ev.TransactionID...), nil
	}
	if !ev.Last {
		return fmt.Appendf(dst, "BEGIN %d", len(ev.After)), nil
	}
	dst = fmt.Appendf(dst, "END %d:", ev.Counter)
	for i := 0; i < len(ev.After); i += 2 {
		dst = fmt.Appendf(dst, " %s %d", ev.After[i].Raw, ev.After[i+1].Num)
	}
	return dst, nil
}

// bounds makes the task tell of its transactions.
func (w *world) bounds(split bool) {
	o := w.output()
	o.Envelope = bounded{plain{split: split}}
	o.Format, o.Bounds, o.BoundsTopic = bounding{}, bounded{}, "bounds"
}

// A transaction begins before its first event and ends behind its last one, with the counts of all its tables, also of those whose events an earlier
// process published and that cannot be read now.
func TestTransactionBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bounds(true)
	w.options.CommitRecords = 1
	w.create("a", "b")
	w.add("a", "I", 1, "t1", 5, "x")
	w.add("b", "I", 2, "t2", 1, "x")
	w.add("a", "B", 3, "t2", 5, "x")
	w.add("a", "U", 3, "t2", 6, "x")
	stop := w.start()
	w.want(w.ledger.wait(t, "two transactions", count(8)),
		"bounds t1 BEGIN 0", "a 5 00001 INSERT t1 1/1 true", "bounds t1 END 1: shop.a 1",
		"bounds t2 BEGIN 0", "b 1 00002 INSERT t2 1/1 false", "a 5 00003 DELETE t2 2/1 false", "a 6 00003 INSERT t2 3/2 true",
		"bounds t2 END 3: shop.a 2 shop.b 1")
	stop()
	w.writer.Exec(t, "DROP TABLE b__ct")
	w.add("a", "D", 4, "t2", 6, "x") // comes late, in a session that b is not part of
	stop = w.start()
	w.want(w.ledger.wait(t, "the late row", count(10))[8:], "a 6 00004 DELETE t2 4/3 true", "bounds t2 END 4: shop.a 3 shop.b 1")
	stop()
	if role, known := w.ledger.topics["bounds"]; !known || role != change.MetadataTopic {
		t.Errorf("topics %v", w.ledger.topics)
	}
}

// An error of the first row gives the begin back with it.
func TestBeginOfARowThatCannotBeRendered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bounds(false)
	w.options.MaxRecordBytes = 60
	w.create("a", "b")
	w.add("a", "I", 1, "t1-with-an-id-that-makes-a-record-too-long-by-itself-alone", 1, "x")
	w.add("b", "I", 2, "t2", 2, "x")
	w.start()
	w.observed.waitState(t, "a", bridge.TableFailed)
	w.want(w.ledger.wait(t, "the other row", count(3)), "bounds t2 BEGIN 0", "b 2 00002 INSERT t2 1/1 true", "bounds t2 END 1: shop.b 1")
}

// Whatever fails in the sink and whenever the bridge is stopped: each transaction begins once and ends once, with counts that are those of its
// records.
func TestBoundsOnceUnderFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.bounds(false)
		tables := []string{"a", "b", "c"}
		w.create(tables...)
		w.options.CommitRecords = rapid.IntRange(1, 9).Draw(rt, "commit")
		w.source.PageRows = rapid.IntRange(1, 9).Draw(rt, "page")
		rows, transactions := rapid.IntRange(1, 40).Draw(rt, "rows"), 1
		for n := 1; n <= rows; n++ {
			if n > 1 && rapid.IntRange(0, 3).Draw(rt, "next tx") == 0 {
				transactions++
			}
			w.add(rapid.SampledFrom(tables).Draw(rt, "table"), "I", n, fmt.Sprint("t", transactions), n, "x")
		}
		publishes := rapid.SliceOfN(rapid.IntRange(1, 120), 0, 5).Draw(rt, "failing publishes")
		commits := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 3).Draw(rt, "failing commits")
		w.ledger.onPublish = func(n int, _ *change.Record) error { return failAt(n, publishes) }
		w.ledger.onCommit = func(n int) error { return failAt(n, commits) }
		all := rows + 2*transactions
		for len(w.ledger.records) < all {
			before := len(w.ledger.records)
			stop := w.start()
			w.ledger.wait(t, "progress", func(r []string) bool { return len(r) > before || len(r) >= all })
			stop()
		}
		checkBounds(rt, w.ledger.records, rows, transactions)
	})
}

// checkBounds reads the records one transaction after another.
func checkBounds(t *rapid.T, records []string, rows, transactions int) {
	counts, seen, ended := map[string]int{}, 0, 0
	for i, r := range records {
		f := strings.Fields(r)
		switch {
		case f[0] != "bounds":
			counts[f[0]]++
			seen++
		case f[2] == "BEGIN":
			if len(counts) > 0 || f[1] != fmt.Sprint("t", ended+1) {
				t.Fatalf("record %d, %q, begins inside of another transaction", i, r)
			}
		default:
			ended++
			want, total := "", 0
			for _, table := range []string{"a", "b", "c"} {
				if counts[table] > 0 {
					want += fmt.Sprintf(" shop.%s %d", table, counts[table])
				}
				total += counts[table]
			}
			if want = fmt.Sprintf("bounds t%d END %d:%s", ended, total, want); r != want {
				t.Fatalf("record %d is %q, want %q", i, r, want)
			}
			clear(counts)
		}
	}
	if seen != rows || ended != transactions || len(counts) > 0 {
		t.Fatalf("%d rows in %d transactions, want %d in %d:\n%s", seen, ended, rows, transactions, strings.Join(records, "\n"))
	}
}
