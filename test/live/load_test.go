package live

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// loadedRows is the size of the table that is loaded.
const loadedRows = 100_000

// ledger is a table with a composite key of text and number, whose collation knows no case on MariaDB.
func ledger() qlikwriter.Shape {
	return qlikwriter.Shape{Table: "ledger", Columns: []string{"branch varchar(20) NOT NULL", "id int NOT NULL", "note varchar(40)"}, Key: []string{"branch", "id"}}
}

func branch(id int) string { return []string{"a-b", "ab", "B", "größe"}[id%4] }

// Case 87: a load of 100,000 rows under concurrent writes is killed with -9 at 40 %. No committed chunk is repeated, and who applies the messages in
// order ends with the table, row by row.
func TestCase87_LoadKilledUnderWrites(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			db.Create(t, ledger())
			fillLedger(t, db)
			b := newBridge(t, db, "full_load: {mode: initial, chunk_rows: 2000}\n")
			stopWriting, written := make(chan struct{}), make(chan int, 1)
			go func() { written <- writeLedger(t, db, stopWriting) }()
			begin := time.Now()
			b.start()
			b.started()
			waitFor(t, func() bool { return b.metric("ctbridge_load_rows_total") >= 0.4*loadedRows })
			before := b.metric("ctbridge_load_rows_total")
			b.kill()
			b.log.reset()
			b.start()
			b.started()
			waitFor(t, func() bool { return b.hasLogged("full load done") })
			t.Logf("loaded %s after the first start, kill included", time.Since(begin).Round(time.Millisecond))
			after := b.metric("ctbridge_load_rows_total")
			close(stopWriting)
			changes := <-written
			waitFor(t, func() bool { return b.caughtUp() })
			late := b.metric("ctbridge_late_rows_total")
			b.stop()
			rows, refreshed := b.applied(t)
			t.Logf("%v rows before the kill, %v after it; %d changes; %d REFRESH messages", before, after, changes, refreshed)
			if want := ledgerRows(t, db); !maps.Equal(rows, want) {
				t.Fatalf("%d rows from the messages, %d in the table, first difference %s", len(rows), len(want), difference(rows, want))
			}
			if float64(refreshed) < before+after || float64(refreshed) > before+after+2000 {
				t.Errorf("%d REFRESH messages, %v and %v were counted before and after the kill", refreshed, before, after)
			}
			if late != 0 {
				t.Errorf("%v late rows", late)
			}
		})
	}
}

func fillLedger(t testing.TB, db database) {
	t.Helper()
	for from := 0; from < loadedRows; from += 1000 {
		text := "INSERT INTO " + db.Name("ledger") + " VALUES "
		for id := from; id < from+1000; id++ {
			if id > from {
				text += ", "
			}
			text += fmt.Sprintf("('%s', %d, 'old')", branch(id), id)
		}
		db.Exec(t, "%s", text)
	}
}

// writeLedger changes base and change table together until it is told to stop, and tells how often.
func writeLedger(t testing.TB, db database, stop chan struct{}) (changes int) {
	for n := 1; ; n++ {
		select {
		case <-stop:
			return n - 1
		default:
		}
		id := n * 7919 % (loadedRows + 1000)
		key := fmt.Sprintf("branch = '%s' AND id = %d", branch(id), id)
		row := qlikwriter.Row{Seq: qlikwriter.Seq(n), Tx: fmt.Sprint("t", n), Values: []any{branch(id), id, fmt.Sprint("n", n)}}
		base := fmt.Sprintf("UPDATE %s SET note = 'n%d' WHERE %s", db.Name("ledger"), n, key)
		row.Oper = "U"
		switch {
		case id >= loadedRows && n < loadedRows: // each id comes once before it comes again
			row.Oper, base = "I", fmt.Sprintf("INSERT INTO %s VALUES ('%s', %d, 'n%d')", db.Name("ledger"), branch(id), id, n)
		case n%5 == 0:
			row.Oper, base = "D", "DELETE FROM "+db.Name("ledger")+" WHERE "+key
		}
		tx, err := db.DB.Begin()
		if err != nil {
			t.Error(err)
			return n - 1
		}
		if _, err := tx.ExecContext(context.Background(), base); err != nil {
			t.Errorf("%s: %v", base, err)
		}
		db.Add(t, tx, ledger(), row)
		if err := tx.Commit(); err != nil {
			t.Error(err)
			return n - 1
		}
	}
}

// caughtUp tells that the newest change has been published.
func (b *bridge) caughtUp() bool {
	polls, published := b.metric("ctbridge_poll_duration_seconds_count"), b.metric("ctbridge_events_published_total")
	waitFor(b, func() bool { return b.metric("ctbridge_poll_duration_seconds_count") >= polls+5 })
	return b.metric("ctbridge_events_published_total") == published && b.metric("ctbridge_checkpoint_age_seconds") == 0
}

// applied consumes the topic and applies its messages partition by partition: the rows by key, and how many messages were REFRESH.
func (b *bridge) applied(t *testing.T) (rows map[string]string, refreshed int) {
	t.Helper()
	rows = make(map[string]string)
	for _, m := range b.consume("ledger") {
		ev := m.event(t)
		key := fmt.Sprint(ev.Data["branch"], "/", ev.Data["id"])
		switch ev.Headers.Operation {
		case "DELETE":
			delete(rows, key)
			continue
		case "REFRESH":
			refreshed++
		}
		rows[key] = fmt.Sprint(ev.Data["note"])
	}
	return rows, refreshed
}

func ledgerRows(t *testing.T, db database) map[string]string {
	t.Helper()
	result, err := db.DB.Query("SELECT branch, id, note FROM " + db.Name("ledger"))
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	rows := make(map[string]string)
	for result.Next() {
		var branch, note string
		var id int
		if err := result.Scan(&branch, &id, &note); err != nil {
			t.Fatal(err)
		}
		rows[fmt.Sprint(branch, "/", id)] = note
	}
	return rows
}

func difference(got, want map[string]string) string {
	for key, note := range want {
		if got[key] != note {
			return fmt.Sprintf("%s: %q, want %q", key, got[key], note)
		}
	}
	for key, note := range got {
		if _, there := want[key]; !there {
			return fmt.Sprintf("%s: %q, want none", key, note)
		}
	}
	return "none"
}

// snapshot runs the verb against the running task and gives what it says.
func (b *bridge) snapshot(arguments ...string) string {
	b.Helper()
	out, err := exec.Command(binary, append([]string{"snapshot", b.config}, arguments...)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// The verb asks a running task for a part of one table; the task answers, refuses what makes no sense, and loads exactly that part.
func TestSnapshotOfARunningTask(t *testing.T) {
	t.Parallel()
	db := postgres(t)
	db.Create(t, ledger())
	db.Exec(t, "INSERT INTO %s SELECT 'a-b', i, 'old' FROM generate_series(1, 100) i", db.Name("ledger"))
	b := newBridge(t, db, "")
	b.start()
	b.started()
	if said := b.snapshot("--table", "public.ledger", "--cancel"); !strings.Contains(said, "refused: there is no load to cancel") {
		t.Errorf("cancel said %q", said)
	}
	if said := b.snapshot("--table", "public.ledger", "--where", "t.id <= 10"); !strings.Contains(said, "public.ledger: load ") {
		t.Errorf("snapshot said %q", said)
	}
	b.until(10, "ledger")
	b.stop()
	b.log.reset()
	b.start()
	b.started()
	b.polls(20)
	if got := b.consume("ledger"); len(got) != 10 || got[0].event(t).Headers.Operation != "REFRESH" {
		t.Fatalf("%d messages, want 10, all REFRESH", len(got))
	}
	b.stop()
}
