package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/sink/embedded"
	"ctbridge/source"
	"ctbridge/test/cdcwriter"
	"ctbridge/test/qlikwriter"
	"ctbridge/test/tdspeer"
)

// sqlServer is a peer that tells who it is and which tables it denies to the login.
func sqlServer(t *testing.T, d *tdspeer.Database, denied ...string) string {
	t.Helper()
	return tdspeer.Start(t, func(query string, args []any) tdspeer.Result {
		for _, name := range denied {
			if strings.Contains(query, name+"]") {
				return tdspeer.Fail(229, "The SELECT permission was denied on the object '"+name+"'")
			}
		}
		if strings.Contains(query, "dm_tran_active_transactions") {
			return tdspeer.Fail(300, "VIEW SERVER STATE permission was denied")
		}
		if strings.Contains(query, "SERVERPROPERTY") {
			columns := []tdspeer.Column{{Name: "v", Type: "nvarchar(128)"}, {Name: "e", Type: "nvarchar(128)"}, {Name: "u", Type: "nvarchar(128)"}, {Name: "d", Type: "nvarchar(128)"}, {Name: "t", Type: "datetime2"}}
			return tdspeer.Result{Columns: columns, Rows: [][]any{{"16.0", "Standard Edition", "reader", "ops", time.Now().UTC().Format("2006-01-02 15:04:05")}}}
		}
		return d.Answer(query, args)
	}).DSN()
}

// doctorOf runs doctor on a task with that source and decodes its document.
func doctorOf(t *testing.T, source string, code int) (findings map[string]preflight.Finding) {
	t.Helper()
	servers, err := embedded.Start(embedded.Options{NoRegistry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	file := filepath.Join(t.TempDir(), "task.yaml")
	text := "task: ops\nsource: " + source + "\nkafka: {brokers: [\"" + servers.Brokers()[0] + "\"]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problem bytes.Buffer
	a := &app{out: &out, err: &problem, env: func(string) (string, bool) { return "", false }}
	if got := a.execute(context.Background(), []string{"doctor", file, "--json"}); got != code {
		t.Fatalf("exit code %d, want %d: %s\n%s", got, code, &problem, &out)
	}
	var r preflight.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	findings = make(map[string]preflight.Finding)
	for _, f := range r.Findings {
		findings[string(f.Level)+" "+string(f.Area)+"/"+f.Check+" "+f.Subject] = f
	}
	return findings
}

func wantSQL(t *testing.T, findings map[string]preflight.Finding, name string, sql ...string) {
	t.Helper()
	f, found := findings[name]
	if !found {
		t.Errorf("no finding %q in %+v", name, findings)
	} else if strings.Join(f.SQL, "\n") != strings.Join(sql, "\n") {
		t.Errorf("%s: %+v", name, f)
	}
}

// TestCase90_RightsOnSQLServer: a table that may not be read, one that is hidden, and one without index, each with the SQL that helps.
func TestCase90_RightsOnSQLServer(t *testing.T) {
	t.Parallel()
	d := tdspeer.NewDatabase(t, "dbo")
	admin := d.Admin()
	t.Cleanup(func() { admin.Close() })
	w := &qlikwriter.Writer{DB: admin, Dialect: qlikwriter.SQLServer, Schema: "dbo"}
	w.Create(t, qlikwriter.Parcel("parcel"))
	depot := qlikwriter.Parcel("depot")
	depot.NoIndex = true
	w.Create(t, depot)
	found := doctorOf(t, "{engine: sqlserver, dsn: '"+sqlServer(t, d, "parcel__ct")+"', tables: [\"dbo.*\", dbo.hidden]}", exitFailed)
	wantSQL(t, found, "fail table/rights dbo.parcel__ct", "GRANT SELECT ON [dbo].[parcel__ct] TO [reader];")
	wantSQL(t, found, "fail table/found dbo.hidden", "GRANT SELECT ON [dbo].[hidden__ct] TO [reader];")
	wantSQL(t, found, "warn table/index dbo.depot__ct", "CREATE INDEX [depot__ct_by_seq] ON [dbo].[depot__ct] ([header__change_seq]);")
	wantSQL(t, found, "pass source/reach sqlserver")
	wantSQL(t, found, "warn source/transactions open transactions", "USE master;", "GRANT VIEW SERVER STATE TO [reader];")
}

// TestCase90_GatingRole: the change table is hidden from a login that is not in the gating role.
func TestCase90_GatingRole(t *testing.T) {
	t.Parallel()
	d := tdspeer.NewDatabase(t, "dbo", "cdc")
	admin := d.Admin()
	t.Cleanup(func() { admin.Close() })
	dsn := sqlServer(t, d)
	ask, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close() })
	w := &cdcwriter.Writer{DB: admin, Ask: ask, Schema: "cdc", Base: "dbo"}
	w.Enable(t)
	w.Create(t, cdcwriter.Parcel("parcel"))
	base := w.ObjectID(t, "dbo", "parcel")
	w.Exec(t, fmt.Sprintf("INSERT INTO cdc.change_tables (object_id, source_object_id, capture_instance, start_lsn, role_name) VALUES (77, %d, 'parcel', 0x00000000000000000001, 'gate')", base))
	found := doctorOf(t, "{engine: sqlserver, layout: sqlserver-cdc, dsn: '"+dsn+"', tables: [\"dbo.*\", dbo.depot]}", exitFailed)
	wantSQL(t, found, "fail table/found dbo.parcel", "GRANT SELECT ON SCHEMA::[cdc] TO [reader];", "ALTER ROLE [gate] ADD MEMBER [reader];")
	wantSQL(t, found, "fail table/found dbo.depot", "EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'depot', @role_name = NULL;")
}

// Names in commands that look like a login with its password stay as they are: the command is to be copied.
func TestCommandsAreNotBlackedOut(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: &out, env: func(string) (string, bool) { return "", false }}
	w := &preflight.World{
		Task: preflight.Task{Name: "ops", Principal: "svc@corp.example", Brokers: []string{"k:9092"}}, Now: time.Now, Limit: time.Second,
		Engine: deadEngine{}, Checkpoint: func(context.Context) (*preflight.Kept, error) {
			return nil, errors.New("dial kafka://svc:opensesame@k")
		},
		Kafka: func(context.Context, map[string]change.TopicRole) (*facts.Cluster, error) {
			return &facts.Cluster{Hidden: errors.New("not authorised")}, nil
		},
	}
	if err := a.doctor(context.Background(), w, &preflightFlags{json: true}); err == nil {
		t.Error("nothing failed")
	}
	if text := out.String(); !strings.Contains(text, "--allow-principal User:svc@corp.example ") || strings.Contains(text, "opensesame") {
		t.Error(text)
	}
}

// deadEngine never answers.
type deadEngine struct{ source.Engine }

func (deadEngine) Ping(context.Context) error { return errors.New("away") }
