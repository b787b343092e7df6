package checkpoint_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

var now = time.Unix(1_700_000_000, 0)

// apply keeps entries as a store would.
func apply(store map[string][]byte, entries []checkpoint.Entry) {
	for _, e := range entries {
		if e.Value == nil {
			delete(store, e.Key)
		} else {
			store[e.Key] = e.Value
		}
	}
}

func decoded(t interface{ Fatal(...any) }, store map[string][]byte) *checkpoint.State {
	s, err := checkpoint.Decode(store, checkpoint.Shard{}, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStateRoundTrip(t *testing.T) {
	t.Parallel()
	store := make(map[string][]byte)
	s := decoded(t, store)
	awkward := change.TableID{Schema: "ops/main", Name: "Acme Ltd$Item.Ledger/größe %41"}
	for _, id := range []change.TableID{awkward, {Name: "plain"}, {Schema: "a", Name: "b.c"}, {Schema: "a.b", Name: "c"}} {
		table := s.Table(id)
		table.Position, table.Announced, table.Identity = "0002", []string{"5D"}, "oid 7"
		table.Restructure([]change.Column{{Name: "a"}}, []byte("memo 1"), "")
		table.Restructure([]change.Column{{Name: "a"}, {Name: "größe", Type: change.Type{Kind: change.Numeric, Precision: 9, Scale: 2}}}, []byte("memo 2"), "0005")
		table.Window.Add("0001", now)
		table.Window.Add("0002", now)
		table.Touch()
	}
	s.Task = checkpoint.Task{Position: "0002", Transactions: []checkpoint.Transaction{{ID: "t1", Counter: 4}}}
	s.Layout = []byte("msb")
	apply(store, s.Entries())
	again := decoded(t, store)
	if !reflect.DeepEqual(again.Task, s.Task) || string(again.Layout) != "msb" || len(again.Tables) != 4 {
		t.Fatalf("read back %+v", again)
	}
	table := again.Table(awkward)
	if table.Position != "0002" || !slices.Equal(table.Announced, []string{"5D"}) || table.Identity != "oid 7" || table.Verified != "0005" || table.Window.Rows() != 2 {
		t.Fatalf("read back %+v", table)
	}
	if !reflect.DeepEqual(table.Structures, s.Table(awkward).Structures) || len(table.Structures) != 2 || table.Newest().Version != 2 {
		t.Fatalf("structures read back %+v", table.Structures)
	}
	if got := again.Entries(); len(got) != 0 {
		t.Fatalf("an unchanged state writes %v", got)
	}
}

// One commit writes only what moved, whatever the number of tables.
func TestEntriesHoldOnlyWhatMoved(t *testing.T) {
	t.Parallel()
	store := make(map[string][]byte)
	s := decoded(t, store)
	for n := range 1000 {
		table := s.Table(change.TableID{Name: fmt.Sprint("t", n)})
		table.Position = "1"
		table.Touch()
	}
	apply(store, s.Entries())
	s.Table(change.TableID{Name: "t7"}).Touch()
	if got := s.Entries(); len(got) != 2 {
		t.Fatalf("%d entries for one table that moved, want its record and the task's", len(got))
	}
}

func TestDamagedAndForeignRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{
		"task":            `{"v":99}`,
		"table/a/b":       `{`,
		"table/a":         `{"v":1}`,
		"table/a/":        `{"v":1}`,
		"table/%zz/a":     `{"v":1}`,
		"structure/a/b":   `{"v":1,"columns":[{}]}`,
		"structure/a/b/1": `{"v":1}`,
		"window/a/b/x":    `{"v":1}`,
		"window/a/b/1":    `{"v":1,"positions":"AQ=="}`,
		"window/a/b/2":    `{"v":1,"positions":"!"}`,
		"load/a":          `{"v":1,"state":"done"}`,
		"load/a/b":        `{"v":1,"state":"odd"}`,
		"load/a/c":        `{"v":2,"state":"done"}`,
		"other":           `{}`,
	} {
		_, err := checkpoint.Decode(map[string][]byte{key: []byte(value)}, checkpoint.Shard{}, now)
		if fault.ClassOf(err) != fault.Fatal || err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s %s: error %v, want a fatal one that names the key", key, value, err)
		}
	}
}

// A structure lives in the store as long as rows of it may be unread.
func TestStructuresAreOutlived(t *testing.T) {
	t.Parallel()
	store := make(map[string][]byte)
	s := decoded(t, store)
	table := s.Table(change.TableID{Name: "a"})
	table.Restructure([]change.Column{{Name: "a"}}, nil, "")
	table.Restructure([]change.Column{{Name: "b"}}, nil, "5")
	table.Position = "4"
	table.Outlive()
	apply(store, s.Entries())
	if n := len(decoded(t, store).Table(table.ID).Structures); n != 2 {
		t.Fatalf("%d structures, want both: row 5 is unread", n)
	}
	table.Position = "5"
	table.Outlive()
	apply(store, s.Entries())
	again := decoded(t, store).Table(table.ID)
	if len(again.Structures) != 1 || again.Newest().Version != 2 || again.Newest().Columns[0].Name != "b" {
		t.Fatalf("structures %+v, want only the newest", again.Structures)
	}
}

func TestVersionNewerThanTheProgram(t *testing.T) {
	t.Parallel()
	_, err := checkpoint.Decode(map[string][]byte{"table/a/b": []byte(`{"v":3}`)}, checkpoint.Shard{}, now)
	if err == nil || !strings.Contains(err.Error(), "format version 3, this program reads 1 to 2") {
		t.Fatalf("error %v", err)
	}
}

// A window read back from its entries, however often it was written, knows the same positions above its floor.
func TestWindowSurvivesItsEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store := make(map[string][]byte)
		s := decoded(t, store)
		id := change.TableID{Name: "a"}
		clock := now
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			table := s.Table(id)
			for range rapid.IntRange(0, 900).Draw(t, "adds") {
				table.Window.Add(change.Position(fmt.Sprintf("%05d", rapid.IntRange(0, 99999).Draw(t, "position"))), clock)
			}
			clock = clock.Add(time.Second)
			table.Window.Expire(clock.Add(-5*time.Second), 5000)
			table.Touch()
			apply(store, s.Entries())
			again := decoded(t, store).Table(id)
			if again.Window.Floor() != table.Window.Floor() || again.Window.Rows() != table.Window.Rows() ||
				!reflect.DeepEqual(again.Window.Counts(), table.Window.Counts()) {
				t.Fatalf("floor %s rows %d, read back floor %s rows %d", table.Window.Floor(), table.Window.Rows(), again.Window.Floor(), again.Window.Rows())
			}
			for p := range table.Window.Counts() {
				if p <= table.Window.Floor() {
					t.Fatalf("position %s at or below the floor %s", p, table.Window.Floor())
				}
			}
			if rapid.Bool().Draw(t, "restart") {
				s = decoded(t, store)
			}
		}
	})
}

func TestWindowExpires(t *testing.T) {
	t.Parallel()
	var w checkpoint.Window
	for n := range 5000 {
		w.Add(change.Position(fmt.Sprintf("%05d", n)), now.Add(time.Duration(n)*time.Millisecond))
	}
	w.Expire(now, 1<<20)
	if w.Rows() != 5000 || w.Floor() != "" {
		t.Fatalf("nothing is old yet: %d rows, floor %q", w.Rows(), w.Floor())
	}
	w.Expire(now.Add(3*time.Second), 1<<20)
	if w.Floor() != "01999" || w.Rows() != 3000 {
		t.Fatalf("floor %q, %d rows", w.Floor(), w.Rows())
	}
	w.Expire(now, 1000)
	if w.Size() > 1000 {
		t.Fatalf("%d positions held, more than the limit", w.Size())
	}
}

// The bound is that of all windows together; what is given up is the oldest, wherever it lies.
func TestShrink(t *testing.T) {
	t.Parallel()
	windows := []*checkpoint.Window{{}, {}, {}}
	for n := range 9000 { // in turns, the last table with rows of the beginning only
		w := windows[n%2]
		if n < 300 && n%3 == 0 {
			w = windows[2]
		}
		w.Add(change.Position(fmt.Sprintf("%05d", n)), now.Add(time.Duration(n)*time.Millisecond))
	}
	checkpoint.Shrink(windows, 9000)
	for _, w := range windows {
		if w.Floor() != "" {
			t.Errorf("floor %q although the bound is kept", w.Floor())
		}
	}
	checkpoint.Shrink(windows, 6000)
	if got := windows[0].Size() + windows[1].Size() + windows[2].Size(); got > 6000 || got < 3000 {
		t.Errorf("%d positions held, the bound is 6000", got)
	}
	if windows[2].Size() != 0 || windows[2].Floor() != "00297" {
		t.Errorf("the oldest rows are still held: %d, floor %q", windows[2].Size(), windows[2].Floor())
	}
	checkpoint.Shrink(windows, 0)
	if windows[0].Rows()+windows[1].Rows() != 0 {
		t.Error("rows are held although none may be")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("table/a/b", []byte(`{"v":1,"position":"1"}`))
	f.Add("window/a/b/1", []byte(`{"v":1,"positions":"AAIwMQ=="}`))
	f.Add("task", []byte(`{"v":1,"transactions":[{"id":"x","counter":1}]}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		s, err := checkpoint.Decode(map[string][]byte{key: value}, checkpoint.Shard{}, now)
		if err != nil {
			if fault.ClassOf(err) != fault.Fatal {
				t.Fatalf("class %s", fault.ClassOf(err))
			}
			return
		}
		for _, table := range s.Tables {
			table.Touch()
		}
		for _, e := range s.Entries() {
			if e.Value != nil && e.Key != "layout" && !json.Valid(e.Value) {
				t.Fatalf("entry %s is not JSON: %q", e.Key, e.Value)
			}
		}
	})
}
