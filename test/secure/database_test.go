package secure

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"ctbridge/test/certs"
	"ctbridge/test/qlikwriter"
	"ctbridge/test/stack/servers"
)

// database is a server that takes logins in TLS: of user plain with a password, of user mutual with a client's certificate, too. Both may do no
// more than the documentation lists.
type database struct {
	engine string
	dsn    func(user string) string
	ca     *certs.Authority
	state  string // the DSN of user keeper, who may have a table in state
}

const (
	accessRules = `local all all reject
hostssl all mutual 127.0.0.1/32 scram-sha-256 clientcert=verify-ca
hostssl all reader 127.0.0.1/32 scram-sha-256
hostssl all keeper 127.0.0.1/32 scram-sha-256
host all ctbridge 127.0.0.1/32 scram-sha-256
`
	postgresSettings = "ssl = on\nssl_cert_file = '{dir}/cert.pem'\nssl_key_file = '{dir}/key.pem'\nssl_ca_file = '{dir}/ca.pem'\n"
	mariadbSettings  = "ssl-cert={dir}/cert.pem\nssl-key={dir}/key.pem\nssl-ca={dir}/ca.pem\n"
)

func files(t *testing.T, ca *certs.Authority) map[string][]byte {
	server := ca.Sign(nil)
	return map[string][]byte{"cert.pem": read(t, server.CertFile), "key.pem": read(t, server.KeyFile), "ca.pem": read(t, ca.File)}
}

func postgres(t *testing.T) database {
	t.Helper()
	ca := certs.New(t)
	server := private(t, servers.Setting{
		Part: servers.Postgres, Files: files(t, ca), Config: postgresSettings, Instead: map[string]string{"data/pg_hba.conf": accessRules},
	})
	dsn := func(user, password, database string) string {
		return (&url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: server.Address("client"), Path: "/" + database}).String()
	}
	admin(t, "pgx", dsn(servers.User, server.Password(), "postgres"), "CREATE DATABASE shop")
	db := admin(t, "pgx", dsn(servers.User, server.Password(), "shop"),
		"CREATE ROLE reader LOGIN PASSWORD '"+password+"'", "CREATE ROLE mutual LOGIN PASSWORD '"+password+"'", "CREATE SCHEMA sales")
	fill(t, &qlikwriter.Writer{DB: db, Dialect: qlikwriter.Postgres, Schema: "sales"})
	for _, user := range []string{"reader", "mutual"} {
		admin(t, "pgx", dsn(servers.User, server.Password(), "shop"), "GRANT USAGE ON SCHEMA sales TO "+user, "GRANT SELECT ON ALL TABLES IN SCHEMA sales TO "+user)
	}
	admin(t, "pgx", dsn(servers.User, server.Password(), "shop"), "CREATE ROLE keeper LOGIN PASSWORD '"+password+"'", "CREATE SCHEMA state", "GRANT USAGE, CREATE ON SCHEMA state TO keeper")
	return database{"postgres", func(user string) string { return dsn(user, password, "shop") }, ca, dsn("keeper", password, "shop")}
}

func mariadb(t *testing.T) database {
	t.Helper()
	ca := certs.New(t)
	server := private(t, servers.Setting{Part: servers.MariaDB, Files: files(t, ca), Config: mariadbSettings})
	dsn := func(user, password, database string) string {
		c := mysql.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "tcp", server.Address("client"), database
		return c.FormatDSN()
	}
	db := admin(t, "mysql", dsn(servers.User, server.Password(), ""), "CREATE DATABASE sales")
	fill(t, &qlikwriter.Writer{DB: db, Dialect: qlikwriter.MariaDB, Schema: "sales"})
	for user, require := range map[string]string{"reader": "SSL", "mutual": "X509"} {
		admin(t, "mysql", dsn(servers.User, server.Password(), ""),
			fmt.Sprintf("CREATE USER %s@127.0.0.1 IDENTIFIED BY '%s' REQUIRE %s", user, password, require), fmt.Sprintf("GRANT SELECT ON sales.* TO %s@127.0.0.1", user))
	}
	admin(t, "mysql", dsn(servers.User, server.Password(), ""), "CREATE DATABASE state", "CREATE USER keeper@127.0.0.1 IDENTIFIED BY '"+password+"' REQUIRE SSL",
		"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON state.* TO keeper@127.0.0.1")
	return database{"mysql", func(user string) string { return dsn(user, password, "sales") }, ca, dsn("keeper", password, "state")}
}

func admin(t *testing.T, driver, dsn string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, text := range statements {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if _, err := db.ExecContext(ctx, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		cancel()
	}
	return db
}

func TestRealPostgres(t *testing.T) { t.Parallel(); testServer(t, postgres(t)) }
func TestRealMariaDB(t *testing.T)  { t.Parallel(); testServer(t, mariadb(t)) }

func testServer(t *testing.T, d database) {
	t.Run("source", func(t *testing.T) { t.Parallel(); testDatabase(t, d) })
	t.Run("checkpoint", func(t *testing.T) { t.Parallel(); testCheckpoint(t, d) })
}

// section is a tls section.
func section(ca *certs.Authority, pair *certs.Pair, more string) string {
	text := fmt.Sprintf("{enabled: true, ca_file: %q%s", ca.File, more)
	if pair != nil {
		text += fmt.Sprintf(", cert_file: %q, key_file: %q", pair.CertFile, pair.KeyFile)
	}
	return text + "}"
}

// testCheckpoint keeps the checkpoint in a table there, with the rights that the documentation lists, or fails as it should.
func testCheckpoint(t *testing.T, d database) {
	broker := os.Getenv("CTBRIDGE_TEST_KAFKA")
	if broker == "" {
		t.Skip("CTBRIDGE_TEST_KAFKA is not set: make test starts the servers")
	}
	other := certs.New(t)
	for name, c := range map[string]struct{ tls, hint string }{
		"good":                      {section(d.ca, nil, ""), ""},
		"unknown authority":         {section(other, nil, ""), "ca_file"},
		"authorities of the system": {"{enabled: true}", "ca_file"},
		"wrong host":                {section(d.ca, nil, ", server_name: elsewhere.test"), "server_name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, fmt.Sprintf(`task: %s
source: {engine: sqlite, dsn: %q, poll_interval: 20ms, horizon: {settle: 0s}, startup_timeout: 10s}
delivery: at_least_once
checkpoint: {store: sql, engine: %s, dsn: "${DSN}", table: state.ctbridge_checkpoint, tls: %s}
metrics: {listen: "127.0.0.1:0"}
kafka: {brokers: %q, topic: "{task}.{table}"}
`, scratch(), source(t), d.engine, c.tls, broker), "DSN="+d.state)
			if c.hint == "" {
				p.moves(1)
				p.stop()
			} else if code := p.code(); code != 3 || !strings.Contains(p.log.String(), c.hint) {
				t.Errorf("code %d, want 3 with %q", code, c.hint)
			}
			p.hides(password)
		})
	}
}

// testDatabase reads a change table in TLS, with no more rights than SELECT, or fails as it should.
func testDatabase(t *testing.T, d database) {
	broker := os.Getenv("CTBRIDGE_TEST_KAFKA")
	if broker == "" {
		t.Skip("CTBRIDGE_TEST_KAFKA is not set: make test starts the servers")
	}
	other := certs.New(t)
	client, stranger := d.ca.Sign(nil), other.Sign(nil)
	for name, c := range map[string]struct{ user, tls, hint string }{
		"good":                      {"reader", section(d.ca, nil, ""), ""},
		"unknown authority":         {"reader", section(other, nil, ""), "ca_file"},
		"authorities of the system": {"reader", "{enabled: true}", "ca_file"},
		"wrong host":                {"reader", section(d.ca, nil, ", server_name: elsewhere.test"), "server_name"},
		"mutual":                    {"mutual", section(d.ca, &client, ""), ""},
		"mutual, none":              {"mutual", section(d.ca, nil, ""), "check user"},
		"mutual, of another":        {"mutual", section(d.ca, &stranger, ""), "cert_file"},
		"plain text":                {"reader", "{enabled: false}", "check user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(c.user)
			if name == "plain text" && d.engine == "postgres" {
				dsn += "?sslmode=disable"
			}
			p := start(t, fmt.Sprintf(`task: %s
source: {engine: %s, dsn: "${DSN}", tls: %s, poll_interval: 20ms, horizon: {settle: 0s}, startup_timeout: 10s}
metrics: {listen: "127.0.0.1:0"}
log: {level: debug}
kafka: {brokers: %q, topic: "{task}.{table}"}
`, scratch(), d.engine, c.tls, broker), "DSN="+dsn)
			if c.hint == "" {
				p.moves(1)
				p.stop()
			} else if code := p.code(); code != 3 || !strings.Contains(p.log.String(), c.hint) {
				t.Errorf("code %d, want 3 with %q", code, c.hint)
			}
			p.hides(password)
		})
	}
}
