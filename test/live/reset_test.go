package live

import (
	"fmt"
	"strings"
	"testing"

	"ctbridge/test/qlikwriter"
)

// everywhere runs a test on both real databases.
func everywhere(t *testing.T, run func(t *testing.T, db database)) {
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

// remake drops the change table and makes it again, as a reload of the task does.
func (db database) remake(t testing.TB, table string, more ...string) {
	t.Helper()
	db.Exec(t, "DROP TABLE %s", db.Name(table+"__ct"))
	s := qlikwriter.Parcel(table)
	s.NoBase, s.Columns = true, append(s.Columns, more...)
	db.Create(t, s)
}

func sequences(t testing.TB, messages []message) (out []string) {
	t.Helper()
	for _, ev := range decode(t, messages) {
		out = append(out, strings.TrimLeft(ev.Headers.ChangeSequence[16:], "0"))
	}
	return out
}

// A change table made again with sequences below the position: the table fails, with the hole, and another goes on; continue publishes what is
// there, tells the hole in log and metric, and the run after it needs no override.
func TestResetMadeAgainWithLowerSequences(t *testing.T) {
	everywhere(t, func(t *testing.T, db database) {
		db.Create(t, qlikwriter.Parcel("parcel"))
		db.Create(t, qlikwriter.Parcel("depot"))
		b := newBridge(t, db, "")
		b.start()
		for n := 11; n <= 15; n++ {
			db.put(t, "parcel", n, n, "a", nil)
		}
		b.until(5, "parcel")
		db.remake(t, "parcel")
		b.polls(2) // it sees the table gone or empty
		db.put(t, "parcel", 2, 102, "new", nil)
		db.put(t, "parcel", 20, 120, "new", nil)
		db.put(t, "depot", 21, 1, "x", nil)
		b.until(1, "depot")
		waitFor(t, func() bool { return strings.Contains(b.notStreaming(db.ID("parcel").String()), "source_rewound") })
		if problem := b.notStreaming(db.ID("parcel").String()); !strings.Contains(problem, qlikwriter.Seq(15)) || !strings.Contains(problem, "source.on_reset") {
			t.Errorf("/readyz says %q", problem)
		}
		if got := b.until(5, "parcel"); len(got) != 5 {
			t.Errorf("%d messages of a table that has failed, want 5", len(got))
		}
		b.stop()
		t.Setenv("LIVE_ON_RESET", "continue")
		b.log.reset()
		b.start()
		got := b.until(7, "parcel")
		gaps, late := b.metric("ctbridge_gaps_total"), b.metric("ctbridge_late_rows_total")
		b.stop()
		if want := "[2 11 12 13 14 15 20]"; fmt.Sprint(sequences(t, got)) != want || gaps != 1 || late != 0 || !b.hasLogged("hole in the changes") {
			t.Errorf("sequences %v, want %s; %v gaps, %v late", sequences(t, got), want, gaps, late)
		}
		t.Setenv("LIVE_ON_RESET", "fail")
		db.put(t, "parcel", 22, 122, "new", nil)
		b.start()
		if got := b.until(8, "parcel"); len(got) != 8 {
			t.Errorf("%d messages, want 8", len(got))
		}
		b.stop()
	})
}

// Case 35: a change table made again with sequences above the position while the bridge runs: reading goes on. While it is stopped, PostgreSQL's
// identity of the table tells the same; MariaDB has none, so that the row at the position may have been purged together with unread ones.
func TestCase35_MadeAgainWithHigherSequences(t *testing.T) {
	everywhere(t, func(t *testing.T, db database) {
		db.Create(t, qlikwriter.Parcel("parcel"))
		b := newBridge(t, db, registry(t))
		b.start()
		db.put(t, "parcel", 1, 1, "a", nil)
		b.until(1, "parcel")
		db.remake(t, "parcel")
		db.put(t, "parcel", 5, 2, "b", nil)
		b.until(2, "parcel")
		b.stop()
		db.remake(t, "parcel", "extra int")
		db.put(t, "parcel", 9, 3, "c", nil, 4)
		b.log.reset()
		b.start()
		b.started()
		if db.engine == "mysql" {
			waitFor(t, func() bool { return strings.Contains(b.notStreaming(db.ID("parcel").String()), "rows_purged") })
			b.stop()
			return
		}
		got := b.until(3, "parcel")
		gaps := b.metric("ctbridge_gaps_total")
		b.stop()
		wantRows(t, rows(t, got), `{"fee":null,"id":1,"status":"a"}`, `{"fee":null,"id":2,"status":"b"}`, `{"extra":4,"fee":null,"id":3,"status":"c"}`)
		if !b.hasLogged("made again") || gaps != 0 {
			t.Errorf("%v gaps; the log tells that the table was made again: %v", gaps, b.hasLogged("made again"))
		}
	})
}

// Cases 23 and 25: a purge behind the reader is nothing; one that passed the reader while it was away is a hole.
func TestCase25_PurgedUnread(t *testing.T) {
	everywhere(t, func(t *testing.T, db database) {
		purge := func(upto int) {
			db.Exec(t, "DELETE FROM %s WHERE header__change_seq <= '%s'", db.Name("parcel__ct"), qlikwriter.Seq(upto))
		}
		db.Create(t, qlikwriter.Parcel("parcel"))
		b := newBridge(t, db, "")
		b.start()
		db.put(t, "parcel", 1, 1, "a", nil)
		b.until(1, "parcel")
		purge(1)
		b.polls(3)
		db.put(t, "parcel", 5, 2, "b", nil)
		b.until(2, "parcel")
		b.stop()
		for n := 6; n <= 9; n++ {
			db.put(t, "parcel", n, n, "c", nil)
		}
		purge(7)
		b.log.reset()
		b.start()
		b.started()
		waitFor(t, func() bool { return strings.Contains(b.notStreaming(db.ID("parcel").String()), "rows_purged") })
		b.stop()
		t.Setenv("LIVE_ON_RESET", "continue")
		b.log.reset()
		b.start()
		got := b.until(4, "parcel")
		gaps := b.metric("ctbridge_gaps_total")
		b.stop()
		if want := "[1 5 8 9]"; fmt.Sprint(sequences(t, got)) != want || gaps != 1 {
			t.Errorf("sequences %v, want %s; %v gaps, want 1", sequences(t, got), want, gaps)
		}
	})
}
