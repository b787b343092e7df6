package sqlservercdc_test

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source/mssql"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
	"ctbridge/test/tdspeer"
)

func TestInspectTellsWhatIsNotCaptured(t *testing.T) {
	everywhere(t, func(b *bench) {
		parcel := cdcwriter.Parcel("parcel")
		b.Create(b.T, parcel)
		b.Capture(b.T, parcel, "parcel", cdcwriter.LSN(0x1))
		b.Commit(b.T, cdcwriter.LSN(0x10), time.Date(2031, 5, 10, 16, 0, 0, 0, time.UTC))
		b.Exec(b.T, "ALTER TABLE ["+b.Base+"].[parcel] ADD weight int NULL")
		l := b.layout(sqlservercdc.Options{})
		found, err := l.Discover(b.Context())
		if err != nil || len(found.Tables) != 1 {
			b.Fatal(found, err)
		}
		got, err := l.Inspect(b.Context(), found.Tables[0])
		if err != nil || !reflect.DeepEqual(got.Captured, []string{"weight"}) || len(got.Mend) != 1 || !strings.Contains(got.Mend[0], "sp_cdc_enable_table @source_schema = N'"+b.Base+"', @source_name = N'parcel'") ||
			len(got.Order) != 0 || got.Befores != nil {
			b.Errorf("%+v, %v", got, err)
		}
	})
}

// The jobs live in msdb, the switch in sys.databases: the peer is told what to say of them.
func TestWriterOfCaptureJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		enabled any // is_cdc_enabled; nil = no such view
		jobs    [][]any
		want    facts.Writer
	}{
		"off": {false, nil, facts.Writer{Remarks: []facts.Remark{{Check: "capture", Subject: "database", Bad: true, SQL: []string{"EXEC sys.sp_cdc_enable_db;"}}}}},
		"on":  {true, [][]any{{"capture", nil}, {"cleanup", int64(4320)}}, facts.Writer{Retention: 72 * time.Hour, Tasks: []facts.TaskState{{Name: "capture job"}}}},
		"no capture job": {nil, [][]any{{"cleanup", int64(60)}}, facts.Writer{Retention: time.Hour, Tasks: []facts.TaskState{{Name: "capture job"}},
			Remarks: []facts.Remark{{Check: "capture", Subject: "jobs", Bad: true, SQL: []string{"EXEC sys.sp_cdc_add_job @job_type = N'capture';"}}}}},
		"jobs hidden": {true, nil, facts.Writer{Tasks: []facts.TaskState{{Name: "capture job"}},
			Remarks: []facts.Remark{{Check: "capture", Subject: "jobs", SQL: []string{"EXEC sys.sp_cdc_help_jobs;"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tdspeer.NewDatabase(t, "dbo", "cdc")
			peer := tdspeer.Start(t, func(query string, args []any) tdspeer.Result {
				switch {
				case strings.Contains(query, "sys.databases") && c.enabled != nil:
					return tdspeer.Result{Columns: []tdspeer.Column{{Name: "is_cdc_enabled", Type: "bit"}}, Rows: [][]any{{c.enabled}}}
				case strings.Contains(query, "sys.databases"), strings.Contains(query, "cdc_jobs") && c.jobs == nil:
					return tdspeer.Fail(229, "denied")
				case strings.Contains(query, "cdc_jobs"):
					return tdspeer.Result{Columns: []tdspeer.Column{{Name: "job_type", Type: "nvarchar(20)"}, {Name: "retention", Type: "bigint"}}, Rows: c.jobs}
				}
				return d.Answer(query, args)
			})
			admin := d.Admin()
			t.Cleanup(func() { admin.Close() })
			b := newBench(t, peer.DSN(), &cdcwriter.Writer{DB: admin, Schema: "cdc", Base: "dbo"})
			b.Create(t, cdcwriter.Parcel("parcel"))
			at := time.Date(2031, 5, 10, 16, 0, 0, 0, time.UTC)
			b.Commit(t, cdcwriter.LSN(0x10), at)
			got, err := b.layout(sqlservercdc.Options{}).Writer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Tasks {
				if !got.Tasks[i].Applied.Equal(at) {
					t.Errorf("%+v", got.Tasks)
				}
				got.Tasks[i].Applied = time.Time{}
			}
			for i := range got.Remarks {
				if got.Remarks[i].Seen == "" || got.Remarks[i].Do == "" {
					t.Errorf("%+v", got.Remarks[i])
				}
				got.Remarks[i].Seen, got.Remarks[i].Do = "", ""
			}
			if got.Place = ""; !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestCase90_MendNamesGrantAndRole: a table without instance must be captured; one whose change table is hidden needs the grant, and the gating role.
func TestCase90_MendNamesGrantAndRole(t *testing.T) {
	t.Parallel()
	b := peerBench(t)
	b.Create(t, cdcwriter.Parcel("parcel"))
	b.Capture(t, cdcwriter.Parcel("parcel"), "parcel", cdcwriter.LSN(0x1))
	b.Exec(t, "UPDATE cdc.change_tables SET role_name = 'gate keepers'")
	engine, err := mssql.Open(mssql.Config{DSN: "sqlserver://u:p@127.0.0.1:1?database=x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	l := b.layout(sqlservercdc.Options{})
	for name, want := range map[string][]string{
		"parcel": {"GRANT SELECT ON SCHEMA::[cdc] TO [reader];", "ALTER ROLE [gate keepers] ADD MEMBER [reader];"},
		"depot":  {"EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'depot', @role_name = NULL;"},
	} {
		if got := l.Mend(t.Context(), change.TableID{Schema: "dbo", Name: name}, "reader"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	away := sqlservercdc.New(engine, sqlservercdc.Options{Tables: inSchema{schema: "dbo"}}, slog.New(slog.DiscardHandler))
	if got := away.Mend(t.Context(), change.TableID{}, "reader"); len(got) != 2 || got[0] != "EXEC sys.sp_cdc_enable_db;" {
		t.Errorf("%q", got)
	}
}
