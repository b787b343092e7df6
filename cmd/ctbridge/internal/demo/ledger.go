package demo

import (
	"slices"
	"sync"
	"time"
)

// arrival is one message as the consumer saw it.
type arrival struct {
	table     string
	sequence  string
	operation string
	tx        string
	counter   int64
	last      bool
	changed   time.Time // as the message says
	at        time.Time // when it was read
	history   bool      // it was in the topic before this demo began
}

// ledger keeps the accounts of what was committed at the source and what arrived. It holds open transactions and totals only, so that a
// demo may run for days.
type ledger struct {
	mu        sync.Mutex
	tables    map[string]*account
	committed map[string]time.Time // when each of the workload's own transactions was committed, until all of it has arrived
	open      map[string]*progress // transactions that have begun to arrive and are not complete
	complete  int                  // transactions that arrived whole
	fresh     int                  // transactions that began to arrive, without history
	latency   histogram
	timing    bool     // latencies count
	faults    []string // what is wrong beyond doubt: the first few
	moved     chan struct{}
	closed    bool // the books are closed: what arrives now was changed after the end
}

// account is one table's.
type account struct {
	all          *running       // with history
	last         string         // newest sequence
	operations   map[string]int // without history, like what follows
	messages     int
	transactions int
	latency      histogram
}

// progress is one transaction on its way.
type progress struct {
	counters map[int64]bool
	end      int64 // counter of the event with the last flag; 0 = not seen
	newest   map[string]int64
	own      bool
}

// maxFaults is how many faults are told in words.
const maxFaults = 5

func newLedger() *ledger {
	l := &ledger{tables: map[string]*account{}, committed: map[string]time.Time{}, open: map[string]*progress{}, moved: make(chan struct{}, 1)}
	for _, t := range tables() {
		l.tables[t.name] = &account{all: newRunning(), operations: map[string]int{}}
	}
	return l
}

// committing notes one of the workload's transactions, before its COMMIT.
func (l *ledger) committing(t transaction, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.committed[t.id] = at
}

// startTiming lets latencies count from now on: what was committed before the bridge was there waited for it to start.
func (l *ledger) startTiming() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timing = true
}

// standing is how the transaction of an event stands.
type standing struct {
	foreign  bool // it is not one of the workload's: the user's own change
	complete bool // all of it has arrived
}

// arrive enters a message; ok is false when the books are closed.
func (l *ledger) arrive(a *arrival) (s standing, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return standing{}, false
	}
	defer l.wake()
	acc := l.tables[a.table]
	acc.all.add(a.sequence)
	if a.sequence <= acc.last {
		l.fault(a.table + ": change " + a.sequence + " came after " + acc.last)
	}
	acc.last = a.sequence
	p := l.transaction(a)
	if !a.history {
		l.count(acc, a, p)
	}
	return standing{foreign: !p.own, complete: l.follow(p, a)}, true
}

// wake tells a waiter that something changed.
func (l *ledger) wake() {
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

func (l *ledger) transaction(a *arrival) *progress {
	p := l.open[a.tx]
	if p == nil {
		_, own := l.committed[a.tx]
		p = &progress{counters: map[int64]bool{}, newest: map[string]int64{}, own: own}
		l.open[a.tx] = p
		if !a.history {
			l.fresh++
		}
	}
	return p
}

func (l *ledger) count(acc *account, a *arrival, p *progress) {
	acc.operations[a.operation]++
	acc.messages++
	if p.newest[a.table] == 0 {
		acc.transactions++
	}
	since, own := l.committed[a.tx]
	if !own {
		since = a.changed
	}
	if l.timing && !since.IsZero() {
		acc.latency.add(a.at.Sub(since))
		l.latency.add(a.at.Sub(since))
	}
}

// follow checks the counters of a transaction, and forgets it when it is complete. Tables are read side by side, so only the counters of one
// table come in order.
func (l *ledger) follow(p *progress, a *arrival) (complete bool) {
	name := "transaction " + a.tx
	switch {
	case a.counter < 1:
		l.fault(name + ": an event without counter")
	case p.counters[a.counter]:
		l.fault(name + ": a counter came twice")
	case a.counter <= p.newest[a.table]:
		l.fault(name + ": counters out of order in " + a.table)
	case a.last && p.end != 0:
		l.fault(name + ": two last flags")
	case p.end != 0 && a.counter > p.end, a.last && p.beyond(a.counter):
		l.fault(name + ": an event behind the last flag")
	}
	p.counters[a.counter] = true
	p.newest[a.table] = a.counter
	if a.last {
		p.end = a.counter
	}
	if p.end == 0 || int64(len(p.counters)) != p.end {
		return false
	}
	delete(l.open, a.tx)
	delete(l.committed, a.tx)
	l.complete++
	return true
}

// beyond tells whether an event with a higher counter has arrived.
func (p *progress) beyond(counter int64) bool {
	for seen := range p.counters {
		if seen > counter {
			return true
		}
	}
	return false
}

func (l *ledger) fault(text string) {
	if len(l.faults) < maxFaults && !slices.Contains(l.faults, text) {
		l.faults = append(l.faults, text)
	}
}

// counts gives the messages and the transactions they belong to, without history.
func (l *ledger) counts() (messages, transactions int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, acc := range l.tables {
		messages += acc.messages
	}
	return messages, l.fresh
}

// settle closes the books when the number of changes of every table has arrived and every transaction is complete. Else it tells how many are
// missing.
func (l *ledger) settle(changes map[string]int) (missing int, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for table, n := range changes {
		missing += max(0, n-l.tables[table].all.changes)
	}
	l.closed = missing == 0 && len(l.open) == 0
	return missing, l.closed
}
