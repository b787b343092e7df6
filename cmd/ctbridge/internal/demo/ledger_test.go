package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// feed enters events written as "table sequence tx counter", with a final ! for the last flag.
func feed(l *ledger, events ...string) {
	for _, text := range events {
		var a arrival
		var counter string
		_, _ = fmt.Sscan(text, &a.table, &a.sequence, &a.tx, &counter)
		counter, a.last = strings.CutSuffix(counter, "!")
		_, _ = fmt.Sscan(counter, &a.counter)
		a.operation, a.at, a.changed = "UPDATE", time.Unix(2, 0), time.Unix(1, 0)
		l.arrive(&a)
	}
}

func TestLedgerFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		events []string
		want   string // fault; "" = none; "open" = a transaction is not complete
	}{
		{"whole", []string{"orders 1 a 1", "customers 2 a 2!", "orders 3 b 1!"}, ""},
		{"tables side by side", []string{"customers 2 a 2!", "orders 4 b 1!", "orders 5 c 1!", "customers 1 d 1!"}, "customers: change 1 came after 2"},
		{"late first table", []string{"customers 2 a 2!", "orders 1 a 1"}, ""},
		{"twice", []string{"orders 1 a 1", "orders 1 a 1", "orders 2 a 2!"}, "a counter came twice"},
		{"backwards", []string{"orders 2 a 1!", "orders 1 b 1!"}, "orders: change 1 came after 2"},
		{"counters backwards", []string{"orders 1 a 2", "orders 2 a 1", "orders 3 a 3!"}, "counters out of order in orders"},
		{"no counter", []string{"orders 1 a 0"}, "without counter"},
		{"two last flags", []string{"customers 1 a 3!", "orders 1 a 2!"}, "two last flags"},
		{"behind the last flag", []string{"customers 1 a 2!", "orders 1 a 3"}, "behind the last flag"},
		{"beyond the last flag", []string{"customers 1 a 5", "orders 1 a 2!"}, "behind the last flag"},
		{"gap", []string{"orders 1 a 1", "orders 2 a 3!"}, "open"},
		{"no last flag", []string{"orders 1 a 1", "orders 2 a 2", "orders 3 b 1!"}, "open"},
		{"goes on after its end", []string{"orders 1 a 1!", "orders 2 a 2!"}, "open"},
	}
	for _, tt := range tests {
		l := newLedger()
		feed(l, tt.events...)
		faults := strings.Join(l.faults, "; ")
		switch tt.want {
		case "":
			if faults != "" || len(l.open) != 0 {
				t.Errorf("%s: %q, %d open", tt.name, faults, len(l.open))
			}
		case "open":
			if len(l.open) != 1 {
				t.Errorf("%s: %d open", tt.name, len(l.open))
			}
		default:
			if !strings.Contains(faults, tt.want) {
				t.Errorf("%s: %q", tt.name, faults)
			}
		}
	}
}

// What is complete takes no memory.
func TestLedgerForgetsWhatIsComplete(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for i := range 1000 {
		id := fmt.Sprint("t", i)
		l.committing(transaction{id: id, changes: 1}, time.Unix(1, 0))
		feed(l, fmt.Sprintf("orders %04d %s 1!", i, id))
	}
	if len(l.open) != 0 || len(l.committed) != 0 || l.complete != 1000 {
		t.Errorf("%d open, %d committed, %d complete", len(l.open), len(l.committed), l.complete)
	}
}

// The verdict fails when a change is missing, doubled, or replaced by another.
func TestVerdictComparesWithTheSource(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	if _, err := s.db.Exec("INSERT INTO customers (id, name) VALUES (1, 'a'), (2, 'b')"); err != nil {
		t.Fatal(err)
	}
	rows := readChanges(t, s)
	first, second := fmt.Sprintf("customers %s %s 1", rows[0].seq, rows[0].tx), fmt.Sprintf("customers %s %s 2!", rows[1].seq, rows[1].tx)
	other := fmt.Sprintf("customers %s %s 2!", rows[1].seq+"0", rows[1].tx)
	for _, tt := range []struct {
		events []string
		want   string
	}{
		{[]string{first, second}, ""},
		{[]string{first}, "customers: 2 changes at the source, 1 messages"},
		{[]string{first, second, second}, "customers: 2 changes at the source, 3 messages"},
		{[]string{first, other}, "customers: the messages are not those of the source, or not in its order"},
	} {
		l := newLedger()
		feed(l, tt.events...)
		checks, err := l.verify(t.Context(), s, rows[1].seq)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(checks[0].why, ""); got != tt.want || checks[0].ok != (tt.want == "") {
			t.Errorf("%v: %q", tt.events, got)
		}
	}
}

// What is changed after the end is nobody's fault.
func TestVerdictEndsAtTheBoundary(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	if _, err := s.db.Exec("INSERT INTO customers (id, name) VALUES (1, 'a')"); err != nil {
		t.Fatal(err)
	}
	boundary, err := s.newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("INSERT INTO customers (id, name) VALUES (2, 'b'); INSERT INTO customers (id, name) VALUES (3, 'c')"); err != nil {
		t.Fatal(err)
	}
	rows := readChanges(t, s)
	if boundary != rows[0].seq {
		t.Fatalf("boundary %s, first change %s", boundary, rows[0].seq)
	}
	l := newLedger()
	for i, missing := range []int{1, 0, 0} {
		if got, closed := l.settle(map[string]int{"customers": 1}); got != missing || closed != (i == 2) {
			t.Fatalf("step %d: %d missing, closed %v", i, got, closed)
		}
		if i == 0 { // the first of two events, then the second
			feed(l, fmt.Sprintf("customers %s x 1", rows[0].seq))
		} else {
			feed(l, fmt.Sprintf("customers %s x %d!", rows[i].seq, i+1))
		}
	}
	checks, err := l.verify(t.Context(), s, boundary)
	if err != nil || !checks[0].ok || l.tables["customers"].messages != 2 {
		t.Errorf("%v %v", checks, err)
	}
}

// Quantiles are at most five percent above the truth, and never below it.
func TestHistogram(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(int64(time.Microsecond), int64(time.Hour)), 1, 200).Draw(t, "durations")
		var h histogram
		for _, d := range all {
			h.add(time.Duration(d))
		}
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		got, ok := h.quantile(q)
		below, atMost := 0, 0
		for _, d := range all {
			if float64(d)*classWidth*1.0001 < float64(got) {
				below++
			}
			if d <= int64(got)+1 {
				atMost++
			}
		}
		if !ok || float64(atMost) < q*float64(len(all))-1e-9 || float64(below) >= q*float64(len(all)) {
			t.Fatalf("quantile %v of %v is %v", q, all, got)
		}
	})
	if _, ok := new(histogram).quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
}
