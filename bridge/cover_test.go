package bridge_test

import (
	"strings"
	"testing"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/deadletter"
	"ctbridge/bridge/values"
)

// What the rules of columns exclude or mask is in no dead letter either. A letter that they could be applied to is replayed as it is, not masked once
// more; one that they could not be applied to lacks those values, and says so.
func TestLettersUnderRulesOfColumns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deadLetters(0)
	w.rules(values.Rule{Hash: []values.Pattern{named("id")}, Exclude: []values.Pattern{named("fee")}, AllowKey: true})
	w.create("t")
	w.putRow("t", 1, "tx", "poison")
	w.putRow("t", 2, "tx", "undecodable")
	w.putRow("t", 3, "tx", "fine")
	stop := w.start()
	got := w.ledger.wait(t, "all rows", count(3))
	stop()
	unrendered, undecoded := letter(t, got[0]), letter(t, got[1])
	if !unrendered.Told || !unrendered.Complete() || len(unrendered.Event.Table.Columns) != 2 || string(unrendered.Event.After[0].Raw) != hashed("1") {
		t.Errorf("%s", got[0])
	}
	if undecoded.Told || undecoded.Complete() || undecoded.Event.After[0].HasContent() || undecoded.Event.After[2].HasContent() || string(undecoded.Event.After[1].Raw) != "undecodable" {
		t.Errorf("%s", got[1])
	}
	if strings.Contains(got[0]+got[1], "n/a") {
		t.Errorf("a value that is excluded is in a letter:\n%s\n%s", got[0], got[1])
	}
	unrendered.Event.After[1] = change.TextValue([]byte("mended"))
	w.ledger.records = nil
	told, err := w.replay(bridge.ReplayOptions{}, &bridge.Replayed{Offset: 1, Letter: unrendered}, &bridge.Replayed{Offset: 2, Letter: undecoded})
	if err != nil {
		t.Fatal(err)
	}
	w.want(told, "2 stays", "1")
	w.want(w.ledger.records, "t "+hashed("1")+" 1 INSERT +("+hashed("1")+",mended) #0 false v1")
}

func letter(t *testing.T, record string) *deadletter.Letter {
	t.Helper()
	l, err := letterIn(record)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
