package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/sqlite"
)

func exec(t testing.TB, db *sql.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func wantClass(t *testing.T, err error, want fault.Class) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != want {
		t.Fatalf("got %v, want class %s", err, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"", ":memory:", "file:", "file::memory:", "file:a.db?_pragma=journal_mode(wal)", "file:a.db?_texttotime=1", "file:a.db?mode=%zz"} {
		_, err := sqlite.Open(sqlite.Config{DSN: dsn})
		wantClass(t, err, fault.Config)
	}
}

// TestMissingFile: nothing is created, and the file may come later.
func TestMissingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "later.db")
	e := open(t, path)
	defer e.Close()
	wantClass(t, e.Ping(t.Context()), fault.Retry)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("the file was created: %v", err)
	}
	writer, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	exec(t, writer, "CREATE TABLE a (b int)")
	if err := e.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNotADatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, path)
	defer e.Close()
	wantClass(t, e.Ping(t.Context()), fault.Fatal)
}

// TestReadOnly: no statement can write, not even by way of a PRAGMA in the file's own URI.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	path, writer := newFile(t, "wal")
	exec(t, writer, "CREATE TABLE a (b int)")
	for _, dsn := range []string{path, "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?mode=rw"} {
		e, err := sqlite.Open(sqlite.Config{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		columns := []change.Column{{Name: "b", Type: change.Type{Kind: change.Int8}}}
		if rows, err := e.Prepare("INSERT INTO a VALUES (1) RETURNING b", columns).Query(t.Context()); err == nil {
			t.Errorf("%s: a write passed: %v", dsn, rows.Close())
		}
	}
}

// TestWALWithoutWriter reads a file in WAL mode that nobody has open: its -wal and -shm files are gone.
func TestWALWithoutWriter(t *testing.T) {
	t.Parallel()
	path, writer := newFile(t, "wal")
	exec(t, writer, "CREATE TABLE a (b int)", "INSERT INTO a VALUES (7)")
	writer.Close()
	e := open(t, path)
	defer e.Close()
	if got := ints(t, e, "SELECT b FROM a"); !slices.Equal(got, []int64{7}) {
		t.Errorf("read %v", got)
	}
}

// ints reads one integer column.
func ints(t *testing.T, e *sqlite.Engine, query string, args ...any) (all []int64) {
	t.Helper()
	rows, err := e.Prepare(query, []change.Column{{Name: "n", Type: change.Type{Kind: change.Int8}}}).Query(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var arena change.Arena
	for rows.Next() {
		row := arena.Values(1)
		if err := rows.Scan(row, &arena); err != nil {
			t.Fatal(err)
		}
		all = append(all, row[0].Num)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return all
}

// describe gives one relation by name.
func describe(t *testing.T, e *sqlite.Engine, name string) source.Relation {
	t.Helper()
	relations, err := e.Describe(t.Context(), []change.TableID{{Name: name}})
	if err != nil || len(relations) != 1 {
		t.Fatalf("describe %s: %v, %v", name, relations, err)
	}
	return relations[0]
}

func key(r source.Relation) (names []string) {
	for _, i := range change.NewTable(r.ID, 1, r.Columns).Key {
		names = append(names, r.Columns[i].Name)
	}
	return names
}

func TestKeysOfSQLite(t *testing.T) {
	t.Parallel()
	path, writer := newFile(t, "delete")
	exec(t, writer,
		"CREATE TABLE alias (id INTEGER PRIMARY KEY, a text NOT NULL UNIQUE)",
		"CREATE TABLE norowid (a text, b int, c int, PRIMARY KEY (c, a)) WITHOUT ROWID",
		"CREATE TABLE partial (a int NOT NULL, b int NOT NULL)", "CREATE UNIQUE INDEX p ON partial (a) WHERE b > 0",
		"CREATE TABLE expr (a int NOT NULL, b int NOT NULL)", "CREATE UNIQUE INDEX e ON expr (a + 1, b)",
		"CREATE TABLE constraints (a int NOT NULL, b int NOT NULL UNIQUE)", "CREATE UNIQUE INDEX aa ON constraints (a)",
		"CREATE VIEW seen AS SELECT id, a, id + 1 AS next FROM alias",
	)
	e := open(t, path)
	defer e.Close()
	want := map[string][]string{"alias": {"id"}, "norowid": {"c", "a"}, "partial": nil, "expr": nil, "constraints": {"b"}, "seen": nil}
	for name, columns := range want {
		if got := key(describe(t, e, name)); !slices.Equal(got, columns) {
			t.Errorf("%s: key %v, want %v", name, got, columns)
		}
	}
	for _, c := range describe(t, e, "alias").Columns {
		if c.Nullable {
			t.Errorf("%s is nullable", c.Name)
		}
	}
	view := describe(t, e, "seen").Columns
	if len(view) != 3 || view[0].Type.Kind != change.Int8 || view[1].Type.Kind != change.String || view[2].Type.Kind != change.Unsupported {
		t.Errorf("columns of the view: %+v", view)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	path, writer := newFile(t, "delete")
	exec(t, writer, "CREATE TABLE b (id INTEGER PRIMARY KEY AUTOINCREMENT)", "CREATE VIEW a AS SELECT * FROM b", "CREATE INDEX i ON b (id)", "CREATE TABLE sqliteish (a)")
	e := open(t, path)
	defer e.Close()
	got, err := e.Tables(t.Context())
	if err != nil || fmt.Sprint(got) != "[a b sqliteish]" {
		t.Errorf("tables %v, %v", got, err)
	}
	if got, err := e.Describe(t.Context(), []change.TableID{{Schema: "main", Name: "b"}}); err != nil || len(got) != 0 {
		t.Errorf("a table in a schema: %v, %v", got, err)
	}
}

// TestIdentityIsUnknown: what a drop and create does not reliably change, and VACUUM does, is no identity.
func TestIdentityIsUnknown(t *testing.T) {
	t.Parallel()
	path, writer := newFile(t, "delete")
	exec(t, writer, "CREATE TABLE a (b int)")
	e := open(t, path)
	defer e.Close()
	if id := describe(t, e, "a").Identity; id != "" {
		t.Errorf("identity %q", id)
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	path, _ := newFile(t, "delete")
	e := open(t, path)
	defer e.Close()
	if f, err := e.Fence(t.Context()); err != nil || f.Done < f.Next {
		t.Errorf("fence %+v, %v", f, err)
	}
}

// TestManyParameters binds more arguments than old versions of SQLite took (999).
func TestManyParameters(t *testing.T) {
	t.Parallel()
	path, _ := newFile(t, "delete")
	e := open(t, path)
	defer e.Close()
	var selects []string
	var args []any
	for i := range 5000 {
		selects = append(selects, "SELECT "+e.Param(i+1, source.ArgInt)+" AS n")
		args = append(args, int64(i))
	}
	if got := ints(t, e, e.Union(selects), args...); len(got) != 5000 || got[0] != 0 || got[4999] != 4999 {
		t.Errorf("%d rows", len(got))
	}
}

// TestBusy: a writer that holds its lock for longer than the busy timeout is a retry, and the wait ends with the timeout.
func TestBusy(t *testing.T) {
	t.Parallel()
	path, writer := newFile(t, "delete")
	exec(t, writer, "CREATE TABLE a (b int)")
	e, err := sqlite.Open(sqlite.Config{DSN: path, BusyTimeout: 50_000_000})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	conn, err := writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	columns := []change.Column{{Name: "b", Type: change.Type{Kind: change.Int8}}}
	_, err = e.Prepare("SELECT b FROM a", columns).Query(t.Context())
	wantClass(t, err, fault.Retry)
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if got := ints(t, e, "SELECT b FROM a"); len(got) != 0 {
		t.Errorf("read %v", got)
	}
}
