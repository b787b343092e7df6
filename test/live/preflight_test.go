package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	mysqldriver "github.com/go-sql-driver/mysql"

	"ctbridge/bridge/preflight"
	"ctbridge/test/qlikwriter"
)

// ask runs a verb that looks at the neighbours and decodes its document.
func (b *bridge) ask(verb string, code int, into any) string {
	b.Helper()
	var out, problem bytes.Buffer
	cmd := exec.Command(binary, verb, b.config, "--json")
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	var failed *exec.ExitError
	got := 0
	if errors.As(err, &failed) {
		got = failed.ExitCode()
	} else if err != nil {
		b.Fatal(err)
	}
	if got != code {
		b.Fatalf("%s ends with %d, want %d: %s\n%s", verb, got, code, problem.String(), out.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		b.Fatalf("%v in %s", err, out.String())
	}
	return out.String()
}

func (b *bridge) doctor(code int) *preflight.Report {
	b.Helper()
	var r preflight.Report
	text := b.ask("doctor", code, &r)
	if strings.Contains(text, "opensesame") {
		b.Errorf("the password is shown: %s", text)
	}
	return &r
}

func (b *bridge) plan() *preflight.Plan {
	b.Helper()
	var p preflight.Plan
	b.ask("plan", 0, &p)
	return &p
}

// finding wants a finding of a check about a subject.
func finding(t testing.TB, r *preflight.Report, level preflight.Level, area preflight.Area, check, subject string) preflight.Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Level == level && f.Area == area && f.Check == check && (subject == "" || f.Subject == subject) {
			return f
		}
	}
	text, _ := json.MarshalIndent(r.Findings, "", " ")
	t.Fatalf("no %s of %s/%s about %q in %s", level, area, check, subject, text)
	return preflight.Finding{}
}

// obey runs the SQL of a finding as the administrator: it must be exact.
func obey(t testing.TB, db database, f preflight.Finding) {
	t.Helper()
	if len(f.SQL) == 0 {
		t.Fatalf("no SQL in %+v", f)
	}
	for _, text := range f.SQL {
		db.Exec(t, "%s", strings.TrimSuffix(text, ";"))
	}
}

// reader makes a login that may do what the grants say, and gives the DSN of the database for it.
func (db database) reader(t testing.TB, grants ...string) (login, dsn string) {
	t.Helper()
	login = scratch()
	if db.engine == "mysql" {
		config, err := mysqldriver.ParseDSN(db.dsn)
		if err != nil {
			t.Fatal(err)
		}
		db.Exec(t, "CREATE USER '%s'@'%%' IDENTIFIED BY 'opensesame'", login)
		t.Cleanup(func() { db.Exec(t, "DROP USER '%s'@'%%'", login) })
		config.User, config.Passwd = login, "opensesame"
		dsn = config.FormatDSN()
	} else {
		u, err := url.Parse(db.dsn)
		if err != nil {
			t.Fatal(err)
		}
		db.Exec(t, "CREATE ROLE %s LOGIN PASSWORD 'opensesame'", login)
		t.Cleanup(func() { db.Exec(t, "DROP OWNED BY %s", login); db.Exec(t, "DROP ROLE %s", login) })
		u.User = url.UserPassword(login, "opensesame")
		dsn = u.String()
	}
	for _, grant := range grants {
		if db.engine == "mysql" {
			db.Exec(t, "GRANT %s TO '%s'@'%%'", grant, login)
		} else {
			db.Exec(t, "GRANT %s TO %s", grant, login)
		}
	}
	return login, dsn
}

func (db database) two(t testing.TB) {
	t.Helper()
	for _, table := range []string{"parcel", "odd Depot"} {
		shape := qlikwriter.Parcel(table)
		shape.NoIndex = table != "parcel"
		db.Create(t, shape)
		db.put(t, table, 1, 1, "new", "1.50")
	}
}

// What a login lacks is named with grants that give it, for one who owns the tables.
func TestDoctorNamesWhatALoginLacks(t *testing.T) {
	for _, c := range []struct {
		name   string
		open   func(testing.TB) database
		grants []string
		area   preflight.Area
		check  string
	}{
		{"postgres", postgres, []string{`SELECT ON public.parcel__ct`}, preflight.AreaTable, "rights"},
		{"mariadb", mariadb, []string{"SELECT ON `%s`.parcel__ct", "SELECT ON `%s`.parcel"}, preflight.AreaTable, "found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := c.open(t)
			db.two(t)
			grants := slices.Clone(c.grants)
			for i := range grants {
				grants[i] = strings.ReplaceAll(grants[i], "%s", db.Schema)
			}
			login, dsn := db.reader(t, grants...)
			b := newBridge(t, db, "")
			b.edit("source:\n", fmt.Sprintf("source:\n  tables: [\"*.parcel\", '%s.\"odd Depot\"']\n", db.Schema))
			t.Setenv("LIVE_DSN", dsn)
			r := b.doctor(1)
			f := finding(t, r, preflight.Fail, c.area, c.check, "")
			if !strings.Contains(strings.Join(f.SQL, " "), login) || !strings.Contains(strings.Join(f.SQL, " "), "odd Depot__ct") {
				t.Errorf("%+v", f)
			}
			finding(t, r, preflight.Pass, preflight.AreaSource, "reach", db.engine)
			obey(t, db, f)
			r = b.doctor(0)
			if f := finding(t, r, preflight.Warn, preflight.AreaTable, "index", db.Schema+".odd Depot__ct"); len(f.SQL) == 1 {
				obey(t, db, f)
			}
			r = b.doctor(0)
			if i := slices.IndexFunc(r.Findings, func(f preflight.Finding) bool { return f.Check == "index" }); i < 0 || r.Findings[i].Level != preflight.Pass || r.Findings[i].Subject != "2 tables" {
				t.Errorf("indexes after the SQL: %+v", r.Findings)
			}
		})
	}
}

// admin is a client of the brokers.
func admin(t testing.TB) sarama.ClusterAdmin {
	t.Helper()
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	a, err := sarama.NewClusterAdmin([]string{need(t, "CTBRIDGE_TEST_KAFKA")}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// Topics that refuse what the task would write are found before it does, and topics that are missing stay so.
func TestDoctorLooksAtTopics(t *testing.T) {
	db := postgres(t)
	db.two(t)
	keyless := qlikwriter.Shape{Table: "scan", Columns: []string{"parcel int"}}
	db.Create(t, keyless)
	b := newBridge(t, db, "")
	a := admin(t)
	small, compact := "1000", "compact"
	for name, entries := range map[string]map[string]*string{b.task + ".parcel": {"max.message.bytes": &small}, b.task + ".scan": {"cleanup.policy": &compact}} {
		if err := a.CreateTopic(name, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1, ConfigEntries: entries}, false); err != nil {
			t.Fatal(err)
		}
	}
	r := b.doctor(1)
	if f := finding(t, r, preflight.Fail, preflight.AreaKafka, "size", b.task+".parcel"); !strings.Contains(f.Commands[0], "--entity-name "+b.task+".parcel --add-config max.message.bytes=1048576") {
		t.Errorf("%+v", f)
	}
	finding(t, r, preflight.Fail, preflight.AreaKafka, "cleanup", b.task+".scan")
	finding(t, r, preflight.Warn, preflight.AreaTable, "key", "public.scan")
	finding(t, r, preflight.Pass, preflight.AreaKafka, "version", "")
	finding(t, r, preflight.Pass, preflight.AreaKafka, "transactions", "ctbridge."+b.task+".0")
	topics, err := a.ListTopics()
	if err != nil {
		t.Fatal(err)
	}
	for name := range topics {
		if strings.Contains(name, b.task) && name != b.task+".parcel" && name != b.task+".scan" {
			t.Errorf("doctor made topic %s", name)
		}
	}
	b.edit("data: {partitions: 3}", "data: {partitions: 3, replication_factor: 5}")
	f := finding(t, b.doctor(1), preflight.Fail, preflight.AreaKafka, "topics", b.task+".odd_u0020Depot")
	if !strings.Contains(f.Commands[len(f.Commands)-1], "--partitions 3 --replication-factor 5") {
		t.Errorf("%+v", f)
	}
}

// A writer that keeps its transaction open is named, to a login that may see it and to one that may not.
func TestDoctorSeesOpenWriters(t *testing.T) {
	db := postgres(t)
	db.two(t)
	b := newBridge(t, db, "")
	_, dsn := db.reader(t, "pg_read_all_data")
	tx, err := db.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO parcel (id) VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIVE_DSN", dsn)
	f := finding(t, b.doctor(0), preflight.Warn, preflight.AreaSource, "transactions", "")
	if !strings.HasPrefix(f.SQL[0], "SELECT pg_terminate_backend(") || !strings.Contains(f.Seen, "may not see") {
		t.Errorf("%+v", f)
	}
}

// A schema that the registry would refuse is found without being registered; a structure change shows its difference.
func TestPlanShowsASchemaBeforeItIsRegistered(t *testing.T) {
	db := postgres(t)
	db.Create(t, qlikwriter.Parcel("parcel"))
	db.put(t, "parcel", 1, 1, "new", "1.50")
	b := newBridge(t, db, levelled(t, "BACKWARD"))
	subject := b.task + ".parcel-value"
	p := b.plan()
	if s := p.Tables[0].Outputs[0].Schemas[0]; s.State != preflight.SchemaNewSubject || s.Subject != subject || p.Tables[0].VersionNow != 0 || p.Tables[0].Start.Kind != "earliest" {
		t.Fatalf("%+v", p)
	}
	b.start()
	b.until(1, "parcel")
	b.stop()
	p = b.plan()
	if s := p.Tables[0].Outputs[0].Schemas[0]; s.State != preflight.SchemaKnown || s.ID == 0 || p.Tables[0].VersionNow != 1 || p.Tables[0].Version != 1 || p.Tables[0].Start.Kind != "resume" {
		t.Fatalf("%+v", p)
	}
	finding(t, b.doctor(0), preflight.Pass, preflight.AreaCheckpoint, "position", "1 table")

	db.alter(t, "parcel", "ADD COLUMN note varchar(10)")
	p = b.plan()
	s := p.Tables[0].Outputs[0].Schemas[0]
	added := slices.ContainsFunc(s.Changes, func(c preflight.Change) bool { return c.Kind == preflight.Added && strings.HasSuffix(c.Path, "note") })
	if s.State != preflight.SchemaNewVersion || !s.Compatible || !added || p.Tables[0].Version != 2 || len(p.Tables[0].Columns) != 1 || p.Tables[0].Columns[0].Path != "note" {
		t.Fatalf("%+v", p)
	}
	finding(t, b.doctor(0), preflight.Pass, preflight.AreaRegistry, "schemas", "1 schema")

	var versions []int
	ask(t, "GET", "/subjects/"+subject+"/versions", "", &versions)
	if len(versions) != 1 {
		t.Errorf("plan registered: %v", versions)
	}
	var id struct{ ID int }
	other := scratch()
	ask(t, "POST", "/subjects/"+other+".parcel-value/versions", `{"schema": "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"x\",\"type\":\"int\"}]}"}`, &id)
	var level map[string]string
	ask(t, "PUT", "/config/"+other+".parcel-value", `{"compatibility": "BACKWARD"}`, &level)
	b.edit("task: "+b.task, "task: "+other)
	f := finding(t, b.doctor(1), preflight.Fail, preflight.AreaRegistry, "schemas", other+".parcel-value")
	if !strings.Contains(f.Seen, "BACKWARD") {
		t.Errorf("%+v", f)
	}
	p = b.plan()
	if s := p.Tables[0].Outputs[0].Schemas[0]; s.Compatible || s.State != preflight.SchemaNewVersion || len(s.Changes) == 0 {
		t.Errorf("%+v", s)
	}
}

// What a reader of MariaDB may not list is told with the right for it, which is exact.
func TestDoctorNamesTheRightToList(t *testing.T) {
	db := mariadb(t)
	db.two(t)
	b := newBridge(t, db, "")
	_, dsn := db.reader(t, fmt.Sprintf("SELECT ON `%s`.*", db.Schema))
	t.Setenv("LIVE_DSN", dsn)
	obey(t, db, finding(t, b.doctor(0), preflight.Warn, preflight.AreaSource, "transactions", "open transactions"))
	finding(t, b.doctor(0), preflight.Pass, preflight.AreaSource, "transactions", "open transactions")
}
