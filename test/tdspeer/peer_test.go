package tdspeer

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

func open(t *testing.T, s *Server) *sql.DB {
	t.Helper()
	c, err := mssql.NewConnector(s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestQueryAndArguments: batches and calls reach the handler with text and arguments, rows come back.
func TestQueryAndArguments(t *testing.T) {
	t.Parallel()
	s := Start(t, func(text string, args []any) Result {
		return Result{Columns: []Column{{Name: "text", Type: "nvarchar(max)"}, {Name: "args", Type: "nvarchar(max)"}}, Rows: [][]any{{text, fmt.Sprintf("%#v", args)}}}
	})
	db := open(t, s)
	cases := []struct {
		args []any
		want string
	}{
		{nil, "[]interface {}(nil)"},
		{[]any{"größe", mssql.VarChar("x"), int64(-7), []byte{1}, true, 0.5, nil}, `[]interface {}{"größe", "x", -7, []uint8{0x1}, true, 0.5, interface {}(nil)}`},
	}
	for _, c := range cases {
		var text, args string
		if err := db.QueryRow("SELECT 'größe'", c.args...).Scan(&text, &args); err != nil || text != "SELECT 'größe'" || args != c.want {
			t.Errorf("%q %s, %v; want %s", text, args, err, c.want)
		}
	}
	if l := s.Logins(); len(l) == 0 || l[0].User != "peer" || l[0].Database != "main" {
		t.Errorf("logins %+v", l)
	}
}

// TestPacketEdges: results that fill packets exactly, nearly and many times over.
func TestPacketEdges(t *testing.T) {
	t.Parallel()
	var size int
	s := Start(t, func(string, []any) Result {
		return Result{Columns: []Column{{Name: "v", Type: "varbinary(max)"}}, Rows: [][]any{{make([]byte, size)}, {[]byte{7}}}}
	})
	db := open(t, s)
	for size = 3900; size < 4200; size++ {
		rows, err := db.Query("SELECT v")
		if err != nil {
			t.Fatal(err)
		}
		var lengths []int
		for rows.Next() {
			var b []byte
			if err := rows.Scan(&b); err != nil {
				t.Fatal(err)
			}
			lengths = append(lengths, len(b))
		}
		if fmt.Sprint(lengths) != fmt.Sprint([]int{size, 1}) || rows.Err() != nil {
			t.Fatalf("size %d: %v, %v", size, lengths, rows.Err())
		}
	}
}

// TestFaults: what each fault looks like to a client.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := Start(t, nil)
	db := open(t, s)
	s.Handle(func(string, []any) Result { return Fail(1205, "deadlock") })
	var e mssql.Error
	if _, err := db.Query("SELECT v"); !errors.As(err, &e) || e.Number != 1205 {
		t.Errorf("error by number: %v", err)
	}
	s.Handle(func(string, []any) Result { return Result{Then: Hang} })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := db.QueryContext(ctx, "SELECT v"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 3*time.Second {
		t.Errorf("hang: %v after %v", err, time.Since(start))
	}
	s.Handle(func(string, []any) Result {
		return Result{Columns: []Column{{Name: "v", Type: "int"}}, Rows: [][]any{{1}, {2}}, Then: Cut}
	})
	rows, err := db.Query("SELECT v")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if rows.Err() == nil || n > 1 {
		t.Errorf("cut: %d rows, %v", n, rows.Err())
	}
	s.Handle(func(string, []any) Result {
		return Result{Columns: []Column{{Name: "v", Type: "int"}}, Rows: [][]any{{"no number"}}}
	})
	if err := db.QueryRow("SELECT v").Scan(&n); err == nil {
		t.Error("a value of the wrong kind is sent")
	}
}

// TestSilence: nothing comes at prelogin, and the connection stays open.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := Start(t, nil)
	s.At(Prelogin, Silence)
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request, _ := hex.DecodeString("1201000e00000100" + "ff0000000000")
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	var timeout net.Error
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestTranslation of the T-SQL that readers and tests write.
func TestTranslation(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"SELECT l.[odd]]name] FROM [a.b].[x\"y] l":                                `SELECT l."odd]name" FROM "a.b"."x""y" l`,
		"SELECT a FROM t ORDER BY a OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY":       "SELECT a FROM t ORDER BY a LIMIT @p3",
		"INSERT INTO t VALUES (N'it''s [x]', 0xFF00, 'N')":                        "INSERT INTO t VALUES ('it''s [x]', X'FF00', 'N')",
		"CREATE TABLE [s].[t] ([date] datetime2(7), b varbinary(max), c integer)": `CREATE TABLE "s"."t" ("date" TEXT_datetime2(7), b BLOB_varbinary(-1), c INT_integer)`,
		"CREATE UNIQUE INDEX [i] ON [s].[t] ([a])":                                `CREATE UNIQUE INDEX "s"."i" ON "t" ("a")`,
		"CREATE INDEX i ON t (a)":                                                 "CREATE INDEX i ON t (a)",
		"SELECT c.NAME FROM INFORMATION_SCHEMA.COLUMNS c JOIN sys.objects o":      `SELECT c.NAME FROM "information_schema.columns" c JOIN "sys.objects" o`,
	} {
		if got := toSQLite(in); got != want {
			t.Errorf("%s\n gave %s\n want %s", in, got, want)
		}
	}
}

// TestDatabase: writes are seen once committed.
func TestDatabase(t *testing.T) {
	t.Parallel()
	d := NewDatabase(t, "dbo", "ops-main")
	admin := d.Admin()
	defer admin.Close()
	exec := func(q interface {
		Exec(string, ...any) (sql.Result, error)
	}, text string, args ...any) {
		if _, err := q.Exec(text, args...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	exec(admin, "CREATE TABLE [ops-main].[t] ([id] int NOT NULL, [fee] decimal(10,2), [at] datetime2(3))")
	exec(admin, "INSERT INTO [ops-main].[t] VALUES (@p1, @p2, @p3)", 1, "1.50", "2031-05-10 16:00:01.604")
	tx, err := admin.Begin()
	if err != nil {
		t.Fatal(err)
	}
	exec(tx, "INSERT INTO [ops-main].[t] VALUES (2, NULL, NULL)")
	db := open(t, Start(t, d.Answer))
	count := func() (n int) {
		if err := db.QueryRow("SELECT COUNT(*) FROM [ops-main].[t] WHERE id < @p1", 9).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 1 {
		t.Errorf("%d rows before the commit, want 1", n)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 2 {
		t.Errorf("%d rows after the commit, want 2", n)
	}
	var fee string
	var at time.Time
	if err := db.QueryRow("SELECT t.[fee], t.[at] FROM [ops-main].[t] t WHERE t.id = 1").Scan(&fee, &at); err != nil || fee != "1.50" || at.Nanosecond() != 604000000 {
		t.Errorf("%s %v %v", fee, at, err)
	}
	var e mssql.Error
	if err := db.QueryRow("SELECT 1 FROM [dbo].[nowhere]").Scan(&fee); !errors.As(err, &e) || e.Number != 208 {
		t.Errorf("missing table: %v", err)
	}
}

// FuzzRequests: no request makes the parsers panic or read for ever.
func FuzzRequests(f *testing.F) {
	f.Add(append(ucs2("0123456789"), make([]byte, 94)...))
	f.Add([]byte{4, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 0, 0, 0, 0xe7, 2, 0, 9, 4, 0xd0, 0, 0x34, 2, 0, 'x', 0})
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		parseLogin(body)
		parseBatch(body)
		text, args, err := parseRPC(body)
		if err == nil && text == "" && args == nil && len(body) < 10 {
			t.Error("a call out of nothing")
		}
		toSQLite(string(body))
	})
}
