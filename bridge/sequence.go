package bridge

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// sequencer counts the published events of each source transaction (I4). Rows of one transaction normally come in one run; the counters
// of the last few transactions are kept, so that a late or interleaved row goes on counting instead of starting again.
type sequencer struct {
	recent []checkpoint.Transaction // most recent last
}

// recentTransactions is how many counters are remembered.
const recentTransactions = 16

func newSequencer(recent []checkpoint.Transaction) sequencer {
	return sequencer{recent: append([]checkpoint.Transaction(nil), recent...)}
}

// number sets the counters of an event.
func (s *sequencer) number(ev *change.Event, last bool) {
	if len(ev.TransactionID) == 0 {
		ev.Counter, ev.Last = 0, false
		return
	}
	t := s.transaction(ev.TransactionID)
	t.Counter++
	ev.Counter, ev.Last = t.Counter, last
}

// takeBack undoes number for an event that was not published after all.
func (s *sequencer) takeBack(ev *change.Event) {
	if ev.Counter > 0 {
		s.transaction(ev.TransactionID).Counter--
	}
}

// transaction finds or begins a transaction and makes it the most recent one.
func (s *sequencer) transaction(id []byte) *checkpoint.Transaction {
	n := len(s.recent)
	for i := n - 1; i >= 0; i-- {
		if s.recent[i].ID != string(id) {
			continue
		}
		if i < n-1 {
			found := s.recent[i]
			copy(s.recent[i:], s.recent[i+1:])
			s.recent[n-1] = found
		}
		return &s.recent[n-1]
	}
	if n == recentTransactions {
		copy(s.recent, s.recent[1:])
		s.recent = s.recent[:n-1]
	}
	s.recent = append(s.recent, checkpoint.Transaction{ID: string(id)})
	return &s.recent[len(s.recent)-1]
}

// transactions gives what the checkpoint keeps.
func (s *sequencer) transactions() []checkpoint.Transaction {
	return append([]checkpoint.Transaction(nil), s.recent...)
}
