package checkpoint_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// A reset is asked for by an entry of its own, is settled once, and outlives what the table's own entries become.
func TestResetsAreKept(t *testing.T) {
	t.Parallel()
	store := map[string][]byte{}
	id := change.TableID{Schema: "a/b", Name: "c d"}
	s := decoded(t, store)
	s.Table(id).Position = "5"
	s.Table(id).Touch()
	apply(store, s.Entries())
	asked := checkpoint.Reset{ID: "r1", To: checkpoint.ResetAcceptGap, Hole: &checkpoint.Hole{Kind: "rows_purged", From: "5", To: "8"}, By: "ann", Reason: "a test", Asked: now.UTC()}
	e := decoded(t, store).Table(id).Ask(asked)
	if e.Key != "reset/a%2Fb/c%20d" {
		t.Errorf("key %s", e.Key)
	}
	s.Table(id).Touch() // the owner, who has not read it, writes on
	apply(store, []checkpoint.Entry{e})
	apply(store, s.Entries())
	s = decoded(t, store)
	table := s.Table(id)
	if !reflect.DeepEqual(table.Resets.Pending, &asked) || table.Position != "5" {
		t.Fatalf("read back %+v", table.Resets.Pending)
	}
	if found, done := table.Resets.Find("r1"); found == nil || done {
		t.Error("it is not pending")
	}
	table.Resets.Pending.Task = "7"
	table.Resets.Settle(now, "8", "")
	table.Touch()
	apply(store, s.Entries())
	again := decoded(t, store).Table(id)
	found, done := again.Resets.Find("r1")
	if !done || found.Became != "8" || !found.Done.Equal(now) || again.Resets.Pending != nil || again.Resets.Again() != "7" {
		t.Fatalf("read back %+v", again.Resets)
	}
	for n := range 100 {
		again.Resets.Pending = &checkpoint.Reset{ID: fmt.Sprint("q", n)}
		again.Resets.Settle(now, "", "no")
	}
	if len(again.Resets.Done) != 32 || again.Resets.Done[31].ID != "q99" {
		t.Errorf("%d are kept", len(again.Resets.Done))
	}
}

// A forgotten table leaves nothing but who moved it; one of which something is known by then begins as a new one.
func TestForgottenTable(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		store := map[string][]byte{}
		id := change.TableID{Name: "t"}
		s := decoded(t, store)
		table := s.Table(id)
		table.Restructure([]change.Column{{Name: "a"}}, nil, "")
		table.Restructure([]change.Column{{Name: "b"}}, nil, "5")
		table.Position, table.Identity, table.Announced = "7", "oid 1", []string{"x"}
		table.Load = &checkpoint.Load{State: checkpoint.LoadDone}
		table.Window.Add("7", now)
		table.Resets.Pending = &checkpoint.Reset{ID: "r1", To: checkpoint.ResetForget}
		table.Touch()
		apply(store, s.Entries())
		s = decoded(t, store)
		table = s.Table(id)
		table.Resets.Settle(now, "", "")
		table.Touch()
		table.Forget()
		if known {
			table.Restructure([]change.Column{{Name: "b"}}, nil, "")
		}
		apply(store, s.Entries())
		var keys []string
		for key := range store {
			if strings.HasPrefix(key, "table/") || strings.HasPrefix(key, "structure/") || strings.HasPrefix(key, "window/") || strings.HasPrefix(key, "load/") {
				keys = append(keys, key)
			}
		}
		again := decoded(t, store).Table(id)
		if _, done := again.Resets.Find("r1"); !done || again.Position != "" || again.Load != nil || again.Window.Rows() != 0 || again.Identity != "" {
			t.Errorf("known %v: read back %+v", known, again)
		}
		if want := map[bool]int{false: 0, true: 2}[known]; len(keys) != want {
			t.Errorf("known %v: the store keeps %v", known, keys)
		}
		if known && again.Newest().Version != 1 {
			t.Errorf("it begins with version %d", again.Newest().Version)
		}
	}
}
