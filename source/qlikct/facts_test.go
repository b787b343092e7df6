package qlikct_test

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

type every struct{}

func (every) Match(change.TableID) bool { return true }
func (every) Exact() []change.TableID   { return nil }

func TestInspect(t *testing.T) {
	t.Parallel()
	bench := openSQLite(t)
	bench.Writer.Create(t, qlikwriter.Parcel("full"))
	odd := qlikwriter.Parcel("odd")
	odd.Headers, odd.Prefix = []string{"change_seq", "operation"}, ""
	bench.Writer.Create(t, odd)
	bench.Writer.Exec(t, `CREATE TABLE "bad__ct" (header__change_seq varchar(20), header__change_oper int, header__change_mask varchar(9), header__timestamp int, id int)`)
	for n, oper := range []string{"I", "B", "U", "U", "D"} {
		bench.Writer.Add(t, bench.Writer.DB, qlikwriter.Parcel("full"), qlikwriter.Row{Seq: qlikwriter.Seq(max(n, 2)), Oper: oper, Tx: "t", Values: []any{1, "x", "1.00"}})
	}
	bench.Writer.Add(t, bench.Writer.DB, odd, qlikwriter.Row{Seq: qlikwriter.Seq(9), Oper: "U", Values: []any{1, "x", "1.00"}})
	l := qlikct.New(bench.Engine, qlikct.Options{Tables: every{}}, slog.New(slog.DiscardHandler))
	found, err := l.Discover(t.Context())
	if err != nil || len(found.Tables) != 3 {
		t.Fatal(found, err)
	}
	got := map[string]facts.ChangeTable{}
	for _, c := range found.Tables {
		if got[c.Table.ID.Name], err = l.Inspect(t.Context(), c); err != nil {
			t.Fatal(c.Table.ID, err)
		}
	}
	full := got["full"]
	first, _ := qlikct.ParseSequence(qlikwriter.Seq(2))
	last, _ := qlikct.ParseSequence(qlikwriter.Seq(4))
	if len(full.Missing)+len(full.Odd) > 0 || *full.Befores != (facts.Pairs{Updates: 2, Befores: 1}) || !full.Oldest.Equal(first.Time) || !full.Newest.Equal(last.Time) ||
		len(full.Order) != 1 || full.Order[0].Name != "header__change_seq" {
		t.Errorf("%+v", full)
	}
	if names := namesOf(got["odd"].Missing); !reflect.DeepEqual(names, []string{"header__change_mask", "header__stream_position", "header__transaction_id", "header__timestamp"}) ||
		*got["odd"].Befores != (facts.Pairs{Updates: 1}) {
		t.Errorf("%+v", got["odd"])
	}
	if names := namesOf(got["bad"].Odd); !reflect.DeepEqual(names, []string{"header__change_oper", "header__change_mask", "header__timestamp"}) || !got["bad"].Oldest.IsZero() {
		t.Errorf("%+v", got["bad"])
	}
}

func namesOf(list []facts.Header) (out []string) {
	for _, h := range list {
		if h.Why == "" {
			out = append(out, "no reason: ")
		}
		out = append(out, h.Name)
	}
	return out
}

func TestShortSequenceIsOdd(t *testing.T) {
	t.Parallel()
	bench := openSQLite(t)
	bench.Writer.Exec(t, `CREATE TABLE "short__ct" (header__change_seq varchar(34), header__change_oper varchar(1), id int)`)
	l := qlikct.New(bench.Engine, qlikct.Options{Tables: every{}}, slog.New(slog.DiscardHandler))
	found, err := l.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Inspect(t.Context(), found.Tables[0])
	if err != nil || len(got.Odd) != 1 || !strings.Contains(got.Odd[0].Why, "too short") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWriterOfControlTables(t *testing.T) {
	t.Parallel()
	bench := openSQLite(t)
	l := qlikct.New(bench.Engine, qlikct.Options{Tables: every{}, ControlTask: "ORDERS"}, slog.New(slog.DiscardHandler))
	if w, err := l.Writer(t.Context()); err != nil || w.Place != "" {
		t.Fatalf("%+v, %v", w, err)
	}
	bench.Writer.Exec(t, `CREATE TABLE attrep_status (server_name varchar(128), task_name varchar(128), task_status varchar(32), status_time timestamp, source_timestamp_applied timestamp)`)
	bench.Writer.Exec(t, `CREATE TABLE attrep_suspended_tables (task_name varchar(128), table_owner varchar(128), table_name varchar(128), suspend_reason varchar(128))`)
	bench.Writer.Exec(t, `INSERT INTO attrep_status VALUES ('s', 'orders', 'CHANGE PROCESSING', '2031-05-10 16:00:01', '2031-05-10 16:00:00'), ('s', 'other', 'x', NULL, NULL)`)
	bench.Writer.Exec(t, `INSERT INTO attrep_suspended_tables VALUES ('orders', 'dbo', 'parcel', 'bad row'), ('other', 'dbo', 'x', 'y')`)
	w, err := l.Writer(t.Context())
	at := time.Date(2031, 5, 10, 16, 0, 0, 0, time.UTC)
	want := facts.Writer{Place: "attrep_status", Tasks: []facts.TaskState{{Name: "orders", State: "CHANGE PROCESSING", Applied: at, Told: at.Add(time.Second)}},
		Suspended: []facts.Suspended{{Table: "dbo.parcel", Reason: "bad row"}}}
	if err != nil || !reflect.DeepEqual(w, want) {
		t.Errorf("%+v, %v", w, err)
	}
	bench.Writer.Exec(t, `UPDATE attrep_status SET source_timestamp_applied = '1970-01-01'`)
	if w, err := l.Writer(t.Context()); err != nil || !w.Tasks[0].Applied.IsZero() {
		t.Errorf("before anything was applied: %+v, %v", w, err)
	}
}
