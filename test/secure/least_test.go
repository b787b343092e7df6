package secure

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"ctbridge/test/qlikwriter"
)

// logins is a database in which user may do what the documentation lists for a task, and no more.
type logins struct {
	engine, user, dsn string
	table             string             // as source.tables spells it
	more              func(t *testing.T) // grants what a full load needs
}

func leastPostgres(t *testing.T) logins {
	t.Helper()
	given := os.Getenv("CTBRIDGE_TEST_POSTGRES")
	if given == "" {
		t.Skip("CTBRIDGE_TEST_POSTGRES is not set: make test starts the servers")
	}
	name := scratch()
	server := admin(t, "pgx", given, "CREATE DATABASE "+name, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", name, password))
	t.Cleanup(func() {
		for _, text := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "DROP ROLE " + name} {
			if _, err := server.Exec(text); err != nil {
				t.Error(err)
			}
		}
	})
	u, err := url.Parse(given)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	db := admin(t, "pgx", u.String(), "CREATE SCHEMA sales")
	w := &qlikwriter.Writer{DB: db, Dialect: qlikwriter.Postgres, Schema: "sales"}
	fill(t, w)
	w.Exec(t, "INSERT INTO sales.parcel VALUES (7, 'old', '2.00')")
	w.Exec(t, "GRANT CONNECT ON DATABASE %s TO %s", name, name)
	w.Exec(t, "GRANT USAGE ON SCHEMA sales TO %s", name)
	w.Exec(t, "GRANT SELECT ON sales.parcel__ct TO %s", name)
	u.User = url.UserPassword(name, password)
	return logins{"postgres", name, u.String(), "sales.parcel", func(t *testing.T) { w.Exec(t, "GRANT SELECT ON sales.parcel TO %s", name) }}
}

func leastMariaDB(t *testing.T) logins {
	t.Helper()
	given := os.Getenv("CTBRIDGE_TEST_MARIADB")
	if given == "" {
		t.Skip("CTBRIDGE_TEST_MARIADB is not set: make test starts the servers")
	}
	name := scratch()
	db := admin(t, "mysql", given, "CREATE DATABASE "+name, fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s'", name, password))
	t.Cleanup(func() {
		for _, text := range []string{"DROP DATABASE " + name, "DROP USER " + name + "@'%'"} {
			if _, err := db.Exec(text); err != nil {
				t.Error(err)
			}
		}
	})
	w := &qlikwriter.Writer{DB: db, Dialect: qlikwriter.MariaDB, Schema: name}
	fill(t, w)
	w.Exec(t, "INSERT INTO %s.parcel VALUES (7, 'old', '2.00')", name)
	w.Exec(t, "GRANT SELECT ON %s.parcel__ct TO %s@'%%'", name, name)
	w.Exec(t, "GRANT REFERENCES ON %s.parcel TO %s@'%%'", name, name)
	c, err := mysql.ParseDSN(given)
	if err != nil {
		t.Fatal(err)
	}
	c.User, c.Passwd, c.DBName = name, password, name
	return logins{"mysql", name, c.FormatDSN(), name + ".parcel", func(t *testing.T) { w.Exec(t, "GRANT SELECT ON %s.parcel TO %s@'%%'", name, name) }}
}

func TestLeastRightsInPostgres(t *testing.T) { t.Parallel(); testLeastRights(t, leastPostgres(t)) }
func TestLeastRightsInMariaDB(t *testing.T)  { t.Parallel(); testLeastRights(t, leastMariaDB(t)) }

// testLeastRights: the changes need no right on the base table but to know its key; a snapshot needs SELECT on it, and says so.
func testLeastRights(t *testing.T, l logins) {
	broker := os.Getenv("CTBRIDGE_TEST_KAFKA")
	if broker == "" {
		t.Skip("CTBRIDGE_TEST_KAFKA is not set: make test starts the servers")
	}
	text := fmt.Sprintf(`task: %s
source: {engine: %s, dsn: %q, tables: [%q], poll_interval: 20ms, horizon: {settle: 0s}, startup_timeout: 10s}
metrics: {listen: "127.0.0.1:0"}
kafka: {brokers: %q, topic: "{task}.{table}"}
`, scratch(), l.engine, l.dsn, l.table, broker)
	p := start(t, text)
	p.moves(1)
	file := filepath.Join(t.TempDir(), "task.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	snapshot := []string{"snapshot", file, "--table", l.table, "--timeout", "10s"}
	execute(snapshot)
	p.says("full load cancelled", "GRANT SELECT")
	l.more(t)
	if out, code := execute(snapshot); code != 0 {
		t.Errorf("code %d: %s", code, out)
	}
	p.eventually("the loaded row", func() bool {
		return strings.Contains(p.metrics(), fmt.Sprintf(`ctbridge_load_rows_total{table=%q} 1`, l.table))
	})
	p.stop()
	p.hides(password)
}
