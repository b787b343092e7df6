package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "ctbridge/source/sqlite" // registers the driver
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
