package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"ctbridge/test/qlikwriter"
)

// One task publishes its rows in three envelopes as Avro; the Confluent client reads all of them.
func TestThreeEnvelopesReadByAnotherClient(t *testing.T) {
	t.Parallel()
	db := postgres(t)
	s := typed(db.Dialect)
	db.Create(t, s)
	row := []any{1, "größe", "0.10", "1993-11-25", "2023-03-21 14:34:21.000001", 0.1, []byte{0, 255}, true}
	moved := append([]any{2}, row[1:]...)
	add := func(n int, oper string, values []any) {
		db.Add(t, db.DB, s, qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: oper, Tx: "60008", Values: values})
	}
	add(1, "I", row)
	add(2, "B", row)
	add(2, "U", moved)
	add(3, "D", moved)
	b := newBridge(t, db, registry(t)+`
envelopes:
  - qlik
  - {envelope: datastream, topic: "{task}.datastream.{table}"}
  - {envelope: debezium, topic: "{task}.debezium.{table}"}
`)
	b.start()
	// The key changes: Qlik tells an UPDATE, Datastream two events, Debezium two with a tombstone behind each delete.
	qlik, datastream, debezium := b.until(3, "typed"), b.until(4, "datastream.typed"), b.until(6, "debezium.typed")
	b.stop()
	if len(qlik) != 3 || len(datastream) != 4 || len(debezium) != 6 {
		t.Fatalf("%d, %d and %d messages", len(qlik), len(datastream), len(debezium))
	}
	holds(t, qlik[0].event(t).Data, map[string]any{"name": "größe", "fee": "0.10", "born": "1993-11-25"})
	payload := map[string]any{"name": "größe", "fee": "0.10", "born": "1993-11-25", "ratio": 0.1, "raw": "hex:00ff", "flag": true}
	var types []string
	for _, m := range datastream {
		event := decoded(t, m)
		metadata := event["source_metadata"].(map[string]any)
		types = append(types, fmt.Sprintf("%v %v %v", metadata["change_type"], metadata["is_deleted"], event["payload"].(map[string]any)["id"]))
	}
	same(t, "Datastream's events", types, "DELETE true 2", "INSERT false 1", "UPDATE-DELETE true 1", "UPDATE-INSERT false 2")
	holds(t, decoded(t, datastream[0])["payload"].(map[string]any), payload)
	var ops []string
	for _, m := range debezium {
		if string(m.Value) == "null" {
			ops = append(ops, "tombstone")
			continue
		}
		event := decoded(t, m)
		ops = append(ops, fmt.Sprintf("%v %v", event["op"], event["source"].(map[string]any)["connector"]))
	}
	same(t, "Debezium's events", ops, "c postgresql", "c postgresql", "d postgresql", "d postgresql", "tombstone", "tombstone")
}

func decoded(t *testing.T, m message) (event map[string]any) {
	t.Helper()
	if err := json.Unmarshal(m.Value, &event); err != nil {
		t.Fatalf("%s: %v", m.Value, err)
	}
	return event
}

// holds checks members of a row.
func holds(t *testing.T, row, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if fmt.Sprint(row[name]) != fmt.Sprint(value) {
			t.Errorf("%s is %v, want %v", name, row[name], value)
		}
	}
}

// same compares without order: the rows of two keys may lie in two partitions.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
