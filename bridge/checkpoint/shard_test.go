package checkpoint_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

func shardOf(t interface{ Fatal(...any) }, store map[string][]byte, number, of int) *checkpoint.State {
	s, err := checkpoint.Decode(store, checkpoint.Shard{Number: number, Of: of}, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tableOf gives a table of a shard.
func tableOf(number, of int) change.TableID {
	for i := 0; ; i++ {
		id := change.TableID{Name: fmt.Sprint("t", i)}
		if (checkpoint.Shard{Number: number, Of: of}).Has(id) {
			return id
		}
	}
}

// Each table belongs to one shard, and to the same one for ever: the placement is part of the format.
func TestTablesHaveTheirShard(t *testing.T) {
	t.Parallel()
	counts := make([]int, 4)
	for i := range 4000 {
		id, owners := change.TableID{Schema: "dbo", Name: fmt.Sprint("table", i)}, 0
		for n := range counts {
			if (checkpoint.Shard{Number: n, Of: 4}).Has(id) {
				owners++
				counts[n]++
			}
		}
		if owners != 1 || !(checkpoint.Shard{}).Has(id) {
			t.Fatalf("%s belongs to %d shards", id, owners)
		}
	}
	for n, count := range counts {
		if count < 900 || count > 1100 {
			t.Errorf("shard %d has %d of 4,000 tables", n, count)
		}
	}
	for table, want := range map[string]int{"orders": 0, "order_lines": 2, "customers": 3} {
		if !(checkpoint.Shard{Number: want, Of: 4}).Has(change.TableID{Schema: "dbo", Name: table}) {
			t.Errorf("dbo.%s has moved: tables would be published by two replicas of different versions", table)
		}
	}
}

// Shards share a checkpoint: each reads all tables and what is its own, and writes under its own keys.
func TestShardsShareACheckpoint(t *testing.T) {
	t.Parallel()
	store := make(map[string][]byte)
	for n := range 3 {
		s := shardOf(t, store, n, 3)
		s.Task.Sequence, s.Layout = fmt.Sprint("sequence ", n), fmt.Append(nil, "memory ", n)
		own := tableOf(n, 3)
		s.Table(own).Position = change.Position(fmt.Sprint("000", n))
		for _, id := range []change.TableID{own, tableOf((n+1)%3, 3)} { // what it knows of another shard's table is not written
			s.Table(id).Touch()
		}
		entries := s.Entries()
		for _, e := range entries {
			if e.Key == "table//"+tableOf((n+1)%3, 3).Name {
				t.Errorf("shard %d writes %s", n, e.Key)
			}
		}
		apply(store, entries)
	}
	for n := range 3 {
		s := shardOf(t, store, n, 3)
		if s.Task.Sequence != fmt.Sprint("sequence ", n) || string(s.Layout) != fmt.Sprint("memory ", n) || len(s.Tables) != 3 {
			t.Errorf("shard %d reads %+v", n, s)
		}
	}
	if _, there := store["task"]; !there {
		t.Error("shard 0 has not the keys of an undivided task")
	}
}

// A change of the number of shards keeps what each knew: counters of transactions, the highest sequence, requests that all have answered.
func TestReshard(t *testing.T) {
	t.Parallel()
	store := make(map[string][]byte)
	tasks := []checkpoint.Task{
		{Position: "0009", Requests: 3, Sequence: "b", Transactions: []checkpoint.Transaction{{ID: "t1", Counter: 4}, {ID: "t2", Counter: 1}}},
		{Position: "0004", Requests: 2, Sequence: "c", Transactions: []checkpoint.Transaction{{ID: "t1", Counter: 7}, {ID: "t3", Counter: 2}}},
	}
	memories := []string{`{"v":1,"read":{"a":["x"]}}`, `{"v":1,"read":{"a":["y"],"b":["z"]}}`}
	for n, task := range tasks {
		s := shardOf(t, store, n, 2)
		s.Task, s.Layout = task, []byte(memories[n])
		s.Table(tableOf(n, 2)).Touch()
		apply(store, s.Entries())
	}
	entries, err := checkpoint.Reshard(store, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	apply(store, entries)
	want := checkpoint.Task{Requests: 2, Sequence: "c", Moved: true, Transactions: []checkpoint.Transaction{{ID: "t1", Counter: 7}, {ID: "t2", Counter: 1}, {ID: "t3", Counter: 2}}} // the most recent of each last
	for n := range 3 {
		s := shardOf(t, store, n, 3)
		if !reflect.DeepEqual(s.Task, want) {
			t.Errorf("shard %d knows %+v", n, s.Task)
		}
		var memory map[string]any
		if err := json.Unmarshal(s.Layout, &memory); err != nil || fmt.Sprint(memory) != "map[read:map[a:[x y] b:[z]] v:1]" {
			t.Errorf("shard %d remembers %s, %v", n, s.Layout, err)
		}
	}
	if entries, err = checkpoint.Reshard(store, 3, 1); err != nil {
		t.Fatal(err)
	}
	apply(store, entries)
	if s := shardOf(t, store, 0, 1); !reflect.DeepEqual(s.Task, want) {
		t.Errorf("undivided again it knows %+v", s.Task)
	}
	for _, key := range []string{"task/1", "task/2", "layout/1", "layout/2"} {
		if store[key] != nil {
			t.Errorf("%s is left", key)
		}
	}
}

// Counters by output are joined output by output, and written in a version that a program for one output refuses.
func TestReshardOutputs(t *testing.T) {
	t.Parallel()
	store, outputs := make(map[string][]byte), []string{"a", "b"}
	for n, counts := range [][]int64{{1, 5}, {3, 2}} {
		s := shardOf(t, store, n, 2)
		s.SetOutputs(outputs)
		s.Task.Transactions = []checkpoint.Transaction{checkpoint.NewTransaction("t1", outputs, counts)}
		s.Table(tableOf(n, 2)).Touch()
		apply(store, s.Entries())
	}
	entries, err := checkpoint.Reshard(store, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	apply(store, entries)
	s := shardOf(t, store, 0, 1)
	tx := s.Task.Transactions
	if len(tx) != 1 || tx[0].Of("a") != 3 || tx[0].Of("b") != 5 || !reflect.DeepEqual(s.Task.Outputs, outputs) || !strings.HasPrefix(string(store["task"]), `{"v":2`) {
		t.Errorf("read back %+v from %s", s.Task, store["task"])
	}
}

// Tables keep their entries whatever the number of shards becomes, and a checkpoint that was never divided is one of one shard.
func TestReshardKeepsTables(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store := make(map[string][]byte)
		s := shardOf(t, store, 0, 0)
		for i := range rapid.IntRange(0, 8).Draw(t, "tables") {
			table := s.Table(change.TableID{Schema: "s", Name: fmt.Sprint("t", i)})
			table.Position = change.Position(rapid.StringMatching(`[0-9]{4}`).Draw(t, "position"))
			table.Touch()
		}
		apply(store, s.Entries())
		from := 1
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			to := rapid.IntRange(1, 5).Draw(t, "to")
			entries, err := checkpoint.Reshard(store, from, to)
			if err != nil {
				t.Fatal(err)
			}
			apply(store, entries)
			from = to
			for n := range to {
				after := shardOf(t, store, n, to)
				for id, table := range s.Tables {
					if got := after.Table(id).Position; got != table.Position {
						t.Fatalf("shard %d of %d has %s at %q, want %q", n, to, id, got, table.Position)
					}
				}
			}
		}
	})
}
