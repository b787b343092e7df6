package mssql

import (
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/test/tdspeer"
)

// TestFacts scripts what the peer's database has no tables for.
func TestFacts(t *testing.T) {
	t.Parallel()
	clock := time.Date(2031, 5, 10, 16, 0, 0, 0, time.UTC)
	text := func(names ...string) (out []tdspeer.Column) {
		for _, name := range names {
			out = append(out, tdspeer.Column{Name: name, Type: "nvarchar(128)"})
		}
		return out
	}
	peer := tdspeer.Start(t, func(query string, args []any) tdspeer.Result {
		switch {
		case strings.Contains(query, "SERVERPROPERTY"):
			return tdspeer.Result{Columns: append(text("v", "e", "u", "d"), tdspeer.Column{Name: "t", Type: "datetime2"}),
				Rows: [][]any{{"16.0.4135.4", "Developer Edition (64-bit)", "reader]", "ops", "2031-05-10 16:00:00"}}}
		case strings.Contains(query, "dm_tran_active_transactions"):
			if args[0] != int64(60) {
				return tdspeer.Fail(50000, "seconds expected")
			}
			return tdspeer.Result{Columns: []tdspeer.Column{{Name: "s", Type: "int"}, {Name: "l", Type: "nvarchar(128)"}, {Name: "a", Type: "int"}, {Name: "h", Type: "nvarchar(128)"}, {Name: "x", Type: "nvarchar(30)"}},
				Rows: [][]any{{int64(61), "app", int64(7200), "web1", "sleeping"}}}
		case strings.Contains(query, "sys.partitions"):
			return tdspeer.Result{Columns: append(text("s", "n"), tdspeer.Column{Name: "r", Type: "bigint"}), Rows: [][]any{{"dbo", "parcel", int64(1234567)}}}
		}
		return tdspeer.Fail(300, "VIEW SERVER STATE permission was denied")
	})
	e := openPeer(t, peer, Config{})
	s, err := e.Server(t.Context())
	if want := (facts.Server{Version: "SQL Server 16.0.4135.4, Developer Edition (64-bit)", Login: "reader]", Database: "ops", Clock: clock}); err != nil || s != want {
		t.Errorf("%+v, %v", s, err)
	}
	open, err := e.Transactions(t.Context(), time.Minute)
	if err != nil || len(open) != 1 || open[0] != (facts.Transaction{Who: "app from web1, session 61", Age: 2 * time.Hour, What: "sleeping", Stop: "KILL 61;"}) {
		t.Errorf("%+v, %v", open, err)
	}
	parcel := change.TableID{Schema: "dbo", Name: "parcel"}
	if rows, err := e.Rows(t.Context(), []change.TableID{parcel}); err != nil || rows[parcel] != 1234567 {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := e.Indexes(t.Context(), []change.TableID{parcel}); fault.ClassOf(err) != fault.Table {
		t.Errorf("a missing right: %v", err)
	}
	if got := e.Grant([]change.TableID{{Schema: "dbo", Name: "a]b"}}, "DOM\\svc"); len(got) != 1 || got[0] != `GRANT SELECT ON [dbo]."a]b" TO [DOM\svc];` {
		t.Errorf("%q", got)
	}
}
