package bridge_test

import (
	"errors"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// noting keeps where each row of a full load stood.
type noting struct {
	plain
	loads *[]change.Load
}

func (n noting) Expand(dst []*change.Event, ev *change.Event) []*change.Event {
	if ev.Load != nil {
		*n.loads = append(*n.loads, *ev.Load)
	}
	return append(dst, ev)
}

// A load that is resumed after a kill has the same beginning and goes on counting behind what it has committed: what is made from both is the
// same for a row that is sent again.
func TestRowsKnowTheirLoad(t *testing.T) {
	t.Parallel()
	w := loading(t, 5)
	var loads []change.Load
	w.output().Envelope = noting{loads: &loads}
	w.create("parcel")
	w.preload("parcel", 20)
	w.ledger.onCommit = func(n int) error {
		if n == 3 { // the second chunk is rendered, and not committed
			return fault.New(fault.Fatal, "sink", errors.New("killed"), "")
		}
		return nil
	}
	w.ends("killed")
	before := len(loads)
	stop := w.start()
	w.ledger.wait(t, "all rows", count(20))
	stop()
	committed := loads[before].Row - 1
	if before != int(committed)+5 {
		t.Fatalf("%d rows before the kill, resumed at row %d: the chunk that was lost has five", before, committed+1)
	}
	for i, at := range append(loads[:committed:committed], loads[before:]...) {
		if at.Row != int64(i)+1 || at.Begin.Kind != change.KindInstant || !at.Begin.Equal(loads[0].Begin) || at.Fence != loads[0].Fence {
			t.Errorf("row %d: %+v, the first was %+v", i+1, at, loads[0])
		}
	}
}
