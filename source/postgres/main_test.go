package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/enginetest"
)

// scratch is a database of one test.
type scratch struct {
	url   *url.URL
	admin *sql.DB
}

// newScratch makes a database with an awkward name (case 61) and drops it after the test.
func newScratch(tb testing.TB) *scratch {
	tb.Helper()
	dsn := os.Getenv("CTBRIDGE_TEST_POSTGRES")
	if dsn == "" {
		tb.Skip("CTBRIDGE_TEST_POSTGRES is not set: no PostgreSQL server to test with")
	}
	server, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal("CTBRIDGE_TEST_POSTGRES is not a URL")
	}
	root := openAdmin(tb, server)
	name := fmt.Sprintf("ops-main %x", time.Now().UnixNano())
	mustExec(tb, root, "CREATE DATABASE "+dialect{}.Quote(name))
	tb.Cleanup(func() {
		mustExec(tb, root, "DROP DATABASE "+dialect{}.Quote(name)+" WITH (FORCE)")
		root.Close()
	})
	own := *server
	own.Path = "/" + name
	s := &scratch{url: &own, admin: openAdmin(tb, &own)}
	tb.Cleanup(func() { s.admin.Close() })
	return s
}

func openAdmin(tb testing.TB, u *url.URL) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		tb.Fatal("CTBRIDGE_TEST_POSTGRES cannot be parsed")
	}
	return stdlib.OpenDB(*config)
}

func mustExec(tb testing.TB, db *sql.DB, statements ...string) {
	tb.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// dsn is the database's URL with options of the form name=value.
func (s *scratch) dsn(options ...string) string {
	u := *s.url
	q := u.Query()
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func (s *scratch) open(tb testing.TB, options ...string) *Engine {
	tb.Helper()
	return openConfig(tb, Config{DSN: s.dsn(options...)})
}

func openConfig(tb testing.TB, cfg Config) *Engine {
	tb.Helper()
	e, err := Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.Close() })
	return e
}

// modes are all ways in which pgx can talk to the server; the last two are for connection poolers and give all values as text.
var modes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

// TestConformance runs the suite in every mode; the network checks once.
func TestConformance(t *testing.T) {
	for i, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			s := newScratch(t)
			h := s.harness(t, mode)
			if i > 0 {
				h.Server = nil
			}
			enginetest.Run(t, h)
		})
	}
}

func (s *scratch) harness(t *testing.T, mode string) enginetest.Harness {
	t.Helper()
	const schema = `ops-main "x" ]]`
	mustExec(t, s.admin, "CREATE SCHEMA "+dialect{}.Quote(schema), "CREATE TYPE public.mood AS ENUM ('sad', 'so so')",
		"CREATE DOMAIN public.email AS varchar(20) CHECK (VALUE LIKE '%@%')", "CREATE DOMAIN public.work_email AS public.email",
		"CREATE TYPE public.pair AS (a int, b text)", "SET lc_monetary = 'C'")
	option := "default_query_exec_mode=" + mode
	return enginetest.Harness{
		Schema:   schema,
		Open:     func(t *testing.T) source.Engine { return s.open(t, option) },
		Admin:    s.admin,
		Rename:   "ALTER TABLE %s RENAME COLUMN %s TO %s",
		Computed: "int GENERATED ALWAYS AS (a + 1) STORED",
		Slow:     "SELECT 1::bigint AS x FROM pg_sleep(30)",
		Types:    types(),
		Keysets:  keysets(),
		Indexed:  s.indexed,
		Server: &enginetest.Server{
			Addr:     s.url.Host,
			Password: s.password(),
			OpenAt:   func(t *testing.T, way enginetest.Way) (source.Engine, error) { return s.openAt(way, option) },
			Denied:   s.denied,
		},
	}
}

func (s *scratch) password() string {
	password, _ := s.url.User.Password()
	return password
}

func (s *scratch) openAt(way enginetest.Way, option string) (source.Engine, error) {
	moved := *s
	u := *s.url
	u.Host, u.User = way.Addr, url.UserPassword(u.User.Username(), way.Password)
	moved.url = &u
	e, err := Open(Config{DSN: moved.dsn(option), ConnectTimeout: way.Patience, ReadTimeout: way.Patience})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// denied opens an engine as a role that may do nothing.
func (s *scratch) denied(t *testing.T, id change.TableID) source.Engine {
	t.Helper()
	role := fmt.Sprintf("nobody_%x", time.Now().UnixNano())
	mustExec(t, s.admin, "CREATE ROLE "+role+" LOGIN PASSWORD 'n0body'")
	t.Cleanup(func() { mustExec(t, s.admin, "DROP OWNED BY "+role); mustExec(t, s.admin, "DROP ROLE "+role) })
	moved := *s
	u := *s.url
	u.User = url.UserPassword(role, "n0body")
	moved.url = &u
	return moved.open(t)
}

// indexed asks for the plan of a generic statement, as a poller's hundredth execution gets it, on a table made to look large.
func (s *scratch) indexed(t *testing.T, query string, args ...any) bool {
	t.Helper()
	ctx := context.Background()
	conn, err := s.admin.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, set := range []string{"SET enable_seqscan = off", "SET plan_cache_mode = force_generic_plan", "PREPARE look AS " + query} {
		if _, err := conn.ExecContext(ctx, set); err != nil {
			t.Fatalf("%s: %v", set, err)
		}
	}
	defer conn.ExecContext(ctx, "RESET ALL; DEALLOCATE look")
	var quoted []string
	for _, a := range args {
		quoted = append(quoted, fmt.Sprintf("'%v'", a))
	}
	rows, err := conn.QueryContext(ctx, "EXPLAIN EXECUTE look("+strings.Join(quoted, ", ")+")")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan += line + "\n"
	}
	return strings.Contains(plan, "Index Cond")
}
