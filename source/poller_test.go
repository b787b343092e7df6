package source_test

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// reader reads windows as the runner does, keeping positions and look-back in a checkpoint.
type reader struct {
	clock  *clock
	poller *source.Poller
	memory *memory
	state  *checkpoint.State
	stored map[string][]byte
	got    []string // "table position"
	late   int
}

func newReader(m *memory, c *clock, o source.Options) *reader {
	o.Now = c.Now
	r := &reader{clock: c, memory: m, poller: source.NewPoller(nil, m, o), stored: make(map[string][]byte)}
	r.restart()
	return r
}

// restart forgets everything but the stored checkpoint.
func (r *reader) restart() {
	state, err := checkpoint.Decode(r.stored, checkpoint.Shard{}, r.clock.Now())
	if err != nil {
		panic(err)
	}
	r.state = state
}

func (r *reader) asked() (asked []source.Progress) {
	for _, c := range r.memory.tables {
		t := r.state.Table(c.Table.ID)
		asked = append(asked, source.Progress{Captured: c, After: t.Position, Recent: &t.Window})
	}
	return asked
}

// poll looks without reading.
func (r *reader) poll(t *testing.T) *source.Window {
	t.Helper()
	w, err := r.poller.Poll(context.Background(), r.asked())
	check(t, err)
	return w
}

func (r *reader) round() error {
	w, err := r.poller.Poll(context.Background(), r.asked())
	if err != nil {
		return err
	}
	events := r.poller.Read(context.Background(), w)
	defer events.Close()
	for {
		ev, err := events.Next()
		if err != nil {
			return err
		}
		if ev == nil {
			break
		}
		r.take(ev)
	}
	for _, e := range r.state.Entries() {
		if e.Value == nil {
			delete(r.stored, e.Key)
		} else {
			r.stored[e.Key] = e.Value
		}
	}
	if failures := events.Failures(); len(failures) > 0 {
		return failures[0]
	}
	return nil
}

func (r *reader) take(ev *change.Event) {
	t := r.state.Table(ev.Table.ID)
	if ev.Position < r.state.Task.Position {
		r.late++
	}
	t.Position = max(t.Position, ev.Position)
	r.state.Task.Position = max(r.state.Task.Position, ev.Position)
	t.Window.Add(ev.Position, r.clock.Now())
	t.Touch()
	r.got = append(r.got, fmt.Sprintf("%s %s", ev.Table.ID.Name, ev.Position))
}

// Whatever the order in which rows of several tables become visible, and wherever the reader restarts: each row comes once. With rows
// that come in order, they leave in order.
func TestEveryRowOnceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "tables")]
		m, c := newMemory(names...), newClock()
		r := newReader(m, c, source.Options{
			Horizon:  source.HorizonOptions{Policy: source.PolicySettle, Settle: time.Duration(rapid.IntRange(0, 3).Draw(t, "settle")) * time.Second},
			PageRows: rapid.IntRange(1, 5).Draw(t, "page"), Parallel: 2, MaxBytes: 1 << 20, Lookback: time.Hour, CheckEach: time.Nanosecond,
		})
		shuffled := rapid.Bool().Draw(t, "late")
		numbers := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 60).Draw(t, "rows")
		if !shuffled {
			sort.Ints(numbers)
		}
		var want []string
		for _, n := range numbers {
			name := rapid.SampledFrom(names).Draw(t, "table")
			m.show(name, n)
			want = append(want, fmt.Sprintf("%s %s", name, pos(n)))
			if rapid.Bool().Draw(t, "poll") {
				c.Move(time.Duration(rapid.IntRange(0, 2000).Draw(t, "pause")) * time.Millisecond)
				must(t, r.round())
			}
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				r.restart()
			}
		}
		for range 3 {
			c.Move(time.Minute)
			must(t, r.round())
		}
		if !shuffled && r.late == 0 && !sort.SliceIsSorted(r.got, func(i, j int) bool { return r.got[i][2:] < r.got[j][2:] }) {
			t.Fatalf("out of order: %v", r.got)
		}
		sort.Strings(want)
		sort.Strings(r.got)
		if fmt.Sprint(r.got) != fmt.Sprint(want) {
			t.Fatalf("got  %v\nwant %v", r.got, want)
		}
	})
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// Case 11: rows below the horizon are published and counted, and the counter stays 0 when the horizon is wide enough.
func TestCase11_LateRowsAreCounted(t *testing.T) {
	t.Parallel()
	for settle, want := range map[time.Duration]int{0: 1, 5 * time.Second: 0} {
		m, c := newMemory("parent", "child"), newClock()
		r := newReader(m, c, source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySettle, Settle: settle}, PageRows: 10, Parallel: 1})
		m.show("parent", 1, 3)
		check(t, r.round())
		c.Move(2 * time.Second)
		m.show("child", 2) // the writer applies the child two seconds after the parent
		check(t, r.round())
		c.Move(10 * time.Second)
		check(t, r.round())
		if len(r.got) != 3 || r.late != want {
			t.Errorf("settle %s: %v, %d late; want 3 rows, %d late", settle, r.got, r.late, want)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Case 80: a table that fails half-way leaves alone, an error that passes by itself ends the whole reading.
func TestCase80_FailingTable(t *testing.T) {
	t.Parallel()
	m := newMemory("a", "b")
	r := newReader(m, newClock(), source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySettle}, PageRows: 2, Parallel: 1})
	m.show("a", 1, 3, 5)
	m.show("b", 2, 4, 6)
	m.fail["a"] = fault.New(fault.Poison, "row 3", errors.New("cannot be read"), "")
	err := r.round()
	var own *change.TableError
	if !errors.As(err, &own) || own.Table.Name != "a" {
		t.Fatalf("error %v, want table a's", err)
	}
	if fmt.Sprint(r.got) != "[a 00000001 b 00000002 b 00000004 b 00000006]" {
		t.Fatalf("got %v", r.got)
	}
	m.fail["a"] = fault.New(fault.Retry, "read a", errors.New("connection lost"), "")
	if err := r.round(); err == nil || errors.As(err, &own) {
		t.Fatalf("error %v, want one that ends the reading", err)
	}
	m.fail["a"] = nil
	check(t, r.round())
	if len(r.got) != 6 {
		t.Fatalf("got %v", r.got)
	}
}
