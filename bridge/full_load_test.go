package bridge_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/test/qlikwriter"
)

// loading is a world whose tables are loaded in chunks of a size.
func loading(t testing.TB, chunk int) *world {
	w := newWorld(t)
	w.options.Load = bridge.LoadOptions{Mode: bridge.LoadInitial, ChunkRows: chunk}
	return w
}

// preload puts rows 1 to n into a base table, as if they had been there before the change table was.
func (w *world) preload(table string, n int) {
	w.Helper()
	w.writer.Exec(w, "INSERT INTO %s (id, status) WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i, 'old' FROM s", table, n)
}

// both changes a base table and writes the change, in one transaction, as a writer that applies and stores changes does.
func (w *world) both(table, base string, row qlikwriter.Row) {
	w.Helper()
	tx, err := w.writer.DB.Begin()
	if err != nil {
		w.Fatal(err)
	}
	if _, err := tx.Exec(base); err != nil {
		w.Fatalf("%s: %v", base, err)
	}
	w.writer.Add(w, tx, qlikwriter.Parcel(table), row)
	if err := tx.Commit(); err != nil {
		w.Fatal(err)
	}
}

// refreshed gives the keys of the REFRESH records of a table, in order.
func refreshed(records []string, table string) (keys []string) {
	for _, r := range records {
		if f := strings.Fields(r); f[0] == table && slices.Contains(f[1:3], "REFRESH") {
			keys = append(keys, strings.TrimPrefix(strings.Split(strings.SplitN(r, "+(", 2)[1], ",")[0], "("))
		}
	}
	return keys
}

func numbers(n int) (out []string) {
	for i := 1; i <= n; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// replay applies the records of a table in order, as a consumer does, and gives its rows by key.
func replay(records []string, table string) map[string]string {
	rows := make(map[string]string)
	for _, r := range records {
		if !strings.HasPrefix(r, table+" ") {
			continue
		}
		image := func(sign string) string {
			_, after, found := strings.Cut(r, " "+sign+"(")
			if !found {
				return ""
			}
			return after[:strings.Index(after, ")")]
		}
		if row := image("+"); row != "" {
			rows[strings.Split(row, ",")[0]] = row
		} else {
			delete(rows, strings.Split(image("-"), ",")[0])
		}
	}
	return rows
}

func (w *world) content(table string) map[string]string {
	w.Helper()
	result, err := w.writer.DB.Query("SELECT id, status FROM " + table)
	if err != nil {
		w.Fatal(err)
	}
	defer result.Close()
	rows := make(map[string]string)
	for result.Next() {
		var id, status string
		if err := result.Scan(&id, &status); err != nil {
			w.Fatal(err)
		}
		rows[id] = id + "," + status + ",null"
	}
	return rows
}

// Whatever the writer does while a table is loaded, wherever the sink fails and whenever the bridge is stopped: who applies the messages in
// order ends with the table.
func TestLoadConvergesUnderWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := loading(t, rapid.IntRange(1, 9).Draw(rt, "chunk"))
		w.options.CommitRecords = rapid.IntRange(1, 9).Draw(rt, "commit")
		w.create("keyed")
		keyless := qlikwriter.Parcel("loose")
		keyless.Key = nil
		w.writer.Create(t, keyless)
		tables := []string{"keyed", "loose"}
		for _, table := range tables {
			w.preload(table, rapid.IntRange(0, 40).Draw(rt, "rows"))
		}
		failing := rapid.SliceOfN(rapid.IntRange(1, 60), 0, 4).Draw(rt, "failing publishes")
		commits := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 3).Draw(rt, "failing commits")
		w.ledger.onPublish = func(n int, _ *change.Record) error { return failAt(n, failing) }
		w.ledger.onCommit = func(n int) error { return failAt(n, commits) }
		seq := 0
		write := func() {
			seq++
			table, id := rapid.SampledFrom(tables).Draw(rt, "table"), rapid.IntRange(1, 45).Draw(rt, "id")
			w.anyChange(table, id, seq)
		}
		for range rapid.IntRange(0, 5).Draw(rt, "before") {
			write()
		}
		stop := w.start()
		for range rapid.IntRange(0, 25).Draw(rt, "writes") {
			write()
			if rapid.IntRange(0, 15).Draw(rt, "restart") == 0 {
				stop()
				stop = w.start()
			}
		}
		for _, table := range tables {
			want := w.content(table)
			w.ledger.wait(t, table+" as it is", func(r []string) bool { return maps.Equal(replay(r, table), want) })
		}
		stop()
		if w.observed.late != 0 {
			rt.Fatalf("%d rows counted as late", w.observed.late)
		}
	})
}

// anyChange inserts a row that is not there, else updates or deletes it.
func (w *world) anyChange(table string, id, seq int) {
	w.Helper()
	status := fmt.Sprint("s", seq)
	row := qlikwriter.Row{Seq: qlikwriter.Seq(seq), Tx: fmt.Sprint("t", seq), Values: []any{id, status, nil}}
	_, there := w.content(table)[fmt.Sprint(id)]
	switch {
	case !there:
		row.Oper = "I"
		w.both(table, fmt.Sprintf("INSERT INTO %s (id, status) VALUES (%d, '%s')", table, id, status), row)
	case seq%3 == 0:
		row.Oper = "D"
		w.both(table, fmt.Sprintf("DELETE FROM %s WHERE id = %d", table, id), row)
	default:
		row.Oper = "U"
		w.both(table, fmt.Sprintf("UPDATE %s SET status = '%s' WHERE id = %d", table, status, id), row)
	}
}

// Case 87: killed at 40 % of a load; committed chunks are not read again.
func TestCase87_LoadGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	w := loading(t, 5)
	w.create("parcel")
	w.preload("parcel", 100)
	w.ledger.onCommit = func(n int) error {
		if n == 9 { // eight chunks of five are in
			return fault.New(fault.Fatal, "sink", errors.New("killed"), "")
		}
		return nil
	}
	w.ends("killed")
	if n := len(refreshed(w.ledger.records, "parcel")); n != 40 {
		t.Fatalf("%d rows before the kill, want 40", n)
	}
	w.start()
	got := refreshed(w.ledger.wait(t, "all rows", count(100)), "parcel")
	w.want(got, numbers(100)...)
}

// Case 15: a load that is done stays done, though no change has come since.
func TestCase15_LoadedOnce(t *testing.T) {
	t.Parallel()
	w := loading(t, 30)
	w.create("parcel", "empty")
	w.preload("parcel", 100)
	stop := w.start()
	w.ledger.wait(t, "all rows", count(100))
	w.observed.waitState(t, "empty", bridge.TableStreaming)
	stop()
	stop = w.start()
	w.add("parcel", "I", 1, "t1", 101, "new")
	got := w.ledger.wait(t, "the change", count(101))
	stop()
	w.want(got[100:], "parcel 101 1 INSERT +(101,new,null) #1 true v1")
}

// Case 14: a row is in the base table before its change is in the change table: both are told, the change after the row.
func TestCase14_ChangeBehindTheLoad(t *testing.T) {
	t.Parallel()
	w := loading(t, 10)
	w.create("parcel")
	w.add("parcel", "I", 1, "t1", 7, "earlier")
	w.writer.Exec(t, "INSERT INTO parcel VALUES (7, 'earlier', NULL), (8, 'early', NULL)")
	stop := w.start()
	w.ledger.wait(t, "both rows", count(2))
	w.add("parcel", "I", 2, "t2", 8, "early")
	got := w.ledger.wait(t, "the change", count(3))
	stop()
	w.want(got, "parcel 7 REFRESH +(7,earlier,null) #0 false v1", "parcel 8 REFRESH +(8,early,null) #0 false v1",
		"parcel 8 2 INSERT +(8,early,null) #1 true v1")
}

// Case 34: a table that comes later is loaded, the others go on where they were.
func TestCase34_AddedTableIsLoadedAlone(t *testing.T) {
	t.Parallel()
	w := loading(t, 10)
	w.create("a")
	w.preload("a", 3)
	stop := w.start()
	w.ledger.wait(t, "a", count(3))
	stop()
	w.create("b")
	w.preload("b", 2)
	w.add("a", "I", 1, "t1", 4, "new")
	stop = w.start()
	got := w.ledger.wait(t, "b and the change", count(6))
	stop()
	if len(refreshed(got, "a")) != 3 || len(refreshed(got, "b")) != 2 {
		t.Fatalf("records %v", got)
	}
}

// Case 40: a column comes between two chunks; each carries its own columns and version.
func TestCase40_ColumnBetweenChunks(t *testing.T) {
	t.Parallel()
	w := loading(t, 2)
	w.output().MetadataTopic = "meta"
	w.create("parcel")
	w.preload("parcel", 12)
	var once sync.Once
	w.ledger.onCommit = func(int) error {
		once.Do(func() { w.alter("parcel", "ADD COLUMN zone int") })
		return nil
	}
	w.start()
	got := w.ledger.wait(t, "rows and metadata", count(14))
	w.want(refreshed(got, "parcel"), numbers(12)...)
	version := "1"
	for _, r := range got {
		v := r[strings.LastIndex(r, " v")+2:]
		columns := strings.Count(strings.Split(r, " #")[0], ",") + 1
		if v < version || strings.HasPrefix(r, "parcel") && (columns == 4) != (v == "2") {
			t.Errorf("after version %s: %q", version, r)
		}
		version = v
	}
	if version != "2" || !slices.Contains(got, "meta parcel metadata v2") {
		t.Errorf("the last version is %s: %v", version, got)
	}
}

// Case 55: text keys under a collation that ignores case, one row a chunk; and composite keys.
func TestCase55_KeysInTheDatabasesOrder(t *testing.T) {
	t.Parallel()
	w := loading(t, 1)
	w.writer.Create(t, qlikwriter.Shape{Table: "word", Columns: []string{"w varchar(9) COLLATE NOCASE NOT NULL", "n int NOT NULL"}, Key: []string{"w", "n"}})
	w.writer.Exec(t, "INSERT INTO word VALUES ('a-b', 1), ('ab', 1), ('Ab', 2), ('B', 1), ('AB', 3), ('b', 0), ('a_b', 1)")
	w.start()
	got := w.ledger.wait(t, "all rows", count(7))
	w.want(refreshed(got, "word"), "a-b", "a_b", "ab", "Ab", "AB", "b", "B")
}

// Case 77: the topic of the fifth table is denied, at first when it is made, then when it is written to: the others are loaded once.
func TestCase77_DeniedTopicConcernsItsTable(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"create", "publish"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := loading(t, 3)
			tables := []string{"a", "b", "c", "d", "e"}
			w.create(tables...)
			for _, table := range tables {
				w.preload(table, 10)
			}
			var mu sync.Mutex
			denied := true
			refuse := func(topic string) error {
				mu.Lock()
				defer mu.Unlock()
				if denied && topic == "e" {
					return fault.New(fault.Table, "topic e", errors.New("denied"), "")
				}
				return nil
			}
			if at == "create" {
				w.ledger.onTopic = refuse
			} else {
				w.ledger.onPublish = func(_ int, r *change.Record) error {
					if err := refuse(r.Topic); err != nil {
						return &change.TableError{Table: r.Table, Err: err}
					}
					return nil
				}
			}
			w.start()
			w.ledger.wait(t, "four tables", count(40))
			w.observed.waitState(t, "e", bridge.TableFailed)
			mu.Lock()
			denied = false
			mu.Unlock()
			got := w.ledger.wait(t, "the fifth", count(50))
			for _, table := range tables {
				w.want(refreshed(got, table), numbers(10)...)
			}
		})
	}
}

// A slow load holds no other table up, and is not held up by it.
func TestOtherTablesStreamDuringALoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("big", "other")
	w.add("other", "I", 1, "t1", 1, "a")
	stop := w.start()
	w.ledger.wait(t, "a change", count(1))
	stop()
	w.preload("big", 60)
	w.options.Load = bridge.LoadOptions{Mode: bridge.LoadInitial, RowsPerSecond: 20}
	w.start()
	w.ledger.wait(t, "the first chunk", func(r []string) bool { return len(refreshed(r, "big")) >= 20 })
	w.add("big", "I", 2, "t2", 61, "held back")
	w.add("other", "I", 3, "t3", 2, "b")
	got := w.ledger.wait(t, "the other's change", func(r []string) bool { return slices.Contains(r, "other 2 3 INSERT +(2,b,null) #1 true v1") })
	if n := len(refreshed(got, "big")); n >= 60 {
		t.Errorf("%d rows were loaded before the other table's change left", n)
	}
	got = w.ledger.wait(t, "the rest", count(1+60+2))
	w.want(refreshed(got, "big"), numbers(60)...)
	if last := got[len(got)-1]; last != "big 61 2 INSERT +(61,held back,null) #1 true v1" {
		t.Errorf("the last record is %q", last)
	}
	w.observed.mu.Lock()
	defer w.observed.mu.Unlock()
	progress := w.observed.loaded["big"]
	if last := progress[len(progress)-1]; last.Done != 60 || last.Total != 60 || last.State != "done" || w.observed.late != 0 {
		t.Errorf("progress %+v, %d late", last, w.observed.late)
	}
}

// A row that cannot be told stops its table behind the rows before it; mended, the load goes on there.
func TestBadRowStopsTheLoad(t *testing.T) {
	t.Parallel()
	for bad, hint := range map[string]string{"'poison'": "cannot be rendered", "x'00'": `row with key "i3"`} {
		t.Run(bad, func(t *testing.T) {
			t.Parallel()
			w := loading(t, 10)
			w.create("parcel", "good")
			w.preload("parcel", 5)
			w.preload("good", 2)
			w.writer.Exec(t, "UPDATE parcel SET status = %s WHERE id = 3", bad)
			w.start()
			w.ledger.wait(t, "the rows before", count(4))
			if err := w.observed.waitState(t, "parcel", bridge.TableFailed); !strings.Contains(err, hint) {
				t.Errorf("error %q, want %q", err, hint)
			}
			w.writer.Exec(t, "UPDATE parcel SET status = 'mended' WHERE id = 3")
			got := w.ledger.wait(t, "the rest", count(7))
			w.want(refreshed(got, "parcel"), numbers(5)...)
			w.observed.waitState(t, "parcel", bridge.TableStreaming)
		})
	}
}

// Without a base table, or with one that lacks a column, there is nothing to load: the table stops and says why.
func TestLoadNeedsTheBaseTable(t *testing.T) {
	t.Parallel()
	w := loading(t, 10)
	shape := qlikwriter.Parcel("alone")
	shape.NoBase = true
	w.writer.Create(t, shape)
	w.create("narrow")
	w.writer.Exec(t, "ALTER TABLE narrow DROP COLUMN fee")
	w.start()
	for table, want := range map[string]string{"alone": "base table alone is not there", "narrow": `has no column "fee"`} {
		if err := w.observed.waitState(t, table, bridge.TableFailed); !strings.Contains(err, want) {
			t.Errorf("%s: error %q, want %q", table, err, want)
		}
	}
}

// Case 17: what lies in the change table already is told, or not, as start_at says; a restart does not ask again.
func TestCase17_StartAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start bridge.StartAt
		want  int // rows of 1 to 1000 that are told
	}{
		"earliest":  {bridge.StartAt{}, 1000},
		"now":       {bridge.StartAt{Now: true}, 0},
		"sequence":  {bridge.StartAt{After: change.Position(qlikwriter.Seq(990))}, 10},
		"timestamp": {bridge.StartAt{Time: qlikwriter.Day}, 1000},
		"later":     {bridge.StartAt{Time: qlikwriter.Day.Add(time.Second)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.options.Start, w.options.CommitRecords = c.start, 500
			w.create("parcel", "empty")
			tx, err := w.writer.DB.Begin()
			if err != nil {
				t.Fatal(err)
			}
			for n := 1; n <= 1000; n++ {
				w.writer.Add(t, tx, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: "t1", Values: []any{n, "x", nil}})
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			stop := w.start()
			w.ledger.wait(t, "the rows of before", func(r []string) bool { return len(r) == c.want && (c.want == 1000 || w.ledger.holds("load/")) })
			at := func(n int) qlikwriter.Row {
				return qlikwriter.Row{Seq: qlikwriter.SeqAt(qlikwriter.Day.Add(time.Hour), n), Oper: "I", Tx: fmt.Sprint("u", n), Values: []any{n, "new", nil}}
			}
			w.writer.Add(t, w.writer.DB, qlikwriter.Parcel("parcel"), at(1001))
			w.ledger.wait(t, "the new row", count(c.want+1))
			stop()
			w.writer.Add(t, w.writer.DB, qlikwriter.Parcel("parcel"), at(1002))
			w.writer.Add(t, w.writer.DB, qlikwriter.Parcel("empty"), at(1003))
			stop = w.start()
			got := w.ledger.wait(t, "the rows of the pause", count(c.want+3))
			stop()
			if len(got) != c.want+3 || w.observed.late != 0 {
				t.Fatalf("%d records, want %d; %d late", len(got), c.want+3, w.observed.late)
			}
		})
	}
}

// holds tells that an entry of a kind is committed.
func (l *ledger) holds(prefix string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.entries {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// A change that becomes visible below the fence while the table is loaded, or below the start, is found afterwards, and those that were there
// are not told.
func TestLateRowsBelowAStart(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]bridge.LoadOptions{"load": {Mode: bridge.LoadInitial, RowsPerSecond: 5}, "now": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.options.Load, w.options.Start = options, bridge.StartAt{Now: true}
			begin := time.Now()
			w.source.Now = func() time.Time { return qlikwriter.Day.Add(time.Second + time.Since(begin)) }
			w.create("parcel")
			w.preload("parcel", 10)
			w.add("parcel", "I", 1, "t1", 1, "known")
			w.add("parcel", "I", 3, "t3", 2, "known")
			w.start()
			loaded := 0
			if name == "load" {
				loaded = 10
				w.ledger.wait(t, "a chunk", count(5))
			} else {
				w.ledger.wait(t, "the start", func([]string) bool { return w.ledger.holds("load/") })
			}
			w.add("parcel", "I", 2, "t2", 3, "late")
			w.ledger.wait(t, "the late row", count(loaded+1))
			w.add("parcel", "I", 4, "t4", 4, "next")
			got := w.ledger.wait(t, "the next row", count(loaded+2))
			w.want(got[loaded:], "parcel 3 2 INSERT +(3,late,null) #1 true v1", "parcel 4 4 INSERT +(4,next,null) #1 true v1")
		})
	}
}
