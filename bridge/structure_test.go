package bridge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// alter changes base and change table alike, as the writer does.
func (w *world) alter(table, change string) {
	w.Helper()
	w.writer.Exec(w, "ALTER TABLE %s %s", table, change)
	w.writer.Exec(w, "ALTER TABLE %s__ct %s", table, change)
}

// put writes one inserted row with any number of values.
func (w *world) put(table string, n int, values ...any) {
	w.Helper()
	w.writer.Add(w, w.writer.DB, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("t", n), Values: values})
}

// A column added, dropped, renamed in the middle of traffic: each row carries the names and values of its own version, metadata comes first.
func TestStructureChangesWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().MetadataTopic = "meta"
	w.create("parcel")
	w.put("parcel", 1, 1, "a", nil)
	w.start()
	w.ledger.wait(t, "metadata and row", count(2))
	w.alter("parcel", "ADD COLUMN zone int")
	w.put("parcel", 2, 2, "b", nil, 7)
	w.ledger.wait(t, "metadata and row", count(4))
	w.alter("parcel", "DROP COLUMN fee")
	w.put("parcel", 3, 3, "c", 8)
	w.ledger.wait(t, "metadata and row", count(6))
	w.alter("parcel", "RENAME COLUMN status TO state")
	w.put("parcel", 4, 4, "d", 9)
	got := w.ledger.wait(t, "metadata and row", count(8))
	w.want(got,
		"meta parcel metadata v1", "parcel 1 1 INSERT +(1,a,null) #1 true v1",
		"meta parcel metadata v2", "parcel 2 2 INSERT +(2,b,null,7) #1 true v2",
		"meta parcel metadata v3", "parcel 3 3 INSERT +(3,c,8) #1 true v3",
		"meta parcel metadata v4", "parcel 4 4 INSERT +(4,d,9) #1 true v4")
}

// Rows that were seen before a column came, and published after, are told without it.
func TestRowsBeforeAnAddedColumnKeepTheirVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source.Horizon.Policy, w.source.Horizon.Settle = "settle", 0
	w.create("parcel")
	w.put("parcel", 1, 1, "a", nil)
	stop := w.start()
	w.ledger.wait(t, "the first row", count(1))
	stop()
	// The history of structure changes gives the exact sequence, although the bridge saw nothing of rows 2 and 3.
	w.writer.Exec(t, "CREATE TABLE attrep_ddl_history (table_name TEXT, change_seq VARCHAR(35), ddl_type TEXT)")
	w.put("parcel", 2, 2, "b", nil)
	w.alter("parcel", "ADD COLUMN zone int")
	w.writer.Exec(t, "INSERT INTO attrep_ddl_history VALUES ('parcel', '%s', 'ALTER_TABLE')", qlikwriter.Seq(3))
	w.put("parcel", 4, 4, "d", nil, 9)
	w.start()
	got := w.ledger.wait(t, "all rows", count(3))
	w.want(got[1:], "parcel 2 2 INSERT +(2,b,null) #1 true v1", "parcel 4 4 INSERT +(4,d,null,9) #1 true v2")
}

// Case 38 and 37: without proof a rename is a column gone and another come; unread rows are told under the new structure, so that the value is
// not hidden.
func TestCase37_UnprovenRenameHidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("parcel")
	w.put("parcel", 1, 1, "a", nil)
	stop := w.start()
	w.ledger.wait(t, "the first row", count(1))
	stop()
	w.put("parcel", 2, 2, "b", nil)
	w.alter("parcel", "RENAME COLUMN status TO state")
	w.put("parcel", 3, 3, "c", nil)
	w.start()
	got := w.ledger.wait(t, "all rows", count(3))
	w.want(got[1:], "parcel 2 2 INSERT +(2,b,null) #1 true v2", "parcel 3 3 INSERT +(3,c,null) #1 true v2")
}

// Whenever a column comes while rows are written and read in small pages: no value is lost, no row twice, versions never go back.
func TestColumnsComeUnderTraffic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source.PageRows, w.options.CommitRecords = 3, 4
	w.create("parcel")
	w.start()
	extra := 0
	const rows = 400
	for n := 1; n <= rows; n++ {
		if n%70 == 0 {
			w.alter("parcel", fmt.Sprintf("ADD COLUMN extra%d int", extra))
			extra++
		}
		values := []any{n, "x", nil}
		for i := range extra {
			values = append(values, n*10+i)
		}
		w.put("parcel", n, values...)
	}
	got := w.ledger.wait(t, "all rows", count(rows))
	newest := "1"
	for i, line := range got {
		n := i + 1
		want := fmt.Sprintf("parcel %d %d INSERT +(%d,x,null", n, n, n)
		for e := range n / 70 {
			want += fmt.Sprint(",", n*10+e)
		}
		values, version, _ := strings.Cut(line, ") #1 true v")
		values = strings.TrimRight(strings.ReplaceAll(values, ",absent", ""), ",")
		for strings.HasSuffix(values, ",null") && len(values) > len(want) {
			values = strings.TrimSuffix(values, ",null") // a column that came later, told as NULL
		}
		if values != want || version < newest {
			t.Fatalf("row %d is %q, want %q and version %s at least", n, line, want, newest)
		}
		newest = version
	}
}

// A table that is dropped and made anew while the bridge is away is another structure only if it looks otherwise.
func TestSameStructureAfterARestartKeepsItsVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Rediscover = 5 * time.Millisecond
	w.create("parcel")
	for n := 1; n <= 3; n++ {
		w.put("parcel", n, n, "a", nil)
		stop := w.start()
		got := w.ledger.wait(t, "the row", count(n))
		stop()
		if !strings.HasSuffix(got[n-1], " v1") {
			t.Fatalf("row %d is %q, want version 1", n, got[n-1])
		}
	}
}
