package debezium

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"ctbridge/bridge/change"
)

// The messages of the transaction topic are those of a connector; testdata/real has one of each kind.
func TestRealTransaction(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "real", "postgres-transaction.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, text)
	e, plain := open(t, Postgres, in(JSONSchema)), open(t, Postgres, in(Avro))
	begin := &change.Event{TransactionID: []byte("730:22275512"), After: []change.Value{}, Timestamp: change.InstantValue(1796016532, 488_338_000, 0)}
	end := with(begin, func(ev *change.Event) {
		ev.TransactionID, ev.Counter, ev.Last = []byte("730:22276280"), 2, true
		ev.After = []change.Value{letter(e.Collection(change.TableID{Schema: "shop", Name: "parcel"})), change.IntValue(2)}
	})
	for what, pair := range map[string][2]any{
		"begin":           {parse(t, jsonOf(t, e.DeclareBound(0).Value, begin)), at(want, "begin")},
		"end":             {parse(t, jsonOf(t, e.DeclareBound(1).Value, end)), at(want, "end")},
		"key":             {parse(t, jsonOf(t, e.DeclareBound(1).Key, end)), at(want, "key")},
		"Avro schema":     {parse(t, []byte(schemaOf(t, plain.DeclareBound(0).Value))), at(want, "valueAvro")},
		"Avro key schema": {parse(t, []byte(schemaOf(t, plain.DeclareBound(0).Key))), at(want, "keyAvro")},
	} {
		if where := difference(pair[0], pair[1]); where != "" {
			t.Errorf("%s%s", what, where)
		}
	}
}

// However many tables a transaction has, its messages have one schema, and say the same in both formats.
func TestBoundsOfManyTables(t *testing.T) {
	t.Parallel()
	e := open(t, SQLServer, in(Avro), func(o *Options) { o.Prefix = "eu.erp" })
	if got := e.Collection(change.TableID{Schema: "dbo", Name: "a.b"}); got != "ops.dbo.a.b" {
		t.Error(got)
	}
	schema := schemaOf(t, e.DeclareBound(0).Value)
	for n := range 4 {
		d := e.DeclareBound(n)
		if text := schemaOf(t, d.Value); text != schema {
			t.Errorf("%d tables: %s", n, text)
		}
		ev := &change.Event{TransactionID: []byte("0A"), Last: n > 0, Counter: int64(n), After: []change.Value{}}
		for i := range n {
			ev.After = append(ev.After, letter("ops.dbo.t"), change.IntValue(int64(i)))
		}
		var message struct {
			Status      string `json:"status"`
			EventCount  *int   `json:"event_count"`
			Collections []any  `json:"data_collections"`
		}
		text := jsonOf(t, d.Value, ev)
		if err := json.Unmarshal(text, &message); err != nil {
			t.Fatal(err)
		}
		if (message.Status == "END") != (n > 0) || (message.EventCount != nil) != (n > 0) || len(message.Collections) != n {
			t.Errorf("%d tables: %s", n, text)
		}
		if items, _ := at(decode(t, schema, avroOf(t, d.Value, ev)), "data_collections").([]any); len(items) != n {
			t.Errorf("%d tables: %v", n, items)
		}
	}
}
