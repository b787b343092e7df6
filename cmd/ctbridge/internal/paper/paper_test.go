package paper

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ctbridge/bridge/preflight"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
	for i, line := range strings.Split(string(got), "\n") {
		if n := utf8.RuneCountInString(stripped(line)); n > Width {
			t.Errorf("%s: line %d has %d columns", path, i+1, n)
		}
	}
}

// stripped takes the colours out of a line.
func stripped(line string) string {
	for _, style := range []string{bold, red, green, yellow, "0"} {
		line = strings.ReplaceAll(line, "\x1b["+style+"m", "")
	}
	return line
}

func report() *preflight.Report {
	return &preflight.Report{Task: "orders", Level: preflight.Fail, Passed: 2, Warnings: 1, Failed: 2, Findings: []preflight.Finding{
		{Level: preflight.Pass, Area: preflight.AreaSource, Check: "reach", Subject: "postgres", Seen: "PostgreSQL 16.4, database shop, login reader"},
		{Level: preflight.Fail, Area: preflight.AreaTable, Check: "rights", Subject: "shop.a_table_with_a_rather_long_name__ct", Seen: "SELECT is needed: query: ERROR: permission denied for table a_table_with_a_rather_long_name__ct (SQLSTATE 42501)",
			Do: "have the owner run", SQL: []string{`GRANT USAGE ON SCHEMA "shop" TO "reader";`, `GRANT SELECT ON "shop"."a_table_with_a_rather_long_name__ct" TO "a_login_that_has_a_rather_long_name_too";`}},
		{Level: preflight.Warn, Area: preflight.AreaTable, Check: "before_images", Subject: "shop.parcel__ct", Seen: "none of 10 recent updates has a before-image: the old row of an update is null in messages",
			Do: "switch on before-images in the replication task"},
		{Level: preflight.Fail, Area: preflight.AreaKafka, Check: "topics", Subject: "shop.parcel", Seen: "not authorised",
			Commands: []string{"kafka-acls --bootstrap-server kafka:9092 --add --allow-principal User:orders --operation Create --operation Describe --operation Write --topic shop.parcel"}},
		{Level: preflight.Pass, Area: preflight.AreaCheckpoint, Check: "read", Subject: "file /x", Seen: "empty: the task has not run yet"},
	}}
}

func TestReport(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"report.txt": {}, "report_color.txt": {Color: true}} {
		var b bytes.Buffer
		if err := Report(&b, report(), o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// A thousand tables that lack the same thing are one finding for people; those with SQL of their own are told one by one.
func TestFold(t *testing.T) {
	t.Parallel()
	var all []preflight.Finding
	for i := range 1000 {
		name := fmt.Sprintf("t%d", i)
		all = append(all, preflight.Finding{Level: preflight.Warn, Check: "columns", Subject: name, Seen: "no mask"})
		if i < 5 {
			all = append(all, preflight.Finding{Level: preflight.Warn, Check: "index", Subject: name, Seen: "none", SQL: []string{"CREATE"}})
		}
		if i < 3 {
			all = append(all, preflight.Finding{Level: preflight.Warn, Check: "key", Subject: name, Seen: "none"})
		}
	}
	var got []string
	for _, f := range fold(all) {
		got = append(got, f.Check+" "+f.Subject)
	}
	want := "columns t0 and 999 more,index t0,key t0,index t1,key t1,index t2,key t2,index t3,index t4"
	if strings.Join(got, ",") != want {
		t.Errorf("%q", got)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	p := &preflight.Plan{Task: "orders", Tables: []preflight.TablePlan{
		{
			Table: "shop.parcel", Changes: "shop.parcel__ct", VersionNow: 3, Version: 4, Start: preflight.Start{Kind: "resume", Position: "20310510160000000000000000000000012", Why: "the checkpoint"},
			Columns: []preflight.Change{{Kind: preflight.Added, Path: "note", Is: "varchar(40)"}, {Kind: preflight.Removed, Path: "fee", Was: "numeric(10,2)"}, {Kind: preflight.Changed, Path: "id", Was: "int", Is: "bigint NOT NULL, key 1"}},
			Load:    preflight.LoadPlan{Why: "the task knows the table"},
			Outputs: []preflight.OutputPlan{{
				Output: "debezium", Topic: preflight.TopicPlan{Name: "shop.parcel", Exists: true, Settings: map[string]string{"partitions": "6", "replication.factor": "3", "cleanup.policy": "delete"}},
				Key: preflight.KeyPlan{Mode: "primary_key", Columns: []string{"id"}, Encoded: true},
				Schemas: []preflight.SchemaPlan{{Part: "key", Subject: "shop.parcel-key", State: preflight.SchemaKnown, ID: 12, Compatible: true},
					{Part: "value", Subject: "shop.parcel-value", State: preflight.SchemaNewVersion, Level: "BACKWARD", Reasons: []string{"READER_FIELD_MISSING_DEFAULT_VALUE: note has no default, and the old schema that is the newest under this subject has no such field"},
						Changes: []preflight.Change{{Kind: preflight.Added, Path: "after.note", Is: "string"}, {Kind: preflight.Changed, Path: "after.id", Was: "int", Is: "long"}}}},
				Names: []preflight.Mapping{{What: "field", Name: "zip code", As: "zip_u0020code"}},
			}, {Output: "qlik", Problem: "two names become one"}},
		},
		{
			Table: "shop.scan", Changes: "shop.scan__ct", Version: 1, Start: preflight.Start{Kind: "load", Why: "its changes go on from the horizon read before the load"}, Load: preflight.LoadPlan{Loads: true, Why: "full_load.mode is initial", Rows: 1200000},
			Outputs: []preflight.OutputPlan{{Output: "debezium", Topic: preflight.TopicPlan{Name: "shop.scan", Settings: map[string]string{"partitions": "-1", "retention.ms": "-1"}}, Key: preflight.KeyPlan{Mode: "primary_key"},
				Schemas: []preflight.SchemaPlan{{Part: "value", Subject: "shop.scan-value", State: preflight.SchemaNewSubject, Compatible: true}}}},
		},
	}, Topics: []preflight.TopicPlan{{Name: "ctbridge.orders.checkpoint", Problem: "not authorised"}}, LeftOut: []preflight.LeftOut{{Table: "shop.audit", Why: "its columns cannot be carried"}}, Unknown: []string{"checkpoint: no answer"}}
	for name, o := range map[string]Options{"plan.txt": {}, "plan_color.txt": {Color: true}} {
		var b bytes.Buffer
		if err := Plan(&b, p, o); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// No word is lost, and only a word that is longer by itself makes a line too long.
func TestWrap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, columns := rapid.StringMatching(`([a-zé]{1,12} ?){0,20}`).Draw(t, "text"), rapid.IntRange(1, 30).Draw(t, "columns")
		lines := wrap(text, columns)
		if strings.Join(strings.Fields(text), " ") != strings.TrimSpace(strings.Join(lines, " ")) {
			t.Fatalf("%q became %q", text, lines)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > columns && strings.Contains(line, " ") {
				t.Fatalf("%q has more than %d columns", line, columns)
			}
		}
	})
}

// A command can be copied: broken at blanks, it is the same when its lines are joined again, whatever stands in its quotes.
func TestCommandsStayWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-z]{1,12}|"[a-z ]{0,20}"|\[[a-z ]{0,9}\]|'[a-z ]{0,9}')( ([a-z]{1,12}|"[a-z ]{0,20}")){0,20}`).Draw(t, "text")
		lines := fill(pieces(text), rapid.IntRange(1, 60).Draw(t, "columns"))
		if joined := strings.Join(lines, " "); joined != text {
			t.Fatalf("%q became %q", text, joined)
		}
		for _, line := range lines {
			if strings.Count(line, `"`)%2 != 0 {
				t.Fatalf("a name is broken: %q", lines)
			}
		}
	})
}
