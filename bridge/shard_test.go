package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// reshard turns the committed checkpoint into one of another number of shards, as the sink of shard 0 does.
func (l *ledger) reshard(t testing.TB, from, to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, err := checkpoint.Reshard(l.entries, from, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Value == nil {
			delete(l.entries, e.Key)
		} else {
			l.entries[e.Key] = e.Value
		}
	}
}

// tablesOf gives names of tables that belong to each of two shards.
func tablesOf(n int) (zero, one []string) {
	for i := 0; len(zero) < n || len(one) < n; i++ {
		name := fmt.Sprint("t", i)
		if (checkpoint.Shard{Number: 0, Of: 2}).Has(change.TableID{Name: name}) {
			zero = append(zero, name)
		} else {
			one = append(one, name)
		}
	}
	return zero[:n], one[:n]
}

// A task is divided and joined again. Each shard publishes its own tables only; what the other has not published yet comes after the joining,
// once, and is not late although the rest is far ahead.
func TestTablesChangeTheirShard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	zero, one := tablesOf(1)
	a, b := zero[0], one[0]
	w.create(a, b)
	w.add(a, "I", 1, "t1", 1, "x")
	w.add(b, "I", 2, "t1", 1, "x")
	stop := w.start()
	w.ledger.wait(t, "the rows of the undivided task", count(2))
	stop()

	w.ledger.reshard(t, 1, 2)
	w.options.Shard = checkpoint.Shard{Number: 0, Of: 2}
	w.add(b, "I", 3, "t2", 2, "x")
	w.add(a, "I", 4, "t3", 2, "x")
	stop = w.start()
	w.ledger.wait(t, "the row of shard 0", count(3))
	stop()

	w.ledger.reshard(t, 2, 1)
	w.options.Shard = checkpoint.Shard{}
	w.add(a, "I", 5, "t4", 3, "x")
	stop = w.start()
	got := w.ledger.wait(t, "the rows that were left", count(5))
	stop()
	for i, table := range []string{a, b, a, b, a} {
		if !strings.Contains(got[i], table) {
			t.Errorf("row %d is %s, want one of %s", i, got[i], table)
		}
	}
	w.observed.mu.Lock()
	defer w.observed.mu.Unlock()
	if w.observed.late > 0 {
		t.Errorf("%d rows count as late", w.observed.late)
	}
}

// A request reaches the shard that has the table, and no other answers it.
func TestRequestReachesItsShard(t *testing.T) {
	t.Parallel()
	zero, one := tablesOf(1)
	for number, want := range []int{0, 4} {
		w, ask := asks(t, bridge.LoadOptions{ChunkRows: 2})
		w.create(zero[0], one[0])
		w.preload(one[0], 4)
		w.options.Shard = checkpoint.Shard{Number: number, Of: 2}
		own := zero[0]
		if number == 1 {
			own = one[0]
		}
		w.add(own, "I", 1, "t1", 100, "x")
		ask(bridge.ActionLoad, one[0], "")
		stop := w.start()
		w.ledger.wait(t, "the rows", count(1+want))
		w.add(own, "I", 2, "t2", 101, "x")
		got := w.ledger.wait(t, "a row behind the request", count(2+want))
		stop()
		if n := len(refreshed(got, one[0])); n != want {
			t.Errorf("shard %d has loaded %d rows, want %d", number, n, want)
		}
	}
}
