package checkpoint_test

import (
	"reflect"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

func TestLoadRoundTrip(t *testing.T) {
	t.Parallel()
	store := make(map[string][]byte)
	s := decoded(t, store)
	table := s.Table(change.TableID{Schema: "a/b", Name: "c d"})
	table.Load = &checkpoint.Load{
		State: checkpoint.LoadRunning, Reason: "initial", Request: "r1", Where: "id > 3", Fresh: true, Fence: "0007", Key: []string{"k", "größe"},
		Cursor: []string{"", "ß\"\\"}, Rows: 10, Total: 20, Begin: now.UTC(),
	}
	table.Touch()
	apply(store, s.Entries())
	again := decoded(t, store)
	if got := again.Table(table.ID).Load; !reflect.DeepEqual(got, table.Load) {
		t.Fatalf("read back %+v", got)
	}
	again.Table(table.ID).Touch()
	for _, e := range again.Entries() {
		if e.Key == "load/a%2Fb/c%20d" {
			t.Error("an unchanged load is written again")
		}
	}
}
