package checkpoint_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// counters gives what a transaction has counted in each output.
func counters(transactions []checkpoint.Transaction, outputs ...string) (out []string) {
	for _, tx := range transactions {
		for _, name := range outputs {
			out = append(out, fmt.Sprint(tx.ID, " ", name, " ", tx.Of(name)))
		}
	}
	return out
}

// A checkpoint of the time when a task had one output belongs to the first one.
func TestCheckpointOfOneOutput(t *testing.T) {
	t.Parallel()
	id := change.TableID{Schema: "s", Name: "t"}
	s, err := checkpoint.Decode(map[string][]byte{
		"task":      []byte(`{"v":1,"position":"5","transactions":[{"id":"t1","counter":4}]}`),
		"table/s/t": []byte(`{"v":1,"schema":"s","name":"t","position":"5","floor":"","verified":"5","announced":"A json in meta"}`),
	}, checkpoint.Shard{}, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Table(id).Announced; !slices.Equal(got, []string{"A json in meta"}) {
		t.Errorf("announced %q", got)
	}
	s.SetOutputs([]string{"qlik", "debezium"})
	if got := counters(s.Task.Transactions, "qlik", "debezium"); !slices.Equal(got, []string{"t1 qlik 4", "t1 debezium 0"}) {
		t.Error(got)
	}
}

// With one output the records are those of the releases before, which can read them.
func TestOneOutputIsWrittenAsBefore(t *testing.T) {
	t.Parallel()
	s := decoded(t, nil)
	s.SetOutputs([]string{"qlik"})
	s.Task.Transactions = []checkpoint.Transaction{checkpoint.NewTransaction("t1", []string{"qlik"}, []int64{4})}
	table := s.Table(change.TableID{Schema: "s", Name: "t"})
	table.Announced = []string{"A"}
	table.Touch()
	got := map[string]string{}
	for _, e := range s.Entries() {
		got[e.Key] = string(e.Value)
	}
	want := map[string]string{
		"task":      `{"v":1,"position":"","transactions":[{"id":"t1","counter":4}],"outputs":["qlik"]}`,
		"table/s/t": `{"v":1,"schema":"s","name":"t","position":"","floor":"","verified":"","announced":"A"}`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Outputs come, go and change their places: each keeps what it has counted while it is there, a new one begins at zero. A map is the oracle.
func TestOutputsKeepTheirCounters(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		store := map[string][]byte{}
		id := change.TableID{Name: "t"}
		want := map[string]int64{}
		var before []string
		for range rapid.IntRange(1, 6).Draw(t, "starts") {
			s := decoded(t, store)
			outputs := rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(1, 3).Draw(t, "outputs")]
			s.SetOutputs(outputs)
			for _, name := range names {
				if !slices.Contains(outputs, name) || !slices.Contains(before, name) {
					delete(want, name)
				}
			}
			counts := make([]int64, len(outputs))
			for i, name := range outputs {
				var last []checkpoint.Transaction
				if last = s.Task.Transactions; len(last) > 0 && last[0].Of(name) != want[name] {
					t.Fatalf("task: output %s has %d, want %d", name, last[0].Of(name), want[name])
				}
				if last = s.Table(id).Transactions; len(last) > 0 && last[0].Of(name) != want[name] {
					t.Fatalf("table: output %s has %d, want %d", name, last[0].Of(name), want[name])
				}
				want[name] += int64(rapid.IntRange(0, 2).Draw(t, "events"))
				counts[i] = want[name]
			}
			before = outputs
			s.Task.Transactions = []checkpoint.Transaction{checkpoint.NewTransaction("t1", outputs, counts)}
			if rapid.Bool().Draw(t, "moved") || len(s.Table(id).Transactions) == 0 {
				s.Table(id).Transactions = []checkpoint.Transaction{checkpoint.NewTransaction("t1", outputs, counts)}
				s.Table(id).Announced = outputs
				s.Table(id).Touch()
			} else {
				for _, name := range outputs { // the table did not move: neither does the oracle
					want[name] = s.Table(id).Transactions[0].Of(name)
				}
				s.Task.Transactions = slices.Clone(s.Table(id).Transactions)
				s.Table(id).Touch()
			}
			apply(store, s.Entries())
		}
	})
}
