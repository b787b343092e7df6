package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// The transaction topic of Debezium messages, in Avro and over a restart: each transaction has one BEGIN and one END, whose counts are those of the
// messages, an update of the key counting as two.
func TestTransactionTopic(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	config := set{
		"envelope": "debezium", "debezium.transaction_topic": `"{task}.transaction"`, "commit.max_records": "1", "kafka.topics.data.partitions": "1",
	}
	s.add("parcel", "I", 1, "t1", 5, "a", nil)
	s.add("parcel", "B", 2, "t1", 5, "a", nil)
	s.add("parcel", "U", 2, "t1", 6, "a", nil)
	s.add("depot", "I", 3, "t1", 1, "a", nil)
	r := s.start(s.avro(), config)
	s.readTopics(4, s.task+".parcel") // c, d, tombstone, c
	s.readTopics(2, s.task+".transaction")
	r.drain()
	s.add("parcel", "I", 4, "t2", 7, "a", nil)
	s.add("depot", "D", 5, "t2", 1, "a", nil)
	s.start(s.avro(), config)
	want(t, s.transactions(4), "t1 BEGIN <nil>", "t1 END 4 depot:1 parcel:3", "t2 BEGIN <nil>", "t2 END 2 depot:1 parcel:1")
}

// transactions reads the transaction topic.
func (s *stand) transactions(n int) (out []string) {
	s.Helper()
	for _, m := range s.readTopics(n, s.task+".transaction") {
		key, value := s.decodeRegistered(m.Key), s.decodeRegistered(m.Value)
		line := fmt.Sprintf("%v %v %v", value["id"], value["status"], value["event_count"])
		collections, _ := value["data_collections"].([]any)
		for _, c := range collections {
			line += fmt.Sprintf(" %v:%v", c.(tree)["data_collection"], c.(tree)["event_count"])
		}
		if key["id"] != value["id"] || !strings.HasPrefix(fmt.Sprint(value["ts_ms"]), "1") {
			s.Errorf("key %v, value %v", key, value)
		}
		out = append(out, line)
	}
	return out
}
