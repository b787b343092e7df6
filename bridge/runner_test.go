package bridge_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/test/qlikwriter"
)

// Case 20: events of several tables leave in the order of their sequences, with gap-free counters and a last flag per transaction.
func TestCase20_OrderAndCounters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("depot", "parcel")
	w.add("parcel", "I", 2, "t1", 1, "a")
	w.add("depot", "I", 1, "t1", 7, "d")
	w.add("depot", "I", 3, "t1", 8, "e")
	w.add("parcel", "B", 4, "t2", 1, "a")
	w.add("parcel", "U", 4, "t2", 1, "b")
	w.add("depot", "D", 5, "t3", 7, "d")
	stop := w.start()
	w.ledger.wait(t, "five records", count(5))
	w.add("parcel", "I", 6, "t3", 2, "c") // the transaction goes on after its end was told: it counts on
	got := w.ledger.wait(t, "sixth record", count(6))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got,
		"depot 7 1 INSERT +(7,d,null) #1 false v1", "parcel 1 2 INSERT +(1,a,null) #2 false v1", "depot 8 3 INSERT +(8,e,null) #3 true v1",
		"parcel 1 4 UPDATE -(1,a,null) +(1,b,null) #1 true v1", "depot 7 5 DELETE -(7,d,null) #1 true v1", "parcel 2 6 INSERT +(2,c,null) #2 true v1")
}

// The last flag comes although the transaction's last row is one that is left out.
func TestTruncateSkippedLeavesTheLastFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("parcel")
	w.add("parcel", "I", 1, "t1", 1, "a")
	w.add("parcel", "TRUNCATE", 2, "t1", nil, "")
	w.add("parcel", "I", 3, "t2", 2, "b")
	stop := w.start()
	got := w.ledger.wait(t, "two records", count(2))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got, "parcel 1 1 INSERT +(1,a,null) #1 true v1", "parcel 2 3 INSERT +(2,b,null) #1 true v1")
	if w.observed.dropped["truncate"] != 1 {
		t.Errorf("dropped %v, want one truncate", w.observed.dropped)
	}
}

func TestTruncateFailStopsTheTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Truncate = bridge.TruncateFail
	w.create("parcel", "depot")
	w.add("parcel", "I", 1, "t1", 1, "a")
	w.add("parcel", "TRUNCATE", 2, "t2", nil, "")
	w.add("parcel", "I", 3, "t3", 2, "b")
	w.add("depot", "I", 4, "t4", 3, "c")
	w.start()
	got := w.ledger.wait(t, "both good records", count(2))
	w.want(got, "parcel 1 1 INSERT +(1,a,null) #1 true v1", "depot 3 4 INSERT +(3,c,null) #1 true v1")
	if err := w.observed.waitState(t, "parcel", bridge.TableFailed); !strings.Contains(err, "source.qlik.truncate") {
		t.Errorf("error %q", err)
	}
}

// Case 91: a row that cannot be rendered stops its table; nothing of it is lost, the counters stay without gap, the others go on.
func TestCase91_BadRowStopsItsTableAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("bad", "good")
	w.add("bad", "I", 1, "t1", 1, "a")
	w.add("bad", "I", 2, "t1", 2, "poison")
	w.add("good", "I", 3, "t1", 3, "c")
	w.add("bad", "I", 4, "t1", 4, "d")
	w.add("good", "I", 5, "t2", 5, "e")
	w.start()
	got := w.ledger.wait(t, "three records", count(3))
	w.want(got, "bad 1 1 INSERT +(1,a,null) #1 false v1", "good 3 3 INSERT +(3,c,null) #2 true v1", "good 5 5 INSERT +(5,e,null) #1 true v1")
	if err := w.observed.waitState(t, "bad", bridge.TableFailed); !strings.Contains(err, qlikwriter.Seq(2)) || !strings.Contains(err, "bad") {
		t.Errorf("error %q does not name table and position", err)
	}
	w.writer.Exec(t, "UPDATE bad__ct SET status = 'mended' WHERE status = 'poison'")
	got = w.ledger.wait(t, "the mended rows", count(5))
	w.want(got[3:], "bad 2 2 INSERT +(2,mended,null) #3 false v1", "bad 4 4 INSERT +(4,d,null) #4 true v1")
	w.observed.waitState(t, "bad", bridge.TableStreaming)
}

// Case 75: a key change split in two leaves as one row: both events or none.
func TestCase75_KeyChangeInTwo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Envelope, w.options.CommitRecords = plain{split: true}, 1
	w.create("parcel")
	w.add("parcel", "B", 31, "t1", 5, "a")
	w.add("parcel", "U", 31, "t1", 6, "a")
	w.add("parcel", "I", 32, "t2", 9, "z")
	w.start()
	got := w.ledger.wait(t, "three records", count(3))
	w.want(got, "parcel 5 31 DELETE -(5,a,null) #1 false v1", "parcel 6 31 INSERT +(6,a,null) #2 true v1", "parcel 9 32 INSERT +(9,z,null) #1 true v1")
}

// Metadata of a version comes before its first record, once (I9).
func TestMetadataFirstAndOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().MetadataTopic = "meta"
	w.create("parcel")
	w.add("parcel", "I", 1, "t1", 1, "a")
	stop := w.start()
	w.ledger.wait(t, "two records", count(2))
	stop()
	w.add("parcel", "I", 2, "t2", 2, "b")
	w.start()
	got := w.ledger.wait(t, "three records", count(3))
	w.want(got, "meta parcel metadata v1", "parcel 1 1 INSERT +(1,a,null) #1 true v1", "parcel 2 2 INSERT +(2,b,null) #1 true v1")
	if w.ledger.topics["meta"] != change.MetadataTopic || w.ledger.topics["parcel"] != change.DataTopic {
		t.Errorf("topics %v", w.ledger.topics)
	}
}

// Where records become visible one by one, metadata is committed before the first record that needs it, with what came before it.
func TestMetadataIsCommittedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().MetadataTopic, w.options.NoticesFirst = "meta", true
	w.ledger.onPublish = func(_ int, r *change.Record) error {
		if r.Topic != "meta" && !contains(w.ledger.records, "meta "+r.Topic+" metadata v1") {
			return fault.New(fault.Fatal, "", errors.New(r.Topic+" before its metadata"), "")
		}
		return nil
	}
	w.create("depot", "parcel")
	w.add("depot", "I", 1, "t1", 1, "a")
	w.add("depot", "I", 2, "t1", 2, "b")
	w.add("parcel", "I", 3, "t1", 3, "c")
	stop := w.start()
	got := w.ledger.wait(t, "all records", count(5))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.want(got, "meta depot metadata v1", "depot 1 1 INSERT +(1,a,null) #1 false v1", "depot 2 2 INSERT +(2,b,null) #2 false v1",
		"meta parcel metadata v1", "parcel 3 3 INSERT +(3,c,null) #3 true v1")
}

// A row whose transaction goes on beyond the horizon waits for the next one: no last flag is told too early, none stays away.
func TestLastFlagWaitsAtTheHorizon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source.Horizon = source.HorizonOptions{Policy: source.PolicyStatus, MaxWait: time.Hour}
	w.writer.Exec(t, "CREATE TABLE attrep_status (task_name TEXT, source_timestamp_applied TIMESTAMP(6))")
	w.writer.Exec(t, "INSERT INTO attrep_status VALUES ('t', '2023-09-11 03:23:25.000000')")
	w.create("parcel")
	later := qlikwriter.Day.Add(time.Second)
	w.add("parcel", "I", 1, "t0", 0, "z")
	w.add("parcel", "I", 2, "t1", 1, "a")
	w.writer.Add(t, w.writer.DB, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.SeqAt(later, 3), Oper: "I", Tx: "t1", Values: []any{2, "b", nil}})
	w.start()
	got := w.ledger.wait(t, "the first record", count(1))
	w.want(got, "parcel 0 1 INSERT +(0,z,null) #1 true v1")
	w.writer.Exec(t, "UPDATE attrep_status SET source_timestamp_applied = '2023-09-11 03:23:26.000000'")
	got = w.ledger.wait(t, "all records", count(3))
	w.want(got[1:], "parcel 1 2 INSERT +(1,a,null) #1 false v1", "parcel 2 3 INSERT +(2,b,null) #2 true v1")
}

// Case 78 and 77: a topic that cannot be had stops its table; the others go on, and it is tried again.
func TestCase77_DeniedTopicStopsItsTableAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	denied := fault.New(fault.Table, "topic bad", errors.New("not authorised"), "grant it")
	w.ledger.onTopic = func(name string) error {
		if name == "bad" && denied != nil {
			return denied
		}
		return nil
	}
	w.create("bad", "good")
	w.add("bad", "I", 1, "t1", 1, "a")
	w.add("good", "I", 2, "t2", 2, "b")
	w.start()
	w.ledger.wait(t, "the good record", count(1))
	w.observed.waitState(t, "bad", bridge.TableFailed)
	w.ledger.mu.Lock()
	denied = nil
	w.ledger.mu.Unlock()
	got := w.ledger.wait(t, "the bad table's record", count(2))
	w.want(got, "good 2 2 INSERT +(2,b,null) #1 true v1", "bad 1 1 INSERT +(1,a,null) #1 true v1")
}

// Case 70: while a schema cannot be registered only its table waits.
func TestCase70_UnknownSchemaWaitsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	away := make(chan struct{})
	w.output().Format = lines{fail: func(topic string) error {
		select {
		case <-away:
			return nil
		default:
			if topic == "new" {
				return errors.New("registry away")
			}
			return nil
		}
	}}
	w.create("known", "new")
	w.add("new", "I", 1, "t1", 1, "a")
	w.add("known", "I", 2, "t2", 2, "b")
	w.start()
	w.ledger.wait(t, "the known record", count(1))
	w.add("known", "I", 3, "t3", 3, "c")
	w.ledger.wait(t, "more of the known table", count(2))
	close(away)
	w.ledger.wait(t, "the new table's record", count(3))
}

// A record that the sink refuses stops its table and nothing else; the transaction is repeated without it.
func TestCase71_RefusedRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.onPublish = func(_ int, r *change.Record) error {
		if strings.Contains(string(r.Value), "huge") {
			return &change.TableError{Table: r.Table, Err: fault.New(fault.Poison, "publish", errors.New("message too large"), "")}
		}
		return nil
	}
	w.create("a", "b")
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("a", "I", 2, "t2", 2, "huge")
	w.add("b", "I", 3, "t3", 3, "y")
	w.start()
	got := w.ledger.wait(t, "both small records", count(2))
	if len(got) != 2 || !contains(got, "a 1 1 INSERT +(1,x,null) #1 true v1") || !contains(got, "b 3 3 INSERT +(3,y,null) #1 true v1") {
		t.Fatalf("got %v", got)
	}
	w.observed.waitState(t, "a", bridge.TableFailed)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func TestRecordOverTheLimitStopsItsTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.MaxRecordBytes = 60
	w.create("a", "b")
	w.add("a", "I", 1, "t1", 1, strings.Repeat("x", 100))
	w.add("b", "I", 2, "t2", 2, "y")
	w.start()
	w.ledger.wait(t, "the small record", count(1))
	if err := w.observed.waitState(t, "a", bridge.TableFailed); !strings.Contains(err, "kafka.max_message_bytes 60") {
		t.Errorf("error %q", err)
	}
}

// A missing change table is a state of its own; the table joins when it appears.
func TestCase35_DroppedTableComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Rediscover = 10 * time.Millisecond
	w.create("goes", "stays")
	w.add("goes", "I", 1, "t1", 1, "a")
	w.start()
	w.ledger.wait(t, "the first record", count(1))
	w.writer.Exec(t, "DROP TABLE goes__ct")
	w.observed.waitState(t, "goes", bridge.TableMissing)
	w.add("stays", "I", 2, "t2", 2, "b")
	w.ledger.wait(t, "the other table's record", count(2))
	s := qlikwriter.Parcel("goes")
	s.NoBase, s.Columns = true, append(s.Columns, "extra int")
	w.writer.Create(t, s)
	w.writer.Add(t, w.writer.DB, s, qlikwriter.Row{Seq: qlikwriter.Seq(3), Oper: "I", Tx: "t3", Values: []any{3, "c", nil, 4}})
	got := w.ledger.wait(t, "the new table's record", count(3))
	w.want(got[2:], "goes 3 3 INSERT +(3,c,null,4) #1 true v2")
	w.observed.waitState(t, "goes", bridge.TableStreaming)
}

func TestNewTablesJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Rediscover = 10 * time.Millisecond
	w.create("a")
	w.add("a", "I", 1, "t1", 1, "x")
	w.start()
	w.ledger.wait(t, "the first record", count(1))
	w.create("b")
	w.add("b", "I", 2, "t2", 2, "y")
	w.ledger.wait(t, "the new table's record", count(2))
}

// A fenced sink ends the task; a damaged checkpoint too.
func TestFatalErrorsEndTheTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.onCommit = func(int) error { return fault.New(fault.Fatal, "commit", errors.New("fenced"), "") }
	w.create("a")
	w.add("a", "I", 1, "t1", 1, "x")
	w.ends("fenced")

	w = newWorld(t)
	w.ledger.entries["table/x"] = []byte("{")
	w.ends(`checkpoint record "table/x"`)
}

func TestNeighbourAwayAtTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.StartupTimeout = time.Millisecond
	w.ledger.onOpen = func() error { return fault.New(fault.Retry, "kafka 127.0.0.1:1", os.ErrDeadlineExceeded, "") }
	w.ends("source.startup_timeout")
}

// What was read before a stop is published and checkpointed; the next start goes on behind it.
func TestDrainAndGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("a")
	for n := 1; n <= 300; n++ {
		w.add("a", "I", n, fmt.Sprint("t", n/3), n, "x")
	}
	for len(w.ledger.records) < 300 {
		before := len(w.ledger.records)
		stop := w.start()
		w.ledger.wait(t, "more records", count(before+1))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	checkLedger(t, w.ledger.records, 300)
}

// checkLedger checks that the records of one table are its rows 1..n, each once, in order, with right counters.
func checkLedger(t *testing.T, records []string, n int) {
	t.Helper()
	if len(records) != n {
		t.Fatalf("%d records, want %d", len(records), n)
	}
	for i, r := range records {
		id := i + 1
		counter := id%3 + 1
		if id < 3 {
			counter = id
		}
		want := fmt.Sprintf("a %d %d INSERT +(%d,x,null) #%d %v v1", id, id, id, counter, id%3 == 2 || id == n)
		if r != want {
			t.Fatalf("record %d is %q, want %q", i, r, want)
		}
	}
}

// Observers hear a position when a commit has moved it, and again when a later session takes the table over.
func TestPositionsAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("parcel", "idle")
	w.add("parcel", "I", 1, "t1", 1, "a")
	w.add("parcel", "I", 2, "t2", 2, "b")
	stop := w.start()
	w.ledger.wait(t, "both records", count(2))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	told := func() map[string][]change.Position {
		w.observed.mu.Lock()
		defer w.observed.mu.Unlock()
		return maps.Clone(w.observed.reached)
	}
	first := told()["parcel"]
	if len(first) == 0 || first[len(first)-1] != change.Position(qlikwriter.Seq(2)) || len(told()["idle"]) != 0 {
		t.Errorf("told %v", told())
	}
	stop = w.start()
	w.polls(1)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if again := told()["parcel"]; len(again) != len(first)+1 || again[len(again)-1] != change.Position(qlikwriter.Seq(2)) {
		t.Errorf("told again %v after %v", again, first)
	}
}
