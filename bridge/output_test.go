package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// counted is a format whose records show their three counters: operation, row number, counter, counter of the table, last flag.
type counted struct{}

type countedEncoder struct{}

func (counted) Value(context.Context, string, *envelope.Node) (bridge.Encoder, error) {
	return countedEncoder{}, nil
}

func (f counted) Key(ctx context.Context, topic string, n *envelope.Node) (bridge.Encoder, error) {
	return f.Value(ctx, topic, n)
}

func (countedEncoder) Append(dst []byte, ev *change.Event) ([]byte, error) {
	if ev.Op == 0 {
		return fmt.Appendf(dst, "metadata v%d", ev.Table.Version), nil
	}
	return fmt.Appendf(dst, "%s %s %s %d/%d %v", ev.Position[30:], ev.Op, ev.TransactionID, ev.Counter, ev.TableCounter, ev.Last), nil
}

// two gives a task a second output, which tells key changes as two events and deletes with tombstones.
func (w *world) two() {
	w.output().Name, w.output().Format = "whole", counted{}
	w.options.Outputs = append(w.options.Outputs, bridge.Output{
		Name: "split", Envelope: plain{split: true}, Format: counted{}, Notices: lines{}, KeyMode: envelope.KeyPrimaryKey, Tombstones: true,
		Topic: func(id change.TableID) (string, error) { return "split." + id.Name, nil },
	})
}

// Every row leaves in both outputs at once; each counts what it publishes, over a restart in the middle of a transaction.
func TestTwoOutputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.two()
	w.options.CommitRecords = 1
	w.create("a", "b")
	w.add("a", "I", 1, "t1", 5, "x")
	w.add("a", "B", 2, "t1", 5, "x")
	w.add("a", "U", 2, "t1", 6, "x")
	w.add("b", "I", 3, "t1", 1, "x")
	stop := w.start()
	w.ledger.wait(t, "three rows", count(8))
	stop()
	w.add("a", "D", 4, "t1", 6, "x")
	w.start()
	w.want(w.ledger.wait(t, "all rows", count(11)),
		"a 5 00001 INSERT t1 1/1 false", "split.a 5 00001 INSERT t1 1/1 false",
		"a 6 00002 UPDATE t1 2/2 false", "split.a 5 00002 DELETE t1 2/2 false", "split.a 5 tombstone", "split.a 6 00002 INSERT t1 3/3 false",
		"b 1 00003 INSERT t1 3/1 true", "split.b 1 00003 INSERT t1 4/1 true",
		"a 6 00004 DELETE t1 4/3 true", "split.a 6 00004 DELETE t1 5/4 true", "split.a 6 tombstone")
	if state := string(w.ledger.entries["task"]); !strings.Contains(state, `"v":2`) || !strings.Contains(state, `"counters":{"split":5,"whole":4}`) {
		t.Errorf("checkpoint %s", state)
	}
}

// A record that one output cannot make keeps the row out of all, and gives all numbers back.
func TestRowLeavesInAllOutputsOrInNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.two()
	w.options.Outputs[1].Format = lines{} // refuses the text "poison"
	w.create("a", "b")
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("a", "I", 2, "t1", 2, "poison")
	w.add("b", "I", 3, "t1", 3, "x")
	w.start()
	got := w.ledger.wait(t, "two rows", count(4))
	w.want(got, "a 1 00001 INSERT t1 1/1 false", "split.a 1 1 INSERT +(1,x,null) #1 false v1", "b 3 00003 INSERT t1 2/1 true", "split.b 3 3 INSERT +(3,x,null) #2 true v1")
	w.observed.waitState(t, "a", bridge.TableFailed)
	w.writer.Exec(t, "UPDATE a__ct SET status = 'mended'")
	w.want(w.ledger.wait(t, "the mended row", count(6))[4:], "a 2 00002 INSERT t1 3/2 true", "split.a 2 2 INSERT +(2,mended,null) #3 true v1")
}

// An output that joins counts from one what it publishes; the other goes on counting.
func TestOutputJoins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Format = counted{}
	w.options.CommitRecords = 1
	w.create("a")
	w.add("a", "I", 1, "t1", 1, "x")
	stop := w.start()
	w.ledger.wait(t, "a row", count(1))
	stop()
	task := w.ledger.entries["task"]
	w.ledger.entries["task"] = []byte(strings.Replace(string(task), `,"outputs":[""]`, "", 1)) // as releases with one output wrote it
	if string(task) == string(w.ledger.entries["task"]) || !strings.Contains(string(task), `"v":1`) {
		t.Fatalf("checkpoint %s", task)
	}
	w.two()
	w.add("a", "I", 2, "t1", 2, "x")
	stop = w.start()
	w.ledger.wait(t, "a row in both", count(3))
	stop()
	slices.Reverse(w.options.Outputs)
	w.add("a", "I", 3, "t1", 3, "x")
	w.start()
	w.want(w.ledger.wait(t, "a row in both", count(5))[1:], "a 2 00002 INSERT t1 2/2 true", "split.a 2 00002 INSERT t1 1/1 true",
		"split.a 3 00003 INSERT t1 2/2 true", "a 3 00003 INSERT t1 3/3 true")
}

// Metadata comes once for each output that has any, and again only in the one whose metadata changes (I9).
func TestMetadataOfTwoOutputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.two()
	w.output().MetadataTopic, w.options.Outputs[1].MetadataTopic = "meta", "split.meta"
	w.create("a")
	w.add("a", "I", 1, "t1", 1, "x")
	stop := w.start()
	w.want(w.ledger.wait(t, "a row", count(4)), "meta a metadata v1", "split.meta a metadata v1", "a 1 00001 INSERT t1 1/1 true", "split.a 1 00001 INSERT t1 1/1 true")
	stop()
	w.options.Outputs[1].MetadataFormat = "other"
	w.add("a", "I", 2, "t2", 2, "x")
	stop = w.start()
	w.want(w.ledger.wait(t, "another row", count(7))[4:], "split.meta a metadata v1", "a 2 00002 INSERT t2 1/1 true", "split.a 2 00002 INSERT t2 1/1 true")
	stop()
	w.options.Outputs = w.options.Outputs[:1]
	w.add("a", "I", 3, "t3", 3, "x")
	w.start()
	w.want(w.ledger.wait(t, "a row in one", count(8))[7:], "a 3 00003 INSERT t3 1/1 true")
}

// Outputs never share a topic or a subject, also where the tables of each may share theirs.
func TestOutputsKeepApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.two()
	for i := range w.options.Outputs {
		w.options.Outputs[i].SharedTopics = true
		w.options.Outputs[i].Topic = func(id change.TableID) (string, error) {
			if id.Name == "b" {
				return "one", nil
			}
			return fmt.Sprint("all", i), nil
		}
	}
	w.create("a", "b", "c")
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("b", "I", 2, "t2", 2, "x")
	w.add("c", "I", 3, "t3", 3, "x")
	w.start()
	w.want(w.ledger.wait(t, "two rows", count(4)), "all0 1 00001 INSERT t1 1/1 true", "all1 1 00001 INSERT t1 1/1 true", "all0 3 00003 INSERT t3 1/1 true", "all1 3 00003 INSERT t3 1/1 true")
	if err := w.observed.waitState(t, "b", bridge.TableFailed); !strings.Contains(err, "topic one: table b in output split would share it with table b in output whole") {
		t.Errorf("error %q", err)
	}
}

// subjects is a format that registers under a subject made of the topic.
type subjects struct {
	counted
	of func(topic string) string
}

func (s subjects) Subject(topic, part string, _ *envelope.Node) (string, error) {
	return s.of(topic) + "-" + part, nil
}

func TestSecondTableOfASubjectIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Format = subjects{of: func(topic string) string { return strings.ReplaceAll(topic, " ", "_") }}
	w.create("a b", "a_b", "c")
	w.add("a b", "I", 1, "t1", 1, "x")
	w.add("a_b", "I", 2, "t2", 2, "y")
	w.add("c", "I", 3, "t3", 3, "z")
	w.start()
	w.want(w.ledger.wait(t, "two rows", count(2)), "a b 1 00001 INSERT t1 1/1 true", "c 3 00003 INSERT t3 1/1 true")
	err := w.observed.waitState(t, "a_b", bridge.TableFailed)
	for _, part := range []string{"subject a_b-value: table a_b would share it with table a b", "schema_registry.subject_strategy"} {
		if !strings.Contains(err, part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

// Keys of chosen columns: a table that nothing is chosen for has its primary key, one that lacks a column stops.
func TestKeyColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().KeyMode, w.output().Format, w.output().Tombstones = envelope.KeyColumns, counted{}, true
	w.output().KeyColumns = func(id change.TableID) []string {
		return map[string][]string{"a": {"status", "id"}, "b": {"nothing"}}[id.Name]
	}
	w.create("a", "b", "c")
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("b", "I", 2, "t2", 2, "x")
	w.add("c", "I", 3, "t3", 3, "x")
	w.add("a", "D", 4, "t4", 1, "x")
	w.start()
	w.want(w.ledger.wait(t, "three rows", count(4)), "a x|1 00001 INSERT t1 1/1 true", "c 3 00003 INSERT t3 1/1 true", "a x|1 00004 DELETE t4 1/1 true", "a x|1 tombstone")
	if err := w.observed.waitState(t, "b", bridge.TableFailed); !strings.Contains(err, `column "nothing" does not exist`) {
		t.Errorf("error %q", err)
	}
}

// titled is an envelope with record headers, one of them on key changes alone.
type titled struct{ plain }

func (e titled) Declare(t *change.Table) (*envelope.Declaration, error) {
	d, err := e.plain.Declare(t)
	d.Headers = []envelope.Header{{Name: "row", Value: &envelope.Node{}}, {Name: "gone", Value: &envelope.Node{}, When: func(ev *change.Event) bool { return ev.Op == change.OpDelete }}}
	return d, err
}

func TestRecordHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Envelope, w.output().Format, w.output().Tombstones, w.options.Headers = titled{}, counted{}, true, counted{}
	w.create("a")
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("a", "D", 2, "t1", 1, "x")
	w.start()
	insert, gone := "00001 INSERT t1 1/1 false", "00002 DELETE t1 2/2 true"
	w.want(w.ledger.wait(t, "all records", count(3)), "a 1 "+insert+" row="+insert, "a 1 "+gone+" row="+gone+" gone="+gone, "a 1 tombstone row="+gone+" gone="+gone)
}

// Headers count in what a record weighs.
func TestRecordTooLargeByItsHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Envelope, w.output().Format, w.options.Headers, w.options.MaxRecordBytes = titled{}, counted{}, counted{}, 50
	w.create("a")
	w.add("a", "I", 1, "t1", 1, "x")
	w.start()
	if err := w.observed.waitState(t, "a", bridge.TableFailed); !strings.Contains(err, "more than kafka.max_message_bytes 50") {
		t.Errorf("error %q", err)
	}
}

func TestHeadersNeedAFormat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Envelope = titled{}
	w.create("a")
	w.add("a", "I", 1, "t1", 1, "x")
	w.start()
	if err := w.observed.waitState(t, "a", bridge.TableFailed); !strings.Contains(err, "record headers") {
		t.Errorf("error %q", err)
	}
}

// What two outputs publish of a history of rows, whatever fails and whenever the bridge is stopped: the reckoning is the test's own.
func TestTwoOutputsUnderFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		w.two()
		w.create("a", "b")
		w.options.CommitRecords = rapid.IntRange(1, 9).Draw(rt, "commit")
		w.source.PageRows = rapid.IntRange(1, 9).Draw(rt, "page")
		want := w.history(rt)
		publishes := rapid.SliceOfN(rapid.IntRange(1, 80), 0, 5).Draw(rt, "failing publishes")
		commits := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 3).Draw(rt, "failing commits")
		w.ledger.onPublish = func(n int, _ *change.Record) error { return failAt(n, publishes) }
		w.ledger.onCommit = func(n int) error { return failAt(n, commits) }
		for len(w.ledger.records) < len(want) {
			before := len(w.ledger.records)
			stop := w.start()
			w.ledger.wait(t, "progress", func(r []string) bool { return len(r) > before || len(r) >= len(want) })
			stop()
		}
		for i, r := range w.ledger.records {
			if i >= len(want) || r != want[i] && r != want[i]+" true" && r != want[i]+" false" {
				rt.Fatalf("record %d is %q, want %q", i, r, want[min(i, len(want)-1)])
			}
		}
	})
}

// history writes rows and gives the records that two outputs make of them, without last flags.
func (w *world) history(rt *rapid.T) (want []string) {
	tx, counts := 1, map[string]int{}
	number := func(output, table string, n int, op string) string {
		counts[output]++
		counts[output+table]++
		return fmt.Sprintf("%05d %s t%d %d/%d", n, op, tx, counts[output], counts[output+table])
	}
	rows := rapid.IntRange(1, 30).Draw(rt, "rows")
	for n := 1; n <= rows; n++ {
		if rapid.IntRange(0, 3).Draw(rt, "next tx") == 0 {
			tx++
			clear(counts)
		}
		table, id := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "table"), 100+n
		switch name := fmt.Sprint("t", tx); rapid.IntRange(0, 2).Draw(rt, "operation") {
		case 0:
			w.add(table, "I", n, name, id, "x")
			want = append(want, fmt.Sprintf("%s %d %s", table, id, number("whole", table, n, "INSERT")), fmt.Sprintf("split.%s %d %s", table, id, number("split", table, n, "INSERT")))
		case 1:
			w.add(table, "D", n, name, id, "x")
			want = append(want, fmt.Sprintf("%s %d %s", table, id, number("whole", table, n, "DELETE")), fmt.Sprintf("split.%s %d %s", table, id, number("split", table, n, "DELETE")),
				fmt.Sprintf("split.%s %d tombstone", table, id))
		default:
			w.add(table, "B", n, name, id, "x")
			w.add(table, "U", n, name, id+1000, "x")
			want = append(want, fmt.Sprintf("%s %d %s", table, id+1000, number("whole", table, n, "UPDATE")), fmt.Sprintf("split.%s %d %s", table, id, number("split", table, n, "DELETE")),
				fmt.Sprintf("split.%s %d tombstone", table, id), fmt.Sprintf("split.%s %d %s", table, id+1000, number("split", table, n, "INSERT")))
		}
	}
	return want
}

// A sink that refuses a record of the second output loses nothing of the first: neither leaves before both can.
func TestSecondOutputIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.two()
	w.create("a", "b")
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("b", "I", 2, "t2", 2, "x")
	refuse := errors.New("topic denied")
	w.ledger.onPublish = func(_ int, r *change.Record) error {
		if r.Topic == "split.a" && refuse != nil {
			return &change.TableError{Table: r.Table, Err: fault.New(fault.Table, "", refuse, "")}
		}
		return nil
	}
	w.start()
	w.want(w.ledger.wait(t, "b's row", count(2)), "b 2 00002 INSERT t2 1/1 true", "split.b 2 00002 INSERT t2 1/1 true")
	w.observed.waitState(t, "a", bridge.TableFailed)
	w.ledger.mu.Lock()
	refuse = nil
	w.ledger.mu.Unlock()
	got := w.ledger.wait(t, "a's row", count(4))
	w.want(got[2:], "a 1 00001 INSERT t1 1/1 true", "split.a 1 00001 INSERT t1 1/1 true")
	if topics := slices.Sorted(maps.Keys(w.ledger.topics)); !slices.Equal(topics, []string{"a", "b", "split.a", "split.b"}) {
		t.Errorf("topics %v", topics)
	}
}
