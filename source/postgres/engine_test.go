package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/enginetest"
)

// TestOpenRefuses bad DSNs, and never shows a password.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, dsn := range []string{
		"postgres://u:" + secret + "@host:port/db",
		"postgres://u:p@" + secret + "/w@host/%zz",
		"postgres://u:" + secret + "@host/db?sslmode=perhaps",
		"postgres://u:" + secret + "@host/db?connect_timeout=soon",
		"postgres://u:" + secret + "@host/db?pool_max_conns=none",
		"postgres://u:" + secret + "@host/db?default_query_exec_mode=guess",
		"host=h password=" + secret + " port=x",
		"host=h password='" + secret,
		"host=h password=my " + secret + " user=u",
		"host=h password=" + secret + " " + secret + " x",
		"password=" + secret + " nonsense",
		"mysql://u:" + secret + "@host/db",
	} {
		_, err := Open(Config{DSN: dsn})
		if err == nil {
			t.Errorf("%s is accepted", dsn)
			continue
		}
		if fault.ClassOf(err) != fault.Config || strings.Contains(fmt.Sprintf("%v %+v", err, errors.Unwrap(err)), secret) {
			t.Errorf("%s gave %v", dsn, err)
		}
	}
}

func TestSessionParameters(t *testing.T) {
	t.Parallel()
	const base = "postgres://u:p@host/db?"
	cases := []struct {
		dsn  string
		want map[string]string
		not  []string
	}{
		{base, map[string]string{"application_name": "ctbridge", "timezone": "UTC", "datestyle": "ISO", "default_transaction_read_only": "on", "statement_timeout": "1500"}, nil},
		{base + "application_name=mine&statement_timeout=7&TimeZone=Asia/Tokyo", map[string]string{"application_name": "mine", "statement_timeout": "7", "timezone": "UTC"}, []string{"TimeZone"}},
		{base + "default_query_exec_mode=simple_protocol", map[string]string{"timezone": "UTC"}, []string{"default_transaction_read_only", "statement_timeout", "intervalstyle"}},
		{base + "default_query_exec_mode=exec", map[string]string{"client_encoding": "UTF8"}, []string{"default_transaction_isolation"}},
	}
	for _, c := range cases {
		e, err := Open(Config{DSN: c.dsn, StatementTimeout: 1500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		params := e.config.ConnConfig.RuntimeParams
		for name, want := range c.want {
			if params[name] != want {
				t.Errorf("%s: %s is %q, want %q", c.dsn, name, params[name], want)
			}
		}
		for _, name := range c.not {
			if v, ok := params[name]; ok {
				t.Errorf("%s: %s is set to %q", c.dsn, name, v)
			}
		}
	}
}

func TestPoolSize(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]int32{"host=h": 4, "host=h pool_max_conns=9": 9} {
		if e, err := Open(Config{DSN: dsn}); err != nil || e.config.MaxConns != want {
			t.Errorf("%s: %v, want %d", dsn, err, want)
		}
	}
	if e, err := Open(Config{DSN: "host=h pool_max_conns=9", MaxConns: 2}); err != nil || e.config.MaxConns != 2 {
		t.Errorf("MaxConns is not taken: %v", err)
	}
}

// TestClasses: errors by number.
func TestClasses(t *testing.T) {
	t.Parallel()
	cases := map[string]fault.Class{
		"28P01": fault.Fatal, "28000": fault.Fatal, "3D000": fault.Fatal,
		"42P01": fault.Table, "42703": fault.Table, "42501": fault.Table, "3F000": fault.Table, "22P02": fault.Table, "0A000": fault.Table,
		"40001": fault.Retry, "40P01": fault.Retry, "55P03": fault.Retry, "57P01": fault.Retry, "57P02": fault.Retry, "57P03": fault.Retry, "57014": fault.Retry,
		"53300": fault.Retry, "53200": fault.Retry, "08006": fault.Retry, "58030": fault.Retry, "XX000": fault.Retry, "": fault.Retry,
		"42P05": fault.Retry, "26000": fault.Retry, "08P01": fault.Retry,
	}
	for code, want := range cases {
		err := fail(context.Background(), "query", fmt.Errorf("outer: %w", &pgconn.PgError{Code: code, Message: "m"}))
		if got := fault.ClassOf(err); got != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
	}
	if err := fail(context.Background(), "query", errors.New("connection reset by peer")); fault.ClassOf(err) != fault.Retry {
		t.Errorf("network trouble is %v", err)
	}
	if fault.HintOf(fail(context.Background(), "query", &pgconn.PgError{Code: "42501"})) == "" {
		t.Error("a missing right has no hint")
	}
}

var one = []change.Column{{Name: "v", Type: str(0)}}

func queryOne(ctx context.Context, s source.Statement, args ...any) (string, error) {
	rows, err := s.Query(ctx, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var arena change.Arena
	dst := arena.Values(1)
	if rows.Next() {
		err = rows.Scan(dst, &arena)
	}
	return string(dst[0].Raw), errors.Join(err, rows.Err())
}

// TestSessionIsReadOnlyInUTC asks the server.
func TestSessionIsReadOnlyInUTC(t *testing.T) {
	s := newScratch(t)
	mustExec(t, s.admin, "CREATE TABLE written (a int)")
	e := s.open(t)
	for name, want := range map[string]string{"timezone": "UTC", "application_name": "ctbridge", "transaction_read_only": "on",
		"transaction_isolation": "read committed", "client_encoding": "UTF8"} {
		got, err := queryOne(context.Background(), e.Prepare("SELECT current_setting("+e.Param(1, source.ArgText)+")", one), name)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := queryOne(context.Background(), e.Prepare("INSERT INTO written VALUES (1) RETURNING a::text", one)); err == nil {
		t.Error("the session can write")
	}
}

func TestStatementTimeout(t *testing.T) {
	s := newScratch(t)
	e := openConfig(t, Config{DSN: s.dsn(), StatementTimeout: 100 * time.Millisecond})
	_, err := queryOne(context.Background(), e.Prepare("SELECT 'x' FROM pg_sleep(60)", one))
	if fault.ClassOf(err) != fault.Retry || fault.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

// TestStructureChangesUnderAStatement: a statement made before a DDL fails with a class that has the table described anew, in every mode.
func TestStructureChangesUnderAStatement(t *testing.T) {
	s := newScratch(t)
	ctx := context.Background()
	for _, mode := range modes {
		mustExec(t, s.admin, "DROP TABLE IF EXISTS changing", "CREATE TABLE changing (v varchar(10))", "INSERT INTO changing VALUES ('7')")
		e := s.open(t, "default_query_exec_mode="+mode)
		old := e.Prepare("SELECT v FROM changing", describeOne(t, e, "public", "changing").Columns)
		if got, err := queryOne(ctx, old); got != "7" || err != nil {
			t.Fatalf("%s: %q, %v", mode, got, err)
		}
		mustExec(t, s.admin, "ALTER TABLE changing ALTER v TYPE int USING v::int")
		for range 3 {
			if _, err := queryOne(ctx, old); fault.ClassOf(err) != fault.Retry || err == nil {
				t.Errorf("%s: %v", mode, err)
			}
		}
		mustExec(t, s.admin, "ALTER TABLE changing ALTER v TYPE varchar(10)")
		queryOne(ctx, old) // the server's plan is of the other type once more
		if got, err := queryOne(ctx, old); got != "7" || err != nil {
			t.Errorf("%s: after the change back: %q, %v", mode, got, err)
		}
	}
}

// TestArguments binds every kind of argument in every mode against columns of many types.
func TestArguments(t *testing.T) {
	s := newScratch(t)
	mustExec(t, s.admin, "CREATE TABLE args (v text, c char(5), n numeric, i smallint, d date, u uuid, b bytea)",
		`INSERT INTO args VALUES ('it''s \ ?', 'ab', 5, -5, '2031-05-10', '00112233-4455-6677-8899-aabbccddeeff', '\x00ff5c')`)
	cases := []struct {
		column string
		kind   source.ArgKind
		arg    any
	}{
		{"v", source.ArgText, `it's \ ?`}, {"c", source.ArgText, "ab"}, {"d", source.ArgText, "2031-05-10"}, {"n", source.ArgText, "5.0"},
		{"u", source.ArgText, "00112233-4455-6677-8899-AABBCCDDEEFF"}, {"n", source.ArgInt, int64(5)}, {"i", source.ArgInt, int64(-5)}, {"b", source.ArgBytes, []byte{0, 0xff, 0x5c}},
	}
	for _, mode := range modes {
		e := s.open(t, "default_query_exec_mode="+mode)
		for _, c := range cases {
			got, err := queryOne(context.Background(), e.Prepare("SELECT 'found' FROM args t WHERE t."+c.column+" = "+e.Param(1, c.kind), one), c.arg)
			if got != "found" || err != nil {
				t.Errorf("%s: %s = %v gave %q, %v", mode, c.column, c.arg, got, err)
			}
		}
	}
}

// TestInvalidText: a database without encoding holds bytes that are no text; they never pass for text.
func TestInvalidText(t *testing.T) {
	s := newScratch(t)
	const name = "ctbridge_sql_ascii"
	mustExec(t, s.admin, "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name+" ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
	t.Cleanup(func() { mustExec(t, s.admin, "DROP DATABASE "+name+" WITH (FORCE)") })
	other := *s
	u := *s.url
	u.Path = "/" + name
	other.url, other.admin = &u, openAdmin(t, &u)
	defer other.admin.Close()
	mustExec(t, other.admin, "CREATE TABLE bad (v varchar(10))", `INSERT INTO bad VALUES (E'caf\xe9')`)
	for _, mode := range modes {
		e := other.open(t, "default_query_exec_mode="+mode)
		_, err := queryOne(context.Background(), e.Prepare("SELECT v FROM bad", one))
		if fault.ClassOf(err) != fault.Table || !strings.Contains(fault.HintOf(err), "SQL_ASCII") {
			t.Errorf("%s: %v", mode, err)
		}
		e.Close()
	}
}

// TestWrongColumnsAreRefused: a statement whose columns do not fit its text never gives values.
func TestWrongColumnsAreRefused(t *testing.T) {
	s := newScratch(t)
	e := s.open(t)
	for _, sql := range []string{"SELECT 1::bigint", "SELECT now()", "SELECT 'a', 'b'", "SELECT interval '1 day'", "SELECT '{1}'::int[]"} {
		if got, err := queryOne(context.Background(), e.Prepare(sql, one)); err == nil {
			t.Errorf("%s gave %q", sql, got)
		}
	}
}

func TestModesAreKnown(t *testing.T) {
	t.Parallel()
	for i, mode := range modes {
		e, err := Open(Config{DSN: "host=h default_query_exec_mode=" + mode})
		if err != nil {
			t.Fatal(err)
		}
		if got := pooled(e.config.ConnConfig); got != (i >= 3) {
			t.Errorf("%s (%v): pooled is %v", mode, pgx.QueryExecMode(e.config.ConnConfig.DefaultQueryExecMode), got)
		}
	}
}

// TestCloseAfterASilentServer: a server that never takes note of a cancelled query does not hold up the end of the process.
func TestCloseAfterASilentServer(t *testing.T) {
	s := newScratch(t)
	mustExec(t, s.admin, "CREATE TABLE big AS SELECT repeat('x', 200) AS v FROM generate_series(1, 5000)")
	proxy := enginetest.NewProxy(t, s.url.Host)
	e, err := s.openAt(enginetest.Way{Addr: proxy.Addr(), Password: s.password(), Patience: time.Minute}, "pool_max_conns=2")
	if err != nil {
		t.Fatal(err)
	}
	statement := e.Prepare("SELECT v FROM big", one)
	if _, err := queryOne(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
	proxy.StallAfter(100_000)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	rows, err := statement.Query(ctx)
	for err == nil && rows.Next() {
	}
	if err == nil {
		err = rows.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read gave %v", err)
	}
	start := time.Now()
	e.Close()
	if took := time.Since(start); took > 2*closeGrace {
		t.Errorf("close took %v", took)
	}
}
