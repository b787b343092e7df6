package mysql_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	vendor "github.com/go-sql-driver/mysql"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/mysql"
)

func wantClass(t *testing.T, err error, want fault.Class) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != want {
		t.Fatalf("got %v, want class %s", err, want)
	}
}

// TestOpenRefuses: a DSN that the driver does not accept is a configuration error that shows nothing of it.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"", "nonsense", "user:s3cret@tcp(host:3306", "user:s3cret@tcp(host)/db?parseTime=s3cret", "user:s3/cret@tcp(host)/db?tls=s3cret", "user:s3cret@nonsense/db"} {
		_, err := mysql.Open(mysql.Config{DSN: dsn})
		wantClass(t, err, fault.Config)
		if strings.Contains(err.Error(), "cret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// texts reads one row of text columns.
func texts(t *testing.T, e *mysql.Engine, query string, n int) []string {
	t.Helper()
	columns := slices.Repeat([]change.Column{{Name: "c", Type: change.Type{Kind: change.String}}}, n)
	rows, err := e.Prepare(query, columns).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var arena change.Arena
	row := arena.Values(n)
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if err := rows.Scan(row, &arena); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, v := range row {
		all = append(all, string(v.Raw))
	}
	return all
}

// TestSession: the session has the settings that values and snapshots need, whatever the DSN asks for.
func TestSession(t *testing.T) {
	s := newScratch(t)
	hostile := func(c *vendor.Config) {
		c.ParseTime, c.InterpolateParams, c.MultiStatements = true, true, true
		c.Params = map[string]string{
			"time_zone": "'+05:00'", "tx_isolation": "'READ-UNCOMMITTED'", "autocommit": "0", "sql_mode": "'PAD_CHAR_TO_FULL_LENGTH'",
			"tx_read_only": "0", "lock_wait_timeout": "999",
		}
		if err := c.Apply(vendor.Charset("latin1", "latin1_swedish_ci")); err != nil {
			t.Fatal(err)
		}
	}
	e := s.open(t, hostile, mysql.Config{})
	defer e.Close()
	names := []string{"time_zone", "tx_isolation", "autocommit", "sql_mode", "tx_read_only", "lock_wait_timeout", "character_set_results", "character_set_client", "character_set_connection"}
	var list []string
	for _, n := range names {
		list = append(list, "CAST(@@"+n+" AS CHAR)")
	}
	got := texts(t, e, "SELECT "+strings.Join(list, ", "), len(names))
	want := []string{"+00:00", "READ-COMMITTED", "ON", "", "ON", "30", "utf8mb4", "utf8mb4", "utf8mb4"}
	if !slices.Equal(got, want) {
		t.Errorf("session %q\nwant    %q", got, want)
	}
	wantRefused(t, e, "CREATE TABLE written (a int)")
	exec(t, s.admin, "CREATE TABLE writable (a int)")
	wantRefused(t, e, "INSERT INTO writable VALUES (1)")
}

func wantRefused(t *testing.T, e *mysql.Engine, text string) {
	t.Helper()
	if _, err := e.Prepare(text, nil).Query(t.Context()); err == nil {
		t.Errorf("%s passed", text)
	}
}

// TestNeverReadsUncommitted: not even where the server's default is READ UNCOMMITTED.
func TestNeverReadsUncommitted(t *testing.T) {
	s := newScratch(t)
	exec(t, s.admin, "CREATE TABLE a (b varchar(10))")
	e := s.open(t, func(c *vendor.Config) { c.Params = map[string]string{"tx_isolation": "'READ-UNCOMMITTED'"} }, mysql.Config{})
	defer e.Close()
	tx, err := s.admin.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO a VALUES ('early')"); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, e, "SELECT CAST(COUNT(*) AS CHAR) FROM a", 1); got[0] != "0" {
		t.Errorf("sees %s uncommitted rows", got[0])
	}
}

// TestDatabases: a DSN with a database reads that one, a DSN without reads all but the server's own; spelling counts.
func TestDatabases(t *testing.T) {
	s := newScratch(t)
	other := strings.ToUpper(s.name)
	exec(t, s.admin, "CREATE DATABASE `"+other+"`")
	t.Cleanup(func() { exec(t, s.admin, "DROP DATABASE `"+other+"`") })
	exec(t, s.admin, "CREATE TABLE here (a int)")
	exec(t, s.admin, "CREATE TABLE `"+other+"`.HERE (b int PRIMARY KEY)")
	exec(t, s.admin, "CREATE TABLE `"+other+"`.here (b int, c int)")
	one := s.open(t, nil, mysql.Config{})
	defer one.Close()
	if got := tables(t, one); !slices.Equal(got, []change.TableID{{Schema: s.name, Name: "here"}}) {
		t.Errorf("one database: %v", got)
	}
	all := s.open(t, func(c *vendor.Config) { c.DBName = "" }, mysql.Config{})
	defer all.Close()
	got := tables(t, all)
	for _, want := range []string{s.name, other} {
		if !slices.Contains(got, change.TableID{Schema: want, Name: "here"}) {
			t.Errorf("all databases leave out %s: %v", want, got)
		}
	}
	if slices.ContainsFunc(got, func(id change.TableID) bool { return id.Schema == "mysql" || id.Schema == "information_schema" }) {
		t.Errorf("all databases with the server's own: %v", got)
	}
	describesExactly(t, s.name, other, all)
}

// describesExactly asks for names that differ in case only.
func describesExactly(t *testing.T, name, other string, e *mysql.Engine) {
	t.Helper()
	ids := []change.TableID{{Schema: other, Name: "here"}, {Schema: other, Name: "HERE"}, {Schema: name, Name: "HERE"}, {Schema: name, Name: "here"}}
	relations, err := e.Describe(t.Context(), ids)
	if err != nil || len(relations) != 3 {
		t.Fatalf("described %+v, %v", relations, err)
	}
	for i, want := range []struct{ columns, key int }{{2, 0}, {1, 1}, {1, 0}} {
		if r := relations[i]; len(r.Columns) != want.columns || r.Columns[0].KeyPosition != want.key {
			t.Errorf("%s: %+v", r.ID, r.Columns)
		}
	}
}

func tables(t *testing.T, e *mysql.Engine) []change.TableID {
	t.Helper()
	ids, err := e.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestMissingDatabase stops the task when the DSN names it, else its tables.
func TestMissingDatabase(t *testing.T) {
	s := newScratch(t)
	e := s.open(t, func(c *vendor.Config) { c.DBName = "no such database" }, mysql.Config{})
	defer e.Close()
	wantClass(t, e.Ping(t.Context()), fault.Fatal)
	all := s.open(t, func(c *vendor.Config) { c.DBName = "" }, mysql.Config{})
	defer all.Close()
	columns := []change.Column{{Name: "a", Type: change.Type{Kind: change.Int4}}}
	_, err := all.Prepare("SELECT a FROM `no such database`.a", columns).Query(t.Context())
	wantClass(t, err, fault.Table)
}

// TestManyTables describes more tables than one pair of catalog queries takes.
func TestManyTables(t *testing.T) {
	s := newScratch(t)
	ids := []change.TableID{{Schema: s.name, Name: "last"}}
	exec(t, s.admin, "CREATE TABLE last (a int PRIMARY KEY)")
	for i := range 1100 {
		ids = append(ids, change.TableID{Schema: s.name, Name: fmt.Sprintf("absent_%d", i)})
	}
	slices.Reverse(ids)
	e := s.open(t, nil, mysql.Config{})
	defer e.Close()
	relations, err := e.Describe(t.Context(), ids)
	if err != nil || len(relations) != 1 || relations[0].ID.Name != "last" || relations[0].Columns[0].KeyPosition != 1 {
		t.Errorf("described %+v, %v", relations, err)
	}
}

// TestLatin1SequenceUsesTheIndex: arguments are utf8mb4, the column is not.
func TestLatin1SequenceUsesTheIndex(t *testing.T) {
	s := newScratch(t)
	exec(t, s.admin, "CREATE TABLE latin (seq varchar(35) CHARACTER SET latin1 COLLATE latin1_bin, note varchar(200), KEY (seq))")
	for i := range 20 {
		var rows []string
		for k := range 50 {
			rows = append(rows, fmt.Sprintf("('%035d', '%0200d')", i*50+k, k))
		}
		exec(t, s.admin, "INSERT INTO latin VALUES "+strings.Join(rows, ", "))
	}
	query := "SELECT seq, note FROM latin WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
	if !s.indexed(t, query, fmt.Sprintf("%035d", 100), fmt.Sprintf("%035d", 110), int64(5)) {
		t.Error("the index is not used")
	}
}

// TestKilledConnection: a connection that the server has ended is replaced.
func TestKilledConnection(t *testing.T) {
	s := newScratch(t)
	e := s.open(t, nil, mysql.Config{MaxConns: 1})
	defer e.Close()
	first := texts(t, e, "SELECT CAST(CONNECTION_ID() AS CHAR)", 1)[0]
	exec(t, s.admin, "KILL "+first)
	columns := []change.Column{{Name: "a", Type: change.Type{Kind: change.String}}}
	var err error
	for range 3 {
		var rows source.Rows
		if rows, err = e.Prepare("SELECT 'x'", columns).Query(t.Context()); err == nil {
			rows.Close()
			break
		}
		wantClass(t, err, fault.Retry)
	}
	if err != nil {
		t.Errorf("does not recover: %v", err)
	}
}

// TestDeniedDatabase: a user without any right on the database cannot go on.
func TestDeniedDatabase(t *testing.T) {
	s := newScratch(t)
	user, password := "u"+strings.ToLower(rand.Text()[:8]), rand.Text()
	exec(t, s.admin, "CREATE USER '"+user+"'@'%' IDENTIFIED BY '"+password+"'")
	t.Cleanup(func() { exec(t, s.admin, "DROP USER '"+user+"'@'%'") })
	e := s.open(t, func(c *vendor.Config) { c.User, c.Passwd = user, password }, mysql.Config{})
	defer e.Close()
	err := e.Ping(t.Context())
	wantClass(t, err, fault.Fatal)
	if strings.Contains(err.Error(), password) {
		t.Errorf("the error shows the password: %v", err)
	}
}
