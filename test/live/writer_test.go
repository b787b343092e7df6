package live

import (
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// openWriter leaves row 3 uncommitted, commits row 4 above it, and returns how to end the open writer.
func openWriter(t *testing.T, db database) (finish func()) {
	t.Helper()
	s := qlikwriter.Parcel("parcel")
	tx, err := db.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	db.Add(t, tx, s, qlikwriter.Row{Seq: qlikwriter.Seq(3), Oper: "I", Tx: "t3", Values: []any{3, "x", nil}})
	db.Add(t, db.DB, s, qlikwriter.Row{Seq: qlikwriter.Seq(4), Oper: "I", Tx: "t4", Values: []any{3, "y", nil}})
	return func() {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// polls waits until the bridge has looked a number of times more.
func (b *bridge) polls(n float64) {
	b.Helper()
	begin := b.metric("ctbridge_poll_duration_seconds_count")
	waitFor(b, func() bool { return b.metric("ctbridge_poll_duration_seconds_count") >= begin+n })
}

func (b *bridge) started() {
	b.Helper()
	waitFor(b, func() bool { b.checkAlive(); return b.hasLogged("msg=started") })
}

// Case 10: PostgreSQL's own transaction counters hold row 4 back as long as the writer of row 3 is open. No settle time is needed.
func TestCase10_OpenWriterOnPostgres(t *testing.T) {
	db := postgres(t)
	db.Create(t, qlikwriter.Parcel("parcel"))
	b := newBridge(t, db, "")
	b.start()
	b.started()
	finish := openWriter(t, db)
	b.polls(20)
	if n := b.metric("ctbridge_events_published_total"); n != 0 {
		t.Errorf("%v events published while a writer below them is open", n)
	}
	finish()
	got := b.until(2, "parcel")
	late := b.metric("ctbridge_late_rows_total")
	b.stop()
	if len(got) != 2 || got[0].event(t).Headers.ChangeSequence != qlikwriter.Seq(3) || late != 0 {
		t.Fatalf("%d messages, first %s, %v late; want row 3, row 4, none late", len(got), got[0].event(t).Headers.ChangeSequence, late)
	}
}

// Case 11: where the engine cannot tell, a wide settle time keeps the order, and with none the look-back finds the row: late, counted, not lost.
func TestCase11_OpenWriterOnMariaDB(t *testing.T) {
	for settle, wantLate := range map[string]float64{"0s": 1, "4s": 0} {
		t.Run(settle, func(t *testing.T) {
			t.Setenv("LIVE_SETTLE", settle)
			db := mariadb(t)
			db.Create(t, qlikwriter.Parcel("parcel"))
			b := newBridge(t, db, "")
			b.start()
			b.started()
			finish := openWriter(t, db)
			if wantLate > 0 {
				b.until(1, "parcel")
			} else {
				b.polls(10)
			}
			finish()
			got := b.until(2, "parcel")
			late := b.metric("ctbridge_late_rows_total")
			b.stop()
			if len(got) != 2 || late != wantLate {
				t.Fatalf("%d messages, %v late; want 2 messages, %v late", len(got), late, wantLate)
			}
			first := got[0].event(t).Headers.ChangeSequence
			if (first == qlikwriter.Seq(4)) != (wantLate > 0) {
				t.Errorf("the first message is row %s", first)
			}
		})
	}
}

// Start to first record: a newcomer and a restart in a cluster both wait for it.
func TestStartsWithinSeconds(t *testing.T) {
	db := postgres(t)
	db.Create(t, qlikwriter.Parcel("parcel"))
	db.Add(t, db.DB, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(1), Oper: "I", Tx: "t1", Values: []any{1, "x", nil}})
	b := newBridge(t, db, registry(t))
	begin := time.Now()
	b.start()
	b.started()
	waitFor(t, func() bool { return b.metric("ctbridge_events_published_total") == 1 })
	t.Logf("first record %s after the start of the process", time.Since(begin).Round(time.Millisecond))
	b.stop()
}
