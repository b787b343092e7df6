package chaos

import (
	"fmt"
	"hash/fnv"
	"sort"
	"sync"

	"ctbridge/test/qlikwriter"
)

// Outcomes of a transaction.
const (
	unknown byte = iota // the answer to its commit was lost; the database is asked later
	committed
	aborted
)

// transaction is a run of events: those from first, size of them, over three tables or in the late one alone.
type transaction struct {
	first, size int
	late        bool
	outcome     byte
}

// ledger knows every change. An event is a function of the seed and its number, so that only transactions are kept, and millions of rows cost little.
type ledger struct {
	seed uint64
	mu   sync.Mutex
	all  []transaction

	transactions, events int // committed
}

// event is one change, as it was written or as it was read.
type event struct {
	n           int // from 1; its place in the change sequence
	table, oper string
	id          int
	status, fee string
	before      string // status of the before-image
	tx          string
	counter     int
	last        bool
}

var allTables = []string{"one", "two", "three", "late"}

const keys = 200 // per table: every key changes often

// hash scatters a number; what it is about keeps the choices apart.
func (l *ledger) hash(n int, about string) int {
	h := fnv.New64a()
	fmt.Fprint(h, l.seed, about, n)
	return int(h.Sum64() >> 33)
}

// at is event n of a transaction.
func (l *ledger) at(n int, t transaction) event {
	h := l.hash(n, "e")
	table := allTables[h%3]
	if t.late {
		table = allTables[3]
	}
	e := event{n: n, table: table, id: h / 7 % keys, status: fmt.Sprint("s", n), fee: fmt.Sprintf("%d.%02d", n%1000, h%100),
		tx: fmt.Sprint("tx", t.first), counter: n - t.first + 1, last: n == t.first+t.size-1}
	switch c := h / 3000 % 20; {
	case c < 10:
		e.oper = "I"
	case c < 17:
		e.oper, e.before = "U", fmt.Sprint("b", n)
	default:
		e.oper = "D"
	}
	return e
}

// begin notes the next transaction, before it is written.
func (l *ledger) begin(size int, late bool) (index int, t transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t = transaction{first: 1, size: size, late: late}
	if len(l.all) > 0 {
		newest := l.all[len(l.all)-1]
		t.first = newest.first + newest.size
	}
	l.all = append(l.all, t)
	return len(l.all) - 1, t
}

func (l *ledger) end(index int, outcome byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[index].outcome = outcome
	if outcome == committed {
		l.transactions++
		l.events += l.all[index].size
	}
}

// find gives the transaction of event n.
func (l *ledger) find(n int) (transaction, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := sort.Search(len(l.all), func(i int) bool { return l.all[i].first > n }) - 1
	if i < 0 || n >= l.all[i].first+l.all[i].size {
		return transaction{}, false
	}
	return l.all[i], true
}

// sums tells how many transactions and events are committed, and the number behind the last event of all.
func (l *ledger) sums() (transactions, events, next int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if next = 1; len(l.all) > 0 {
		newest := l.all[len(l.all)-1]
		next = newest.first + newest.size
	}
	return l.transactions, l.events, next
}

// each walks over the transactions as they are now.
func (l *ledger) each(do func(index int, t transaction)) {
	l.mu.Lock()
	all := append([]transaction(nil), l.all...)
	l.mu.Unlock()
	for i, t := range all {
		do(i, t)
	}
}

func sequence(n int) string { return qlikwriter.Seq(n) }
