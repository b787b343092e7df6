package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ctbridge/sink/kafka"
)

// brief says of a message of any envelope: its key, its operation, the rows' ids, its place in the transaction.
func brief(t testing.TB, m *kafka.Message, decode func([]byte) tree) string {
	t.Helper()
	if m.Value == nil {
		return string(m.Key) + " tombstone"
	}
	o := decode(m.Value)
	id := func(row any) any {
		if r, ok := row.(tree); ok {
			return r["id"]
		}
		return nil
	}
	switch {
	case o["op"] != nil:
		transaction := o["transaction"].(tree)
		return fmt.Sprintf("%s %s %v>%v #%v/%v", m.Key, o["op"], id(o["before"]), id(o["after"]), transaction["total_order"], transaction["data_collection_order"])
	case o["source_metadata"] != nil:
		return fmt.Sprintf("%s %s %v", m.Key, o["source_metadata"].(tree)["change_type"], id(o["payload"]))
	}
	data := inner(o)
	headers := data["headers"].(tree)
	return fmt.Sprintf("%s %s %v>%v #%v", m.Key, headers["operation"], id(data["beforeData"]), id(data["data"]), headers["transactionEventCounter"])
}

func briefs(t testing.TB, messages []*kafka.Message, decode func([]byte) tree) (out []string) {
	t.Helper()
	for _, m := range messages {
		out = append(out, brief(t, m, decode))
	}
	return out
}

func asJSON(t testing.TB) func([]byte) tree {
	return func(value []byte) tree { return decodeJSON(t, value) }
}

// Three envelopes at once, over a restart in the middle of a transaction: each has all rows in its own topics and counts by itself. The key change
// of case 75 is one event in one of them and two in the others.
func TestCase75_ThreeEnvelopesAtOnce(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	envelopes := set{"envelopes": "[qlik, debezium, datastream]", "kafka.topics.data.partitions": "3"}
	s.add("parcel", "I", 30, "t1", 5, "a", nil)
	s.add("parcel", "B", 31, "t1", 5, "a", nil)
	s.add("parcel", "U", 31, "t1", 6, "a", nil)
	s.add("depot", "I", 32, "t1", 1, "a", nil)
	r := s.start(envelopes)
	s.readTopics(3, s.task+".parcel", s.task+".depot")
	r.drain()
	s.add("parcel", "D", 33, "t1", 6, "a", nil)
	s.add("parcel", "I", 34, "t2", 7, "a", nil)
	s.start(envelopes)
	byKey := func(messages []*kafka.Message) (five, six, seven []string) {
		for _, m := range messages {
			line := brief(t, m, asJSON(t))
			switch {
			case strings.Contains(string(m.Key), "5"):
				five = append(five, line)
			case strings.Contains(string(m.Key), "6"):
				six = append(six, line)
			default:
				seven = append(seven, line)
			}
		}
		return five, six, seven
	}
	five, six, seven := byKey(s.read(4, "parcel"))
	want(t, five, "5 INSERT <nil>>5 #1")
	want(t, six, "6 UPDATE 5>6 #2", "6 DELETE <nil>>6 #4")
	want(t, seven, "7 INSERT <nil>>7 #1")
	five, six, seven = byKey(s.readTopics(7, "debezium."+s.task+".parcel"))
	want(t, five, `{"id":5} c <nil>>5 #1/1`, `{"id":5} d 5><nil> #2/2`, `{"id":5} tombstone`)
	want(t, six, `{"id":6} c <nil>>6 #3/3`, `{"id":6} d 6><nil> #5/4`, `{"id":6} tombstone`)
	want(t, seven, `{"id":7} c <nil>>7 #1/1`)
	five, six, seven = byKey(s.readTopics(5, "datastream."+s.task+".parcel"))
	want(t, five, "5 INSERT 5", "5 UPDATE-DELETE 5")
	want(t, six, "6 UPDATE-INSERT 6", "6 DELETE 6")
	want(t, seven, "7 INSERT 7")
	want(t, briefs(t, s.readTopics(1, "debezium."+s.task+".depot"), asJSON(t)), `{"id":1} c <nil>>1 #4/1`)
}

// A tombstone lies in the partition of its DELETE and behind it, whatever the format of keys.
func TestTombstonesFollowTheirDeletes(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json", "avro"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("parcel")
			for id := range 20 {
				s.add("parcel", "I", 2*id+1, "t1", id, "x", nil)
				s.add("parcel", "D", 2*id+2, "t1", id, "x", nil)
			}
			s.start(s.avro(), set{"tombstones": "true", "key.format": format, "kafka.topics.data.partitions": "6"})
			seen := map[string][]*kafka.Message{}
			for _, m := range s.read(60, "parcel") {
				seen[string(m.Key)] = append(seen[string(m.Key)], m)
			}
			if len(seen) != 20 {
				t.Fatalf("%d keys", len(seen))
			}
			for key, of := range seen {
				if len(of) != 3 || of[0].Value == nil || of[1].Value == nil || of[2].Value != nil || of[1].Partition != of[2].Partition || of[1].Offset >= of[2].Offset {
					t.Errorf("key %q: %s", key, shown(of))
				}
			}
		})
	}
}

// Case 75: the message key is a column that is not in the primary key, and changes.
func TestCase75_ChosenKeyChanges(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	s.add("parcel", "B", 2, "t1", 1, "a", nil)
	s.add("parcel", "U", 2, "t1", 1, "b", nil)
	s.add("depot", "I", 3, "t1", 9, "x", nil)
	s.start(s.avro(), set{
		"envelopes":   `[{envelope: debezium, name: dbz}, {envelope: datastream, format: json}, {envelope: qlik, format: json}]`,
		"key":         `{mode: columns, columns: {parcel: [status, id]}}`,
		"kafka.topic": `"{task}.{envelope}.{table}"`, "qlik.key_change": "delete_insert", "tombstones": "true",
	})
	dbz := s.readTopics(4, s.task+".dbz.parcel")
	for i, status := range []string{"a", "a", "a", "b"} {
		if key := s.decodeRegistered(dbz[i].Key); key["status"] != status || len(key) != 2 {
			t.Errorf("key %d: %v", i, key)
		}
	}
	if dbz[2].Value != nil {
		t.Errorf("no tombstone of the old key: %s", shown(dbz))
	}
	want(t, keysOf(s.readTopics(4, s.task+".datastream.parcel")), "a|1", "a|1", "a|1", "b|1")
	want(t, keysOf(s.readTopics(4, s.task+".qlik.parcel")), "a|1", "a|1", "a|1", "b|1")
	want(t, keysOf(s.readTopics(1, s.task+".qlik.depot")), "9") // nothing chosen: the primary key
}

// Record headers are JSON, and tell each half of a changed key the key of the other.
func TestHeadersOfAChangedKey(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "B", 1, "t1", 5, "a", nil)
	s.add("parcel", "U", 1, "t1", 6, "a", nil)
	s.start(set{"envelope": "debezium"})
	got := s.read(3, "parcel")
	for i, want := range []string{`__debezium.newkey={"id":6}`, `__debezium.newkey={"id":6}`, `__debezium.oldkey={"id":5}`} {
		if len(got[i].Headers) != 1 || got[i].Headers[0].Name+"="+string(got[i].Headers[0].Value) != want || !json.Valid(got[i].Headers[0].Value) {
			t.Errorf("headers of record %d: %v, want %s", i, got[i].Headers, want)
		}
	}
}

// Subjects by template tell tables apart whose names are adjusted.
func TestSubjectTemplates(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "a b", "a_b")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	s.add("a b", "I", 2, "t2", 1, "a", nil)
	s.add("a_b", "I", 3, "t3", 1, "a", nil)
	s.start(s.avro(), set{
		"schema_registry.subject_strategy": `"cdc.{envelope}.{record}.{part}"`, "key.format": "avro",
		"qlik.names.table_namespace": `"{table}"`,
	})
	s.read(1, "parcel")
	s.read(1, "a_u0020b")
	s.read(1, "a_b")
	var subjects []string
	s.get(s.RegistryURL()+"/subjects", &subjects)
	text := strings.Join(subjects, " ")
	for _, subject := range []string{"cdc.qlik.parcel.DataRecord.value", "cdc.qlik.parcel.KeyRecord.key", "cdc.qlik.a_u0020b.DataRecord.value", "cdc.qlik.a_b.DataRecord.value"} {
		if !strings.Contains(text, subject) {
			t.Errorf("subjects %s: no %s", text, subject)
		}
	}
}
