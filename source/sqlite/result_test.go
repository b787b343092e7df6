package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"math"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/fault"
	"ctbridge/source/sqldb"
)

// newFiles makes a file by some statements, and connections of our own to it.
func newFiles(t *testing.T, size int, statements ...string) (*files, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	writer, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	writer.SetMaxOpenConns(1)
	t.Cleanup(func() { writer.Close() })
	for _, text := range append(statements, "CREATE TABLE made (v)") {
		if _, err := writer.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	p := &files{uri: "file:" + path + "?mode=ro", busy: 5 * time.Second, room: make(chan struct{}, size)}
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
		if len(p.room) != 0 {
			t.Errorf("%d connections were not given back", len(p.room))
		}
	})
	return p, writer
}

// each calls use for every row.
func each(ctx context.Context, p *files, text string, args []any, use func(r sqldb.Result) error) error {
	r, err := p.query(ctx, text, args)
	if err != nil {
		return err
	}
	for err == nil {
		if err = r.Next(); err == nil {
			err = use(r)
		}
	}
	if closed := r.Close(); closed != nil || r.Close() != nil {
		return closed
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// drawStored draws a value of each of SQLite's storage classes.
func drawStored(t *rapid.T) any {
	return rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Int64(), func(v int64) any { return v }),
		rapid.Map(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), func(v float64) any { return v }),
		rapid.Map(rapid.String(), func(v string) any { return v }), rapid.Map(rapid.SliceOf(rapid.Byte()), func(v []byte) any { return append([]byte{}, v...) }),
	).Draw(t, "value")
}

// TestValuesAreTheDriversOwn writes values of every storage class and compares what the driver reads with what we read, also from a file whose
// text is UTF-16.
func TestValuesAreTheDriversOwn(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"UTF-8", "UTF-16le"} {
		p, writer := newFiles(t, 1, "PRAGMA encoding = '"+encoding+"'", "CREATE TABLE a (n INTEGER PRIMARY KEY, v)")
		n := 0
		rapid.Check(t, func(t *rapid.T) {
			n++
			if _, err := writer.Exec("INSERT INTO a VALUES (?, ?)", n, drawStored(t)); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := writer.QueryRow("SELECT v FROM a WHERE n = ?", n).Scan(&want); err != nil {
				t.Fatal(err)
			}
			rows := 0
			err := each(context.Background(), p, "SELECT n, v FROM a WHERE n = ?1", []any{int64(n)}, func(r sqldb.Result) error {
				rows++
				return sameValue(r, want)
			})
			if err != nil || rows != 1 {
				t.Fatalf("%s: %v, %d rows", encoding, err, rows)
			}
		})
	}
}

func sameValue(r sqldb.Result, want driver.Value) error {
	got, err := r.Value(1)
	if err != nil {
		return err
	}
	wantBytes, blob := want.([]byte)
	if gotBytes, ok := got.([]byte); ok && blob && bytes.Equal(gotBytes, wantBytes) {
		return nil
	}
	if blob || got != want {
		return errors.New("another value came")
	}
	return nil
}

// TestArguments binds each kind.
func TestArguments(t *testing.T) {
	t.Parallel()
	p, _ := newFiles(t, 1)
	for _, arg := range []any{int64(math.MinInt64), "größe\x00 名前", "", []byte{0, 0xff}, []byte{}} {
		err := each(t.Context(), p, "SELECT 0, ?1", []any{arg}, func(r sqldb.Result) error { return sameValue(r, arg) })
		if err != nil {
			t.Errorf("%#v: %v", arg, err)
		}
	}
	if err := each(t.Context(), p, "SELECT ?1, ?2", []any{"a"}, nil); err == nil {
		t.Error("one argument did for two parameters")
	}
	if err := each(t.Context(), p, "", nil, nil); err == nil {
		t.Error("an empty statement passed")
	}
}

// slowSecond has its first row at once and its second never.
const slowSecond = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000000000) SELECT x FROM n WHERE x = 1 OR x < 0"

// TestCancelAmidRows ends the context while a later row is searched for: the search ends, and the next query has a sound connection.
func TestCancelAmidRows(t *testing.T) {
	t.Parallel()
	p, _ := newFiles(t, 1)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		err := each(ctx, p, slowSecond, nil, func(sqldb.Result) error { go cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		rows := 0
		if err := each(t.Context(), p, "SELECT 1 UNION ALL SELECT 2", nil, func(sqldb.Result) error { rows++; return nil }); err != nil || rows != 2 {
			t.Fatalf("%d rows, %v", rows, err)
		}
	}
}

// TestRoom: there are never more connections than room, and who waits for one heeds the context.
func TestRoom(t *testing.T) {
	t.Parallel()
	p, _ := newFiles(t, 1)
	first, err := p.query(t.Context(), "SELECT 1", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.query(ctx, "SELECT 1", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second connection: %v", err)
	}
	second := make(chan error, 1)
	go func() { second <- each(t.Context(), p, "SELECT 1", nil, func(sqldb.Result) error { return nil }) }()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
	if len(p.idle) != 1 {
		t.Errorf("%d connections are idle, want 1", len(p.idle))
	}
	if err := each(t.Context(), p, "SELECT nothing", nil, nil); fault.ClassOf(classed(err)) != fault.Table || len(p.idle) != 0 {
		t.Errorf("%v; %d connections are idle after an error, want 0", err, len(p.idle))
	}
}

func classed(err error) error {
	class, hint := classify(err)
	return fault.New(class, "", err, hint)
}

// TestCloseWhileReading: rows that are being read come to their end, and their connection is closed then.
func TestCloseWhileReading(t *testing.T) {
	t.Parallel()
	p, _ := newFiles(t, 1)
	rows := 0
	err := each(t.Context(), p, "SELECT 1 UNION ALL SELECT 2", nil, func(sqldb.Result) error { rows++; return p.close() })
	if err != nil || rows != 2 || len(p.idle) != 0 {
		t.Errorf("%d rows, %v, %d idle", rows, err, len(p.idle))
	}
	if _, err := p.query(t.Context(), "SELECT 1", nil); !errors.Is(err, errClosed) {
		t.Errorf("a query after Close: %v", err)
	}
}

// TestWriterLocks: a lock is waited for as long as the busy timeout says, and no longer than the context lasts.
func TestWriterLocks(t *testing.T) {
	t.Parallel()
	p, writer := newFiles(t, 2, "PRAGMA journal_mode = DELETE", "CREATE TABLE a (v)", "INSERT INTO a VALUES (7)", "BEGIN EXCLUSIVE")
	read := func(ctx context.Context) error {
		return each(ctx, p, "SELECT v FROM a", nil, func(sqldb.Result) error { return nil })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if begin, err := time.Now(), read(ctx); err == nil || ctx.Err() == nil || time.Since(begin) > p.busy/2 {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	p.busy = 20 * time.Millisecond
	if err := read(t.Context()); fault.ClassOf(classed(err)) != fault.Retry || fault.HintOf(classed(err)) == "" {
		t.Errorf("a lock that stays: %v", err)
	}
	p.busy = time.Minute
	done := make(chan error, 1)
	go func() { done <- read(t.Context()) }()
	if _, err := writer.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("a lock that went: %v", err)
	}
}
