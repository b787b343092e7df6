package bridge_test

import (
	"testing"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// A preview is what the runner publishes of the same row.
func TestPreviewIsWhatIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Envelope, w.output().Format, w.output().Tombstones, w.options.Headers = titled{plain{split: true}}, counted{}, true, counted{}
	w.output().MetadataTopic = "meta"
	w.create("a")
	w.add("a", "B", 1, "t1", 5, "x")
	w.add("a", "U", 1, "t1", 6, "x")
	w.start()
	published := w.ledger.wait(t, "all records", count(4)) // metadata, DELETE, tombstone, INSERT

	table := change.NewTable(change.TableID{Name: "a"}, 1, []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}, KeyPosition: 1}, {Name: "status", Type: change.Type{Kind: change.String}},
	})
	row := func(id int64) []change.Value {
		return []change.Value{change.IntValue(id), change.TextValue([]byte("x"))}
	}
	ev := &change.Event{Table: table, Op: change.OpUpdate, Position: "20310510160000000000000000000000001", TransactionID: []byte("t1"), Before: row(5), After: row(6)}
	metadata, records, err := bridge.Preview(t.Context(), *w.output(), w.options.Headers, nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	again := newLedger()
	again.open = true
	for _, r := range append(metadata, records...) {
		if err := again.Publish(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
	w.want(again.pending, published...)
}

func TestPreviewTellsWhatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().KeyMode, w.output().KeyColumns = envelope.KeyColumns, func(change.TableID) []string { return []string{"nothing"} }
	if _, _, err := bridge.Preview(t.Context(), *w.output(), nil, nil, &change.Event{Table: change.NewTable(change.TableID{Name: "a"}, 1, nil)}); err == nil {
		t.Error("a key column that does not exist passed")
	}
}
