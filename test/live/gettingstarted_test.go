package live

import (
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/microsoft/go-mssqldb"
	_ "modernc.org/sqlite"
)

// manual is a page docs/getting-started-*.md. What it shows is run as it stands, but for names that a shared server needs to be others.
type manual struct {
	testing.TB
	sections map[string]string // by their numbers
	names    *strings.Replacer // in SQL and connection strings
	topics   *strings.Replacer // in configurations and commands
	admin    *sql.DB           // who makes tables and grants
	separate string            // between statements; "" = the driver takes all at once
	config   string            // the file that the page calls orders.yaml
}

func readManual(t testing.TB, file string) *manual {
	t.Helper()
	need(t, "CTBRIDGE_TEST_KAFKA")
	text, err := os.ReadFile("../../docs/" + file)
	if err != nil {
		t.Fatal(err)
	}
	m := &manual{TB: t, sections: map[string]string{}}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		number, rest, _ := strings.Cut(section, ".")
		m.sections[number] = rest
	}
	return m
}

// blocks are the code blocks of a section in one language.
func (m *manual) blocks(section, language string) (out []string) {
	m.Helper()
	for _, b := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(m.sections[section], -1) {
		if b[1] == language {
			out = append(out, b[2])
		}
	}
	if len(out) == 0 {
		m.Fatalf("section %s has no block of %q", section, language)
	}
	return out
}

// execute runs the SQL of a section.
func (m *manual) execute(section string) {
	m.Helper()
	for _, block := range m.blocks(section, "sql") {
		statements := []string{block}
		if m.separate != "" {
			statements = strings.Split(block, m.separate)
		}
		for _, statement := range statements {
			if strings.TrimSpace(statement) != "" {
				execute(m, m.admin, m.names.Replace(statement))
			}
		}
	}
}

// grants runs what the table of rights offers for some features.
func (m *manual) grants() {
	m.Helper()
	rights := regexp.MustCompile("(?m)^\\|.*\\| `(GRANT [^`]*)` \\|$").FindAllStringSubmatch(m.sections["3"], -1)
	if len(rights) < 2 {
		m.Fatalf("%d rights for features", len(rights))
	}
	for _, right := range rights {
		if !strings.Contains(right[1], "attrep_ddl_history") {
			execute(m, m.admin, m.names.Replace(right[1]))
		}
	}
}

// dsn is the connection string that section 6 exports, on another server.
func (m *manual) dsn(address string) string {
	m.Helper()
	export := regexp.MustCompile(`SOURCE_DSN='?([^'\n]*)`).FindStringSubmatch(m.blocks("6", "sh")[0])
	if export == nil {
		m.Fatal("section 6 exports no SOURCE_DSN")
	}
	return m.names.Replace(regexp.MustCompile(`db\.example\.com:\d+`).ReplaceAllLiteralString(export[1], address))
}

// bridge writes the configuration of section 5, for the real brokers.
func (m *manual) bridge(dsn string) *bridge {
	m.Helper()
	b := &bridge{TB: m, log: &logBuffer{}}
	text := m.topics.Replace(m.blocks("5", "yaml")[0])
	text = strings.Replace(text, "kafka.example.com:9092", os.Getenv("CTBRIDGE_TEST_KAFKA"), 1)
	text = strings.Replace(text, "task: orders", "task: "+scratch(), 1)
	m.config = filepath.Join(m.TempDir(), "orders.yaml")
	b.config = m.config
	if err := os.WriteFile(m.config, []byte(text+"metrics: {listen: \"127.0.0.1:0\"}\n"), 0o600); err != nil {
		m.Fatal(err)
	}
	m.TB.(*testing.T).Setenv("SOURCE_DSN", dsn)
	m.Cleanup(func() {
		b.kill()
		if m.Failed() {
			m.Logf("log of the bridge:\n%s", b.log.String())
		}
	})
	return b
}

// command runs a line of section 6 and gives what it prints.
func (m *manual) command(verb string, more ...string) string {
	m.Helper()
	line := regexp.MustCompile(`(?m)^ctbridge (` + verb + ` .*)$`).FindStringSubmatch(m.sections["6"])
	if line == nil {
		m.Fatalf("section 6 does not call %s", verb)
	}
	call, _, _ := strings.Cut(line[1], "#")
	args := strings.Fields(strings.Replace(m.topics.Replace(call), "orders.yaml", m.config, 1))
	out, err := exec.Command(binary, append(args, more...)...).CombinedOutput()
	if err != nil && verb != "tail" { // the topic may not be there yet
		m.Fatalf("ctbridge %s: %v\n%s", line[1], err, out)
	}
	return string(out)
}

// shows waits until the tail of section 6 has so many messages, and gives what it shows without times and sequences.
func (m *manual) shows(n int) string {
	m.Helper()
	var out string
	waitFor(m, func() bool {
		out = m.command("tail", "--exit")
		return strings.Count(out, " seq ")+strings.Count(out, "REFRESH") >= n
	})
	return anonymous(out)
}

// anonymous takes out what differs from run to run.
func anonymous(text string) string {
	text = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3} `).ReplaceAllString(text, "")
	return regexp.MustCompile(`\b\d{35}\b`).ReplaceAllString(text, "SEQ")
}

// follow is what the newcomer does: sections 2 to 6, and the purge of section 8. later makes one more change.
func (m *manual) follow(address, later string) *bridge {
	m.Helper()
	m.execute("2")
	m.execute("3")
	m.execute("4")
	b := m.bridge(m.dsn(address))
	if out := m.command("validate"); !strings.HasPrefix(out, "ok\n") {
		m.Errorf("validate says %s", out)
	}
	m.command("doctor") // finds nothing that fails
	b.start()
	got := m.shows(2)
	if want := anonymous(m.topics.Replace(m.blocks("6", "")[0])); got != want {
		m.Errorf("the page shows\n%s\nit is\n%s", want, got)
	}
	m.execute("8")
	b.polls(2)
	execute(m, m.admin, m.names.Replace(later))
	m.shows(3)
	if gaps, late := b.metric("ctbridge_gaps_total"), b.metric("ctbridge_late_rows_total"); gaps != 0 || late != 0 {
		m.Errorf("%v gaps, %v late rows after the purge", gaps, late)
	}
	return b
}

// features grants what the features need and uses them: a load, and a control table that is there.
func (m *manual) features(b *bridge, table, status, later string) {
	m.Helper()
	b.stop()
	execute(m, m.admin, m.names.Replace(status))
	m.grants()
	b.start()
	execute(m, m.admin, m.names.Replace(later))
	m.shows(4)
	out, err := exec.Command(binary, "snapshot", m.config, "--table", m.topics.Replace(table)).CombinedOutput()
	if err != nil {
		m.Errorf("snapshot: %v\n%s", err, out)
	}
	if got := m.shows(5); !strings.Contains(got, "REFRESH") {
		m.Errorf("no row of the load in\n%s", got)
	}
}

// mayNot proves that the login of the page has no more than the page says.
func (m *manual) mayNot(driver, dsn, statement string) {
	m.Helper()
	db := open(m, driver, dsn)
	if _, err := db.Exec(m.names.Replace(statement)); err == nil {
		m.Errorf("the login may %s", statement)
	}
}

// onBabelfish changes what that server, which speaks T-SQL, does not take.
func (m *manual) onBabelfish(server *sql.DB) {
	m.Helper()
	var version string
	if err := server.QueryRow("SELECT @@VERSION").Scan(&version); err != nil {
		m.Fatal(err)
	}
	if strings.Contains(version, "Babelfish") {
		m.sections["3"] = strings.Replace(m.sections["3"], "GRANT VIEW DEFINITION ON OBJECT::", "GRANT SELECT ON ", 1)
	}
}

// The pages for newcomers are true: their statements, rights, configuration and commands bring the messages that they show.
func TestGettingStarted(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		m, db := readManual(t, "getting-started-postgres.md"), postgres(t)
		schema, login := scratch(), scratch()
		u, err := url.Parse(db.dsn)
		if err != nil {
			t.Fatal(err)
		}
		m.admin, m.separate = db.DB, ";\n"
		m.names = strings.NewReplacer("ctbridge", login, "sales", schema, "shop", strings.Trim(u.Path, "/"))
		m.topics = strings.NewReplacer("sales", schema)
		t.Cleanup(func() {
			execute(t, db.DB, "DROP OWNED BY "+login)
			execute(t, db.DB, "DROP ROLE "+login)
		})
		b := m.follow(u.Host, `INSERT INTO sales.orders__ct (header__change_seq, header__change_oper, id) VALUES ('20990301101500000000000000000000001', 'I', 2)`)
		m.mayNot("pgx", m.dsn(u.Host), "SELECT id FROM sales.orders")
		m.mayNot("pgx", m.dsn(u.Host), "DELETE FROM sales.orders__ct")
		m.execute("7")
		m.features(b, "sales.orders", `CREATE TABLE sales.attrep_status (task_name varchar(128), source_timestamp_applied timestamp)`,
			`INSERT INTO sales.orders__ct (header__change_seq, header__change_oper, id) VALUES ('20990301101500000000000000000000002', 'I', 3)`)
	})
	t.Run("mariadb", func(t *testing.T) {
		m := readManual(t, "getting-started-mysql.md")
		name, login := scratch(), scratch()
		admin, err := mysqldriver.ParseDSN(need(t, "CTBRIDGE_TEST_MARIADB"))
		if err != nil {
			t.Fatal(err)
		}
		m.admin, m.separate = open(t, "mysql", admin.FormatDSN()), ";\n"
		m.names, m.topics = strings.NewReplacer("ctbridge", login, "shop", name), strings.NewReplacer("shop", name)
		t.Cleanup(func() {
			execute(t, m.admin, "DROP USER "+login)
			execute(t, m.admin, "DROP DATABASE "+name)
		})
		b := m.follow(admin.Addr, `INSERT INTO shop.orders__ct (header__change_seq, header__change_oper, id) VALUES ('20990301101500000000000000000000001', 'I', 2)`)
		m.mayNot("mysql", m.dsn(admin.Addr), "SELECT id FROM shop.orders")
		m.mayNot("mysql", m.dsn(admin.Addr), "DELETE FROM shop.orders__ct")
		m.features(b, "shop.orders", `CREATE TABLE shop.attrep_status (task_name varchar(128), source_timestamp_applied datetime)`,
			`INSERT INTO shop.orders__ct (header__change_seq, header__change_oper, id) VALUES ('20990301101500000000000000000000002', 'I', 3)`)
	})
	t.Run("sqlite", func(t *testing.T) {
		m := readManual(t, "getting-started-sqlite.md")
		name, file := scratch(), filepath.Join(t.TempDir(), "shop.db")
		m.admin = open(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
		m.names, m.topics = strings.NewReplacer("/var/lib/shop/shop.db", file), strings.NewReplacer("shop.", name+".")
		m.sections["3"] += "\n```sql\nSELECT 1\n```\n" // no rights in SQL
		m.follow("", `DELETE FROM orders`).stop()
	})
	t.Run("sqlserver", func(t *testing.T) {
		m := readManual(t, "getting-started-sqlserver.md")
		dsn := os.Getenv("CTBRIDGE_TEST_SQLSERVER_DSN")
		if dsn == "" {
			t.Skip("CTBRIDGE_TEST_SQLSERVER_DSN is not set: no SQL Server to test with")
		}
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		server := open(t, "sqlserver", u.String())
		name, schema, login := scratch(), scratch(), scratch()
		execute(t, server, "CREATE DATABASE "+name)
		t.Cleanup(func() {
			execute(t, server, "DROP DATABASE "+name)
			waitFor(t, func() bool { // the server takes a while to see that the bridge has gone
				_, err := server.Exec("DROP LOGIN " + login)
				return err == nil
			})
		})
		query := u.Query()
		query.Set("database", name)
		u.RawQuery = query.Encode()
		m.admin, m.separate = open(t, "sqlserver", u.String()), "GO\n"
		m.names, m.topics = strings.NewReplacer("ctbridge", login, "sales", schema, "shop", name), strings.NewReplacer("sales", schema)
		m.onBabelfish(server)
		query.Del("database")
		m.sections["6"] = strings.Replace(m.sections["6"], "?database=shop", "?database=shop&"+query.Encode(), 1)
		b := m.follow(u.Host, `INSERT INTO sales.orders__ct (header__change_seq, header__change_oper, id) VALUES ('20990301101500000000000000000000001', 'I', 2)`)
		m.mayNot("sqlserver", m.dsn(u.Host), "DELETE FROM sales.orders__ct")
		m.features(b, "sales.orders", `CREATE TABLE sales.attrep_status (task_name varchar(128), source_timestamp_applied datetime2)`,
			`INSERT INTO sales.orders__ct (header__change_seq, header__change_oper, id) VALUES ('20990301101500000000000000000000002', 'I', 3)`)
		b.stop()
		m.admin.Close()
	})
}
