package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// full is a checkpoint with a record of every kind and every part.
func full(t testing.TB) map[string][]byte {
	t.Helper()
	s, err := checkpoint.Decode(nil, checkpoint.Shard{}, now)
	if err != nil {
		t.Fatal(err)
	}
	table := s.Table(change.TableID{Schema: "ops/main", Name: "größe %41"})
	table.Position, table.Announced, table.Identity, table.Seen, table.Purged, table.Filter = "0003", []string{"5D", "6E"}, "oid 7", "0009", true, "f"
	table.Restructure([]change.Column{{Name: "a", Native: "int", Type: change.Type{Kind: change.Int4}, KeyPosition: 1}}, []byte("memo 1"), "")
	table.Restructure([]change.Column{{Name: "a", KeyPosition: 1}, {Name: "b", Type: change.Type{Kind: change.Numeric, Precision: 9, Scale: 2}}}, []byte("memo 2"), "0005")
	table.Window.Add("0001", now)
	table.Window.Add("0002", now)
	table.Transactions = []checkpoint.Transaction{{ID: "t1", Counters: map[string]int64{"qlik": 1, "debezium": 3}}}
	table.Load = &checkpoint.Load{State: checkpoint.LoadRunning, Reason: "initial", Fence: "0001", Key: []string{"a"}, Cursor: []string{"5"}, Rows: 5, Total: 9, Begin: now.UTC()}
	s.Task = checkpoint.Task{Position: "0003", Requests: 4, Transactions: []checkpoint.Transaction{{ID: "t1", Counter: 4}}, Outputs: []string{"qlik", "debezium"}}
	s.Layout = []byte("msb")
	table.Touch()
	store := map[string][]byte{}
	apply(store, s.Entries())
	for _, kind := range []string{"task", "table/", "structure/", "window/", "load/", "layout"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(store)), func(key string) bool { return strings.HasPrefix(key, kind) }) {
			t.Fatalf("no record %s in %q", kind, slices.Collect(maps.Keys(store)))
		}
	}
	return store
}

// with is the checkpoint with one record changed.
func with(store map[string][]byte, key string, value []byte) map[string][]byte {
	out := maps.Clone(store)
	out[key] = value
	return out
}

// told expects an error that names the record and how to mend it.
func told(t *testing.T, store map[string][]byte, key, what string) {
	t.Helper()
	_, err := checkpoint.Decode(store, checkpoint.Shard{}, now)
	if fault.ClassOf(err) != fault.Fatal || err == nil || !strings.Contains(err.Error(), key[:4]) || !strings.Contains(fault.HintOf(err), "restore the checkpoint from a copy") {
		t.Errorf("%s %s: %v", key, what, err)
	}
}

// A record that was cut, garbled, written by a later program or moved to another key is told, never left out.
func TestDamagedRecordsAreTold(t *testing.T) {
	t.Parallel()
	store := full(t)
	for key, value := range store {
		if key == "layout" {
			continue // the layout's own: it judges it
		}
		for n := range value {
			told(t, with(store, key, value[:n]), key, "cut to "+string(value[:n]))
		}
		later := bytes.Replace(value, []byte(`"v":`), []byte(`"v":9`), 1)
		told(t, with(store, key, later), key, "of a later program")
		for _, other := range []string{"null", "[]", `"x"`, "1", "\x00", `{"v":0}`, `{"v":-1}`, `{"v":1e99}`, "{}", "{\"v\":1}"} {
			told(t, with(store, key, []byte(other)), key, "as "+other)
		}
	}
	for _, key := range []string{"", "tabel/a/b", "table/", "table/a", "table/a/", "table/a/b/c", "table/%zz/b", "structure/a/b/x", "structure/a/b/-1", "structure/a/b", "window/a/b/", "load/a/b/c", "task/", "task/x", "task/-1"} {
		if _, err := checkpoint.Decode(with(store, key, []byte(`{"v":1}`)), checkpoint.Shard{}, now); fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), "checkpoint record") {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// What is always written has to be there: without it a table would begin anew, or a counter count from zero.
func TestRecordsThatLostAPart(t *testing.T) {
	t.Parallel()
	store := full(t)
	optional := map[string]bool{ // left out where they are empty
		"upto": true, "memo": true, "shape": true, "announced": true, "identity": true, "seen": true, "purged": true, "filter": true, "transactions": true, "requests": true,
		"outputs": true, "sequence": true, "moved": true, "reason": true, "request": true, "note": true, "where": true, "fresh": true, "key": true, "cursor": true, "total": true,
		"rejoin": true, "begin": true, "end": true,
	}
	for key, value := range store {
		var parts map[string]json.RawMessage
		if json.Unmarshal(value, &parts) != nil {
			continue
		}
		for name := range parts {
			if optional[name] {
				continue
			}
			lost := maps.Clone(parts)
			delete(lost, name)
			text, _ := json.Marshal(lost)
			told(t, with(store, key, text), key, "without "+name)
			lost[name] = json.RawMessage("null")
			text, _ = json.Marshal(lost)
			told(t, with(store, key, text), key, "with null as "+name)
		}
	}
	id := "table/ops%2Fmain/gr%C3%B6%C3%9Fe%20%2541"
	told(t, with(store, "table/ops/other", store[id]), "table", "under another key")
	for key, parts := range map[string][2]string{
		"task": {`"counter":4`, `"counter":-4`}, id: {`"qlik":1`, `"qlik":-1`}, strings.Replace(id, "table", "load", 1): {`"rows":5`, `"rows":-5`},
		strings.Replace(id, "table", "structure", 1) + "/2": {`"Kind":12`, `"Kind":200`}, strings.Replace(id, "table", "structure", 1) + "/1": {`"KeyPosition":1`, `"KeyPosition":7`},
	} {
		broken := bytes.Replace(store[key], []byte(parts[0]), []byte(parts[1]), 1)
		if bytes.Equal(broken, store[key]) {
			t.Fatalf("%s holds no %s: %s", key, parts[0], store[key])
		}
		told(t, with(store, key, broken), key, "with "+parts[1])
	}
}

// Records of the first program, before outputs, loads, filters and shards, are read as they were meant.
func TestRecordsOfOldPrograms(t *testing.T) {
	t.Parallel()
	old := map[string][]byte{
		"task":            []byte(`{"v":1,"position":"0002","transactions":[{"id":"t1","counter":4}]}`),
		"table/a/b":       []byte(`{"v":1,"schema":"a","name":"b","position":"0002","floor":"0001","verified":"0002","announced":"5D","identity":"oid 7"}`),
		"structure/a/b/1": []byte(`{"v":1,"columns":[{"Name":"c","Type":{"Kind":4,"Length":0,"Precision":0,"Scale":0},"Native":"int","Nullable":false,"KeyPosition":1}]}`),
		"window/a/b/0":    []byte(`{"v":1,"positions":"AAQwMDAy"}`),
		"layout":          []byte("lsb"),
	}
	s := decoded(t, old)
	table := s.Tables[change.TableID{Schema: "a", Name: "b"}]
	if s.Task.Position != "0002" || s.Task.Transactions[0].Of("any") != 4 || table.Position != "0002" || !reflect.DeepEqual(table.Announced, []string{"5D"}) ||
		table.Newest().Columns[0].Type.Kind != change.Int4 || table.Window.Counts()["0002"] != 1 || string(s.Layout) != "lsb" {
		t.Errorf("read as %+v, %+v", s, table)
	}
}

// What can be read is written and read again without a change.
func FuzzRecords(f *testing.F) {
	for key, value := range full(f) {
		f.Add(key, value)
	}
	f.Add("task/7", []byte(`{"v":1,"position":"0002","sequence":"5","moved":true}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		first, err := checkpoint.Decode(map[string][]byte{key: value}, checkpoint.Shard{}, now)
		if err != nil {
			if fault.ClassOf(err) != fault.Fatal || fault.HintOf(err) == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		once := rewritten(first)
		second, err := checkpoint.Decode(once, checkpoint.Shard{}, now)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if twice := rewritten(second); len(first.Tables) == len(second.Tables) && !maps.EqualFunc(once, twice, bytes.Equal) {
			t.Fatalf("%s\nbecomes %s\nthen %s", value, once, twice)
		}
		for _, table := range second.Tables {
			for _, s := range table.Structures {
				change.NewTable(table.ID, s.Version, s.Columns)
			}
			table.Window.Expire(now.Add(time.Hour), 10)
		}
	})
}

// rewritten is all of a state as a store has it.
func rewritten(s *checkpoint.State) map[string][]byte {
	for _, table := range s.Tables {
		table.Touch()
	}
	store := map[string][]byte{}
	for _, e := range s.Entries() {
		if !strings.HasPrefix(e.Key, "load/") && !strings.HasPrefix(e.Key, "layout") { // these are written when they change
			store[e.Key] = e.Value
		}
	}
	return store
}
