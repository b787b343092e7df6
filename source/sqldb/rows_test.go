package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

func newDB(t *testing.T, d *fakeDriver, p Product) *DB {
	if p.Decoder == nil {
		p.Decoder = func(c change.Column) Decode {
			return map[change.Kind]Decode{change.String: Text, change.Int8: Int(64), change.Numeric: Decimal(c.Type)}[c.Type.Kind]
		}
	}
	p.Classify = classify
	return New(newPool(t, d), p)
}

func column(name string, kind change.Kind) change.Column {
	return change.Column{Name: name, Native: "native", Type: change.Type{Kind: kind}}
}

// readAll reads a result as a layout does.
func readAll(ctx context.Context, s source.Statement, width int, args ...any) ([][]change.Value, error) {
	rows, err := s.Query(ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var arena change.Arena
	var all [][]change.Value
	for rows.Next() {
		row := arena.Values(width)
		if err := rows.Scan(row, &arena); err != nil {
			return all, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

func wantClass(t *testing.T, err error, want fault.Class) {
	t.Helper()
	var classified *fault.Error
	if !errors.As(err, &classified) || classified.Class != want {
		t.Fatalf("got %v, want class %s", err, want)
	}
}

// TestBytesOutliveTheRow reads values from a buffer that the driver overwrites.
func TestBytesOutliveTheRow(t *testing.T) {
	d := &fakeDriver{rows: [][]driver.Value{{[]byte("one"), int64(1)}, {[]byte("two"), nil}, {[]byte(""), int64(3)}}}
	s := newDB(t, d, Product{}).Prepare("q", []change.Column{column("a", change.String), column("b", change.Int8)})
	got, err := readAll(t.Context(), s, 2)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s %s %s", got[0][0].Raw, got[1][0].Raw, got[2][0].Raw)
	if text != "one two " || got[1][1].Kind != change.KindNull || got[2][1].Num != 3 || got[2][0].Kind != change.KindText {
		t.Errorf("got %v", got)
	}
}

// TestCase80_ErrorMidResult: a result that breaks off is an error, never a short result.
func TestCase80_ErrorMidResult(t *testing.T) {
	for _, broken := range []error{vendorError(2013), io.ErrUnexpectedEOF, driver.ErrBadConn} {
		d := &fakeDriver{rows: [][]driver.Value{{[]byte("one")}, {[]byte("two")}}, err: broken}
		s := newDB(t, d, Product{}).Prepare("q", []change.Column{column("a", change.String)})
		got, err := readAll(t.Context(), s, 1)
		wantClass(t, err, fault.Retry)
		if len(got) != 2 || !errors.Is(err, broken) {
			t.Errorf("%d rows, then %v", len(got), err)
		}
	}
}

func TestQueryError(t *testing.T) {
	s := newDB(t, &fakeDriver{queryErr: vendorError(1146)}, Product{}).Prepare("q", []change.Column{column("a", change.String)})
	_, err := readAll(t.Context(), s, 1)
	wantClass(t, err, fault.Table)
	if fault.HintOf(err) != "was it dropped?" {
		t.Errorf("hint %q", fault.HintOf(err))
	}
}

// TestCase91_PoisonNamesColumnAndValue: the other values are set, the bad one is as it was sent, and the next row can be read.
func TestCase91_PoisonNamesColumnAndValue(t *testing.T) {
	d := &fakeDriver{rows: [][]driver.Value{{int64(7), []byte("n/a"), int64(1)}, {int64(8), []byte("1.5"), int64(2)}}}
	columns := []change.Column{column("id", change.Int8), column("the fee", change.Numeric), column("z", change.Int8)}
	rows, err := newDB(t, d, Product{}).Prepare("q", columns).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var arena change.Arena
	row := arena.Values(3)
	rows.Next()
	err = rows.Scan(row, &arena)
	wantClass(t, err, fault.Poison)
	for _, part := range []string{`"the fee"`, `"n/a"`, "native"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %s: %v", part, err)
		}
	}
	if row[0].Num != 7 || !row[1].Equal(change.UndecodedValue([]byte("n/a"))) || row[2].Num != 1 {
		t.Errorf("row after the error: %v", row)
	}
	if !rows.Next() || rows.Scan(row, &arena) != nil || string(row[1].Raw) != "1.5" {
		t.Errorf("the row after the bad one gave %v, %v", row, rows.Err())
	}
}

func TestPoisonShortensValues(t *testing.T) {
	cases := []struct {
		src  any
		want string
	}{
		{strings.Repeat("ä", 100), `"` + strings.Repeat("ä", 32) + `"...`},
		{"x" + strings.Repeat("ä", 100), `"x` + strings.Repeat("ä", 31) + `"...`},
		{[]byte{0xff, 1}, "0xff01"},
		{make([]byte, 100), `"` + strings.Repeat(`\x00`, 64) + `"...`},
		{append([]byte{0xff}, make([]byte, 99)...), "0xff" + strings.Repeat("00", 63)},
		{int64(7), "value 7 of"},
	}
	for _, c := range cases {
		if err := Poison(column("a", change.String), c.src, errUTF8); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v does not contain %s", err, c.want)
		}
	}
	hinted := Poison(column("a", change.Date), "x", fault.New(fault.Poison, "", errUTF8, "mend it"))
	if fault.HintOf(hinted) != "mend it" || strings.Count(hinted.Error(), "mend it") != 1 {
		t.Errorf("hint in %v", hinted)
	}
}

// TestCancelWhileScanning cancels between Next and Scan, again and again: the driver's buffer is overwritten by the closing result at that
// moment. Every row that Scan gives without an error is whole; the race detector sees decoders that read too late.
func TestCancelWhileScanning(t *testing.T) {
	value := []byte(strings.Repeat("a", 4000))
	d := &fakeDriver{rows: [][]driver.Value{{value}, {value}, {value}}}
	s := newDB(t, d, Product{}).Prepare("q", []change.Column{column("a", change.String)})
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		d.onNext = func(row int) {
			if row == 1 {
				go cancel()
			}
		}
		got, err := readAll(ctx, s, 1)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		for _, row := range got {
			if string(row[0].Raw) != string(value) {
				t.Fatalf("a damaged row: %.20q", row[0].Raw)
			}
		}
	}
}

func TestContextIsTheCause(t *testing.T) {
	d := &fakeDriver{queryErr: vendorError(1317)}
	s := newDB(t, d, Product{}).Prepare("q", []change.Column{column("a", change.String)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := readAll(ctx, s, 1)
	wantClass(t, err, fault.Retry)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPrepared: a product that asks for it has statements without arguments prepared, and each prepared statement is closed.
func TestPrepared(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		d := &fakeDriver{rows: [][]driver.Value{{int64(1)}}}
		s := newDB(t, d, Product{Prepared: prepared}).Prepare("q", []change.Column{column("a", change.Int8)})
		for range 3 {
			if got, err := readAll(t.Context(), s, 1); err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
		}
		if want := map[bool]int{false: 0, true: 3}[prepared]; d.prepared != want {
			t.Errorf("prepared %d times, want %d", d.prepared, want)
		}
	}
}

func TestBind(t *testing.T) {
	d := &fakeDriver{rows: [][]driver.Value{{int64(1)}}}
	bind := func(arg any) any { return fmt.Sprintf("<%v>", arg) }
	s := newDB(t, d, Product{Bind: bind}).Prepare("q", []change.Column{column("a", change.Int8)})
	args := []any{"x", int64(2)}
	if _, err := readAll(t.Context(), s, 1, args...); err != nil {
		t.Fatal(err)
	}
	if got := d.args[0]; len(got) != 2 || got[0].Value != "<x>" || got[1].Value != "<2>" {
		t.Errorf("bound %v", got)
	}
	if args[0] != "x" {
		t.Error("the caller's arguments were changed")
	}
}

func TestUnsupportedColumn(t *testing.T) {
	d := &fakeDriver{}
	s := newDB(t, d, Product{}).Prepare("q", []change.Column{column("a", change.Int8), column("spot", change.Unsupported)})
	_, err := s.Query(t.Context())
	wantClass(t, err, fault.Table)
	if !strings.Contains(err.Error(), "spot") || len(d.queries) != 0 {
		t.Errorf("got %v after %d queries", err, len(d.queries))
	}
}

func TestScanWidth(t *testing.T) {
	d := &fakeDriver{rows: [][]driver.Value{{int64(1)}}}
	rows, err := newDB(t, d, Product{}).Prepare("q", []change.Column{column("a", change.Int8)}).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	rows.Next()
	var arena change.Arena
	if err := rows.Scan(arena.Values(2), &arena); err == nil {
		t.Error("two destinations for one column")
	}
}

func TestEach(t *testing.T) {
	d := &fakeDriver{rows: [][]driver.Value{{int64(1)}, {int64(2)}}}
	db := newDB(t, d, Product{})
	sum := 0
	add := func(scan func(...any) error) error {
		var n int
		err := scan(&n)
		sum += n
		return err
	}
	if err := db.Each(t.Context(), "list", "q", nil, add); err != nil || sum != 3 {
		t.Errorf("sum %d, %v", sum, err)
	}
	d.err = vendorError(1146)
	wantClass(t, db.Each(t.Context(), "list", "q", nil, add), fault.Table)
	wantClass(t, db.Each(t.Context(), "list", "q", nil, func(func(...any) error) error { return errUTF8 }), fault.Retry)
}

// TestScanAllocatesNothing but the arena's chunks and what the driver boxes.
func TestScanAllocatesNothing(t *testing.T) {
	d := &fakeDriver{}
	d.rows = [][]driver.Value{{int64(1), "text", "12.50"}}
	for range 10 {
		d.rows = append(d.rows, d.rows...)
	}
	columns := []change.Column{column("a", change.Int8), column("b", change.String), column("c", change.Numeric)}
	rows, err := newDB(t, d, Product{}).Prepare("q", columns).Query(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var arena change.Arena
	row := arena.Values(3)
	arena.Make(1)
	allocs := testing.AllocsPerRun(500, func() {
		if !rows.Next() || rows.Scan(row, &arena) != nil {
			t.Fatal(rows.Err())
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations per row", allocs)
	}
}

// A connection that is gone without a word takes those with it that wait; other errors do not.
func TestLost(t *testing.T) {
	t.Parallel()
	d := &fakeDriver{}
	pool := newPool(t, d)
	pool.SetMaxOpenConns(3)
	pool.SetMaxIdleConns(3)
	db := New(pool, Product{Classify: classify, Lost: func(err error) bool { return errors.Is(err, vendorError(2013)) }})
	idle := func() int {
		var held []*sql.Conn
		for range 3 {
			c, err := pool.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, c)
		}
		for _, c := range held {
			c.Close()
		}
		return pool.Stats().Idle
	}
	if n := idle(); n != 3 {
		t.Fatalf("%d connections wait, want 3", n)
	}
	for err, want := range map[vendorError]int{1146: 3, 2013: 0} {
		idle()
		if err := db.Fail(t.Context(), "query", err); err == nil || pool.Stats().Idle != want {
			t.Errorf("%v: %d connections wait, want %d", err, pool.Stats().Idle, want)
		}
	}
	if n := idle(); n != 3 {
		t.Errorf("%d connections wait afterwards, want 3", n)
	}
}
