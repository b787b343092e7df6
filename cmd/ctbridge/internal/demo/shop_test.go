package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "ctbridge/source/sqlite" // registers the driver

	"ctbridge/source/qlikct"
)

func newShop(t *testing.T) (*shop, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "odd name? #1.db")
	s, err := openShop(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s, path
}

// changeRow is one row of a change table.
type changeRow struct {
	seq, oper, operation, position, tx, at string
	mask                                   []byte
	values                                 []any
	table                                  *table
}

// readChanges gives the rows of all change tables in the order of their sequences, a before-image in front of its update.
func readChanges(t rapid.TB, s *shop) []changeRow {
	t.Helper()
	var out []changeRow
	for _, tab := range tables() {
		rows, err := s.db.Query("SELECT header__change_seq, header__change_oper, header__operation, header__stream_position, header__transaction_id, +header__timestamp, header__change_mask, " +
			strings.Join(tab.each("+%s"), ", ") + " FROM " + tab.name + "__ct")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			r := changeRow{table: &tab, values: make([]any, len(tab.columns))}
			into := []any{&r.seq, &r.oper, &r.operation, &r.position, &r.tx, &r.at, &r.mask}
			for i := range r.values {
				into = append(into, &r.values[i])
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			out = append(out, r)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortStableFunc(out, func(a, b changeRow) int { return strings.Compare(a.seq+a.oper, b.seq+b.oper) })
	return out
}

// marked are the columns of a mask, read by the layout's own decoder in the documented byte order.
func marked(t rapid.TB, r changeRow) []string {
	t.Helper()
	headers := make([]bool, len(headerDDL)+len(r.table.columns))
	for i := range headerDDL {
		headers[i] = true
	}
	mask, err := qlikct.DecodeMask(r.mask, headers, qlikct.OrderLSB)
	if err != nil {
		t.Fatalf("%s %s: %v", r.seq, r.oper, err)
	}
	var out []string
	for i, name := range r.table.names() {
		if mask.Has(i) {
			out = append(out, name)
		}
	}
	return out
}

func (r *changeRow) key() string {
	var key []any
	for i, name := range r.table.names() {
		if slices.Contains(r.table.key, name) {
			key = append(key, r.values[i])
		}
	}
	return fmt.Sprint(r.table.name, key)
}

var longNames = map[string]string{"I": "INSERT", "U": "UPDATE", "D": "DELETE", "B": "BEFOREIMAGE"}

// checkRow compares a row with the replica before it: what was there, what changed, what the mask says.
func checkRow(t rapid.TB, r changeRow, before *changeRow, replica map[string][]any) {
	t.Helper()
	old, known := replica[r.key()]
	bits, want := marked(t, r), r.table.names()
	switch r.oper {
	case "I":
		if known {
			t.Fatalf("insert of %s, which is there", r.key())
		}
		replica[r.key()] = r.values
	case "D":
		want = r.table.key
		if !slices.Equal(old, r.values) {
			t.Fatalf("delete of %v, but %v is there", r.values, old)
		}
		delete(replica, r.key())
	case "U":
		want = nil
		for i, name := range r.table.names() {
			if before.values[i] != r.values[i] {
				want = append(want, name)
			}
		}
		if len(want) == 0 {
			t.Fatal("an update that changes nothing was stored")
		}
		delete(replica, before.key())
		replica[r.key()] = r.values
	case "B":
		want = nil
		if !slices.Equal(old, r.values) {
			t.Fatalf("before-image %v, but %v is there", r.values, old)
		}
	}
	if !slices.Equal(bits, want) || r.operation != longNames[r.oper] {
		t.Fatalf("%s %s %v: mask marks %v, want %v", r.oper, r.operation, r.values, bits, want)
	}
}

// checkChanges replays the change tables and compares the outcome with the base tables.
func checkChanges(t rapid.TB, s *shop) []changeRow {
	t.Helper()
	rows := readChanges(t, s)
	replica := map[string][]any{}
	var last changeRow
	for i, r := range rows {
		var before *changeRow
		if r.oper == "U" {
			if before = &rows[max(i-1, 0)]; before.oper != "B" || before.seq != r.seq || before.table.name != r.table.name || before.tx != r.tx {
				t.Fatalf("update %s without its before-image", r.seq)
			}
		} else if i > 0 && r.seq <= last.seq {
			t.Fatalf("sequence %s after %s", r.seq, last.seq)
		}
		if last.oper == "B" && r.oper != "U" {
			t.Fatalf("before-image %s without its update", last.seq)
		}
		if i > 0 && (r.tx < last.tx || r.seq[:16] < last.seq[:16] || r.position < last.position) {
			t.Fatalf("%v follows %v", r, last)
		}
		checkForm(t, r)
		checkRow(t, r, before, replica)
		last = r
	}
	if base := readBase(t, s); fmt.Sprint(base) != fmt.Sprint(replica) {
		t.Fatalf("the change tables lead to %v, the base tables hold %v", replica, base)
	}
	return rows
}

func checkForm(t rapid.TB, r changeRow) {
	t.Helper()
	seq, err := qlikct.ParseSequence(r.seq)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse("2006-01-02 15:04:05.000", r.at)
	if err != nil {
		t.Fatal(err)
	}
	if gap := at.Sub(seq.Time); gap < 0 || gap >= 10*time.Millisecond || time.Since(at) > time.Hour {
		t.Fatalf("sequence %s of %s", r.seq, r.at)
	}
	if len(r.tx) != 32 || strings.Trim(r.tx, "0123456789ABCDEF") != "" {
		t.Fatalf("transaction id %q", r.tx)
	}
}

func readBase(t rapid.TB, s *shop) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	for _, tab := range tables() {
		rows, err := s.db.Query("SELECT " + strings.Join(tab.each("+%s"), ", ") + " FROM " + tab.name)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			r := changeRow{table: &tab, values: make([]any, len(tab.columns))}
			into := make([]any, len(r.values))
			for i := range into {
				into[i] = &r.values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			out[r.key()] = r.values
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// literal draws a value that a column may hold.
func literal(t *rapid.T, c column) string {
	null := !strings.Contains(c.rules, "NOT NULL") && c.name != "id"
	if null && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return "NULL"
	}
	n := rapid.IntRange(1, 4).Draw(t, c.name)
	switch kind, _, _ := strings.Cut(c.declared, "("); kind {
	case "BOOLEAN":
		return fmt.Sprint(n % 2)
	case "DECIMAL":
		return fmt.Sprintf("%d.%d5", n*7, n)
	case "DATE":
		return fmt.Sprintf("'2001-02-0%d'", n)
	case "DATETIME":
		return fmt.Sprintf("'2001-02-03 04:05:06.00%d'", n)
	case "INTEGER", "INT":
		return fmt.Sprint(n)
	}
	return "'" + strings.Repeat("é'' ", n) + "'"
}

// statement draws any statement on a base table; it may break a rule, touch no row, or change nothing.
func statement(t *rapid.T) string {
	tab := rapid.SampledFrom(tables()).Draw(t, "table")
	where := ""
	if rapid.Bool().Draw(t, "where") {
		c := rapid.SampledFrom(tab.columns).Draw(t, "by")
		where = " WHERE " + c.name + " IS " + literal(t, c)
	}
	switch rapid.IntRange(0, 5).Draw(t, "operation") {
	case 0:
		return "DELETE FROM " + tab.name + where
	case 1, 2:
		var sets []string
		for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(tab.columns), 1, 3, func(c column) string { return c.name }).Draw(t, "columns") {
			sets = append(sets, c.name+" = "+literal(t, c))
		}
		return "UPDATE " + tab.name + " SET " + strings.Join(sets, ", ") + where
	}
	var values []string
	for _, c := range tab.columns {
		values = append(values, literal(t, c))
	}
	return "INSERT INTO " + tab.name + " VALUES (" + strings.Join(values, ", ") + ")" +
		rapid.SampledFrom([]string{"", " ON CONFLICT DO NOTHING", " ON CONFLICT DO UPDATE SET " + tab.columns[1].name + " = " + literal(t, tab.columns[1])}).Draw(t, "conflict")
}

// Any statements, alone or inside announced transactions, kept or rolled back, leave change tables that replay to the base tables.
func TestTriggersRecordAnyStatement(t *testing.T) {
	s, _ := newShop(t)
	rapid.Check(t, func(t *rapid.T) {
		for range rapid.IntRange(1, 4).Draw(t, "transactions") {
			statements := rapid.SliceOfN(rapid.Custom(statement), 1, 6).Draw(t, "statements")
			if rapid.Bool().Draw(t, "announced") {
				announced(t, s, statements, rapid.Bool().Draw(t, "rolled back"))
				continue
			}
			for _, text := range statements {
				if _, err := s.db.Exec(text); err != nil && !strings.Contains(err.Error(), "constraint") {
					t.Fatalf("%s: %v", text, err)
				}
			}
		}
		checkChanges(t, s)
		for _, tab := range tables() {
			if _, err := s.db.Exec("DELETE FROM " + tab.name + "__ct; DELETE FROM " + tab.name + "; DELETE FROM " + tab.name + "__ct"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// announced runs one transaction as the workload does. All that it changes has one id that no other transaction has.
func announced(t *rapid.T, s *shop, statements []string, rollBack bool) {
	t.Helper()
	before := readChanges(t, s)
	undone := errors.New("rolled back")
	told := false
	done, err := s.transact(context.Background(), func(tx *sql.Tx) error {
		for _, text := range statements {
			if _, err := tx.Exec(text); err != nil && !strings.Contains(err.Error(), "constraint") {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if rollBack {
			return undone
		}
		return nil
	}, func(transaction, time.Time) { told = true })
	if rollBack != errors.Is(err, undone) {
		t.Fatal(err)
	}
	after := readChanges(t, s)
	events := 0
	for _, r := range after[len(before):] {
		if r.oper != "B" {
			events++
		}
		if r.tx != done.id || len(before) > 0 && before[len(before)-1].tx == done.id {
			t.Fatalf("row %s has transaction %s, the transaction is %s", r.seq, r.tx, done.id)
		}
	}
	if events != done.changes || told != (events > 0) {
		t.Fatalf("%d events, told %d (%v)", events, done.changes, told)
	}
}

// handStatements are statements and the transactions that their changes belong to.
var handStatements = []struct{ text, want string }{
	{"INSERT INTO customers (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')", "I1 I1 I1"},
	{"UPDATE customers SET credit = id", "U2 U2 U2"},
	{"UPDATE customers SET credit = credit + 1", "U3 U3 U3"},
	{"UPDATE customers SET name = name", ""},
	{"UPDATE customers SET credit = credit + 1 WHERE id = 1", "U4"},
	{"UPDATE customers SET credit = credit + 1 WHERE id = 1", "U5"},
	{"INSERT INTO customers (id, name) VALUES (3, 'c'), (4, 'd'), (1, 'a') ON CONFLICT DO UPDATE SET name = 'e'", "U6 I6 U6"},
	{"DELETE FROM customers WHERE id < 3", "D7 D7"},
	{"DELETE FROM customers", "D8 D8"},
}

func transactionsOf(rows []changeRow) string {
	var got []string
	for _, r := range rows {
		if r.oper != "B" {
			got = append(got, r.oper+short(r.tx))
		}
	}
	return strings.Join(got, " ")
}

// A statement typed by hand is a transaction of its own, however many rows it touches and however fast the next one follows.
func TestStatementsByHandAreTransactions(t *testing.T) {
	s, _ := newShop(t)
	var want []string
	for _, h := range handStatements {
		if _, err := s.db.Exec(h.text); err != nil {
			t.Fatal(err)
		}
		want = append(want, strings.Fields(h.want)...)
	}
	if got := transactionsOf(checkChanges(t, s)); got != strings.Join(want, " ") {
		t.Errorf("got  %s\nwant %s", got, strings.Join(want, " "))
	}
}

// Announced transactions and statements by hand do not mix.
func TestHandAfterAnnounced(t *testing.T) {
	s, _ := newShop(t)
	insert := func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO customers (name) VALUES ('a'); INSERT INTO customers (name) VALUES ('b')")
		return err
	}
	for range 2 {
		if _, err := s.transact(t.Context(), insert, func(transaction, time.Time) {}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Exec("INSERT INTO customers (name) VALUES ('c'), ('d')"); err != nil {
			t.Fatal(err)
		}
	}
	if got := transactionsOf(checkChanges(t, s)); got != "I1 I1 I2 I2 I3 I3 I4 I4" {
		t.Error(got)
	}
}

// The sequence goes on rising when the clock is set back.
func TestSequenceSurvivesTheClock(t *testing.T) {
	s, _ := newShop(t)
	if _, err := s.db.Exec("UPDATE demo_state SET time = '2999010203040506'; INSERT INTO customers (id, name) VALUES (1, 'a')"); err != nil {
		t.Fatal(err)
	}
	if got := readChanges(t, s)[0].seq; got != "29990102030405060000000000000000001" {
		t.Errorf("sequence %s", got)
	}
}

// What the bridge could not carry never gets into the base tables.
func TestRulesKeepBadValuesOut(t *testing.T) {
	s, _ := newShop(t)
	if _, err := s.db.Exec("INSERT INTO customers (id, name) VALUES (1, 'a'); INSERT INTO orders (id, customer_id) VALUES (1, 1)"); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{
		"customers SET born = 'yesterday'", "customers SET born = 20200101", "customers SET born = '2020-02-30'", "customers SET born = '2020-02-03 00:00:00'",
		"customers SET since = '2020-02-03'", "customers SET since = '2020-02-03 10:00:00.1234'", "customers SET since = 0", "customers SET since = 'now'",
		"customers SET active = 2", "customers SET active = 'yes'", "customers SET credit = 1.005", "customers SET credit = 'much'", "customers SET credit = 1e9",
		"customers SET credit = 9e999", "customers SET credit = x'00'", "customers SET name = NULL", "customers SET name = x'00'", "customers SET born = x'00'",
		"customers SET name = printf('%041d', 1)", "orders SET customer_id = 1.5", "orders SET customer_id = 'one'", "orders SET note = x'41'",
	} {
		if _, err := s.db.Exec("UPDATE " + set); err == nil {
			t.Errorf("UPDATE %s was accepted", set)
		}
	}
	for _, set := range []string{
		"customers SET born = '2020-02-29', since = '2020-02-03 10:00:00'", "customers SET since = '2020-02-03 10:00:00.120', active = false",
		"customers SET credit = 10", "customers SET credit = -0.07", "customers SET email = NULL, born = NULL", "orders SET total = 12.30, note = 'x'",
	} {
		if _, err := s.db.Exec("UPDATE " + set); err != nil {
			t.Errorf("UPDATE %s: %v", set, err)
		}
	}
}

func TestForeignFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE customers (id int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := openShop(t.Context(), path); err == nil || !strings.Contains(err.Error(), "not made by this version") {
		t.Errorf("error %v", err)
	}
}

// The triggers run in the user's own sqlite3, which may be years older than the library here.
func TestTriggersInTheShell(t *testing.T) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("the program sqlite3 is not installed")
	}
	s, path := newShop(t)
	var script, want []string
	for _, h := range handStatements {
		script, want = append(script, h.text), append(want, strings.Fields(h.want)...)
	}
	cmd := exec.CommandContext(t.Context(), shell, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(script, ";\n")+";\n"), os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := transactionsOf(checkChanges(t, s)); got != strings.Join(want, " ") {
		t.Errorf("got  %s\nwant %s", got, strings.Join(want, " "))
	}
}
