package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Shard is one of the parts that a task is divided into: Number, from 0, of Of. The zero value is the whole of an undivided task.
//
// All shards of a task share one checkpoint. The entries of a table lie under the table's own key, whichever shard it belongs to, so that it
// keeps them when it moves; what belongs to a shard as a whole lies under keys of the shard. Those of shard 0 are the keys of an undivided task.
type Shard struct{ Number, Of int }

// Count is how many shards there are: at least one.
func (s Shard) Count() int { return max(s.Of, 1) }

// Has tells whether a table belongs to the shard. That is a matter of its name alone, so that all replicas agree without asking, and a table
// changes its shard only when their number changes.
func (s Shard) Has(id change.TableID) bool { return ShardOf(id, s.Of) == s.Number }

// ShardOf is the number of the shard that a table belongs to.
func ShardOf(id change.TableID, of int) int {
	if of <= 1 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id.Schema + "\x00" + id.Name)) // cannot fail
	sum := h.Sum64()
	sum ^= sum >> 32 // the low bits of FNV are not well mixed
	return int(sum % uint64(of))
}

// key gives the shard's own key: "task" for shard 0, "task/3" for shard 3.
func (s Shard) key(base string) string {
	if s.Number == 0 {
		return base
	}
	return base + "/" + strconv.Itoa(s.Number)
}

// parseShard reads what key has written.
func parseShard(key, base string) (n int, ok bool) {
	if key == base {
		return 0, true
	}
	digits, ok := strings.CutPrefix(key, base+"/")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0 && strconv.Itoa(n) == digits
}

// Reshard gives the entries that turn a checkpoint of one number of shards into one of another. Nobody may write meanwhile. What the former
// shards knew as a whole goes to every new one, because any of their tables may have come to it: the counters of their transactions, the
// highest sequence that was given, and as answered only those requests that all of them have answered.
func Reshard(entries map[string][]byte, from, to int) ([]Entry, error) {
	if from == to {
		return nil, nil
	}
	merged, err := mergeTasks(entries, from)
	if err != nil {
		return nil, err
	}
	memory, err := mergeMemories(entries, from)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for n := range max(from, to) {
		s := Shard{Number: n, Of: to}
		task, layout := Entry{Key: s.key(taskKey)}, Entry{Key: s.key(layoutKey)}
		if n < to {
			task.Value, layout.Value = merged, memory
		}
		for _, e := range []Entry{task, layout} {
			if _, there := entries[e.Key]; there || e.Value != nil {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// mergeTasks gives nil where no shard has written anything yet. The position is left out: each shard has that of its own tables.
func mergeTasks(entries map[string][]byte, from int) ([]byte, error) {
	var merged taskRecord
	found := 0
	var transactions [][]Transaction
	for n := range from {
		key := Shard{Number: n, Of: from}.key(taskKey)
		value, there := entries[key]
		if !there {
			continue
		}
		var r taskRecord
		if err := decodeUpTo(outputsVersion, value, &r); err != nil {
			return nil, damaged(key, err)
		}
		merged.Sequence = max(merged.Sequence, r.Sequence)
		if found++; found == 1 || r.Requests < merged.Requests {
			merged.Requests = r.Requests
		}
		transactions = append(transactions, r.Transactions)
		for _, output := range r.Outputs {
			if !slices.Contains(merged.Outputs, output) {
				merged.Outputs = append(merged.Outputs, output)
			}
		}
	}
	if found == 0 {
		return nil, nil
	}
	if found < from {
		merged.Requests = 0 // a shard has answered none
	}
	merged.Moved, merged.Transactions = true, mergeTransactions(transactions, merged.Outputs)
	merged.V = merged.version()
	return json.Marshal(merged)
}

// mergeTransactions puts the most recent of each shard last. A transaction that several have counted goes on with the highest number.
func mergeTransactions(lists [][]Transaction, outputs []string) []Transaction {
	var out []Transaction
	longest := 0
	for _, list := range lists {
		longest = max(longest, len(list))
	}
	for age := longest; age > 0; age-- {
		for _, list := range lists {
			if age > len(list) {
				continue
			}
			t := list[len(list)-age]
			if i := slices.IndexFunc(out, func(o Transaction) bool { return o.ID == t.ID }); i >= 0 {
				t = highest(t, out[i], outputs)
				out = slices.Delete(out, i, i+1)
			}
			out = append(out, t)
		}
	}
	return out
}

// highest gives the higher counter of two in each output.
func highest(a, b Transaction, outputs []string) Transaction {
	if len(outputs) == 0 {
		a.Counter = max(a.Counter, b.Counter)
		return a
	}
	counts := make([]int64, len(outputs))
	for i, name := range outputs {
		counts[i] = max(a.Of(name), b.Of(name))
	}
	return NewTransaction(a.ID, outputs, counts)
}

// mergeMemories joins what layouts have learned: JSON objects member by member, lists one behind the other, of anything else the first.
func mergeMemories(entries map[string][]byte, from int) ([]byte, error) {
	var out []byte
	for n := range from {
		value := entries[Shard{Number: n, Of: from}.key(layoutKey)]
		switch {
		case value == nil || string(value) == string(out):
		case out == nil:
			out = value
		default:
			var a, b map[string]any
			if json.Unmarshal(out, &a) != nil || json.Unmarshal(value, &b) != nil {
				continue
			}
			joined, err := json.Marshal(mergeJSON(a, b))
			if err != nil {
				return nil, err
			}
			out = joined
		}
	}
	return out, nil
}

func mergeJSON(a, b any) any {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			for key, value := range y {
				if own, both := x[key]; both {
					value = mergeJSON(own, value)
				}
				x[key] = value
			}
		}
		return x
	case []any:
		if y, ok := b.([]any); ok {
			return append(x, y...)
		}
	}
	return cmp.Or(a, b)
}

func damaged(key string, err error) error {
	return fault.New(fault.Fatal, fmt.Sprintf("checkpoint record %q", key), err, "restore the checkpoint from a copy, or reset the positions by hand")
}
