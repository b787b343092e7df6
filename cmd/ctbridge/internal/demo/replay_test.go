package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"ctbridge/source/qlikct"
)

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
