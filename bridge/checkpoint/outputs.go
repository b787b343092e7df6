package checkpoint

import (
	"encoding/json"
	"slices"
)

// Transaction is a source transaction with the counter of its last published event, in each output of the task.
type Transaction struct {
	ID       string           `json:"id"`
	Counter  int64            `json:"counter,omitempty"`  // of every output, where they agree
	Counters map[string]int64 `json:"counters,omitempty"` // by output, where they do not
}

// NewTransaction notes a counter for each output.
func NewTransaction(id string, outputs []string, counts []int64) Transaction {
	t := Transaction{ID: id, Counter: counts[0]}
	if !slices.ContainsFunc(counts, func(n int64) bool { return n != counts[0] }) {
		return t
	}
	t.Counter, t.Counters = 0, make(map[string]int64, len(outputs))
	for i, name := range outputs {
		t.Counters[name] = counts[i]
	}
	return t
}

// Of gives the counter of an output.
func (t *Transaction) Of(output string) int64 {
	if t.Counters == nil {
		return t.Counter
	}
	return t.Counters[output]
}

// SetOutputs says which outputs the task has from now on. Counters of one that it did not have before begin at zero: it has published nothing. A
// checkpoint that names no outputs is of a task with one, the first of them.
func (s *State) SetOutputs(outputs []string) {
	known := s.Task.Outputs
	if known == nil && len(outputs) > 0 {
		known = outputs[:1]
	}
	s.Task.Outputs = slices.Clone(outputs)
	if slices.Equal(known, outputs) {
		return
	}
	recount(s.Task.Transactions, known, outputs)
	for _, t := range s.Tables {
		if len(t.Transactions) > 0 {
			recount(t.Transactions, known, outputs)
			t.dirty = true
		}
	}
}

func recount(transactions []Transaction, known, outputs []string) {
	for i := range transactions {
		counts := make([]int64, len(outputs))
		for o, name := range outputs {
			if slices.Contains(known, name) {
				counts[o] = transactions[i].Of(name)
			}
		}
		transactions[i] = NewTransaction(transactions[i].ID, outputs, counts)
	}
}

// version is that of a record that programs for one output could misread, or not.
func (t *Task) version() int {
	if len(t.Outputs) > 1 {
		return outputsVersion
	}
	return stateVersion
}

func (t *Table) version() int {
	counters := func(tx Transaction) bool { return tx.Counters != nil }
	if len(t.Announced) > 1 || slices.ContainsFunc(t.Transactions, counters) {
		return outputsVersion
	}
	return stateVersion
}

// texts are several texts; one alone is written as such.
type texts []string

func (t texts) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

func (t *texts) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*t = make(texts, 1)
		return json.Unmarshal(data, &(*t)[0])
	}
	return json.Unmarshal(data, (*[]string)(t))
}
