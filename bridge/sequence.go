package bridge

import (
	"slices"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// sequencer counts the published events of each source transaction (I4), for each output by itself: one may publish two events where another
// publishes one. Rows of one transaction normally come in one run; the counters of the last few transactions are kept, so that a late or
// interleaved row goes on counting instead of starting again. The task has one, and each table has one for its own events.
type sequencer struct {
	outputs []string
	recent  []transaction // most recent last
	before  []int64       // counts of the row's transaction before the row
}

// transaction is a source transaction with the counter of its last published event in each output.
type transaction struct {
	id     string
	counts []int64

	tables  []*table // that have numbered a row of it, where somebody asks: see bounds
	resumed bool     // it began before this session: others may have, too
}

// touch notes a table.
func (t *transaction) touch(by *table) {
	if n := len(t.tables); n == 0 || t.tables[n-1] != by && !slices.Contains(t.tables, by) {
		t.tables = append(t.tables, by)
	}
}

// recentTransactions is how many counters are remembered.
const recentTransactions = 16

func newSequencer(outputs []string, recent []checkpoint.Transaction) sequencer {
	recent = recent[max(0, len(recent)-recentTransactions):] // shards that were joined bring more
	s := sequencer{outputs: outputs}
	for i := range recent {
		t := transaction{id: recent[i].ID, counts: make([]int64, len(outputs)), resumed: true}
		for o, name := range outputs {
			t.counts[o] = recent[i].Of(name)
		}
		s.recent = append(s.recent, t)
	}
	return s
}

// row finds or begins the transaction of a row, makes it the most recent one, and notes its counts for undo.
func (s *sequencer) row(id []byte) *transaction {
	t := s.transaction(id)
	s.before = append(s.before[:0], t.counts...)
	return t
}

// undo takes the numbers of the last row back.
func (s *sequencer) undo(t *transaction) { copy(t.counts, s.before) }

func (s *sequencer) transaction(id []byte) *transaction {
	n := len(s.recent)
	for i := n - 1; i >= 0; i-- {
		if s.recent[i].id != string(id) {
			continue
		}
		if i < n-1 {
			found := s.recent[i]
			copy(s.recent[i:], s.recent[i+1:])
			s.recent[n-1] = found
		}
		return &s.recent[n-1]
	}
	if n < recentTransactions {
		s.recent = append(s.recent, transaction{id: string(id), counts: make([]int64, len(s.outputs))})
		return &s.recent[n]
	}
	counts, tables := s.recent[0].counts, s.recent[0].tables
	copy(s.recent, s.recent[1:])
	clear(counts)
	clear(tables)
	s.recent[n-1] = transaction{id: string(id), counts: counts, tables: tables[:0]}
	return &s.recent[n-1]
}

// transactions gives what the checkpoint keeps: of those transactions alone that the other sequencer knows, too, where there is one.
func (s *sequencer) transactions(among *sequencer) []checkpoint.Transaction {
	var out []checkpoint.Transaction
	for _, t := range s.recent {
		if among == nil || slices.ContainsFunc(among.recent, func(other transaction) bool { return other.id == t.id }) {
			out = append(out, checkpoint.NewTransaction(t.id, s.outputs, t.counts))
		}
	}
	return out
}

// numbers are the counters of the events of one row; nil where the row has no transaction.
type numbers struct{ task, table *transaction }

func (r *Runner) numbers(t *table, ev *change.Event) numbers {
	if len(ev.TransactionID) == 0 || r.unnumbered {
		return numbers{}
	}
	t.numbered = true
	n := numbers{task: r.sequencer.row(ev.TransactionID), table: t.sequencer.row(ev.TransactionID)}
	if r.bounds != nil {
		n.task.touch(t)
	}
	return n
}

// give numbers one event in an output.
func (n numbers) give(output int, ev *change.Event, last bool) {
	if n.task == nil {
		ev.Counter, ev.TableCounter, ev.Last = 0, 0, false
		return
	}
	n.task.counts[output]++
	n.table.counts[output]++
	ev.Counter, ev.TableCounter, ev.Last = n.task.counts[output], n.table.counts[output], last
}

// takeBack gives the numbers of a row back that is not published after all.
func (r *Runner) takeBack(t *table, n numbers) {
	if n.task != nil {
		r.sequencer.undo(n.task)
		t.sequencer.undo(n.table)
	}
}

// keepNumbers puts the counters into the checkpoint.
func (r *Runner) keepNumbers() {
	r.state.Task.Transactions = r.sequencer.transactions(nil)
	for _, t := range r.order {
		if t.numbered {
			t.state.Transactions, t.numbered = t.sequencer.transactions(&r.sequencer), false
		}
	}
}
