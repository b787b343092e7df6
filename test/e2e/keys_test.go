package e2e

import (
	"fmt"
	"slices"
	"testing"

	"ctbridge/sink/kafka"
	"ctbridge/test/qlikwriter"
)

// keyed has a key of two columns out of the order of the columns.
var keyed = qlikwriter.Shape{Table: "keyed", Key: []string{"b", "a"}, Columns: []string{"a int NOT NULL", "b varchar(20) NOT NULL", "c int"}}

func keysOf(messages []*kafka.Message) (out []string) {
	for _, m := range messages {
		if m.Key == nil {
			out = append(out, "none")
		} else {
			out = append(out, string(m.Key))
		}
	}
	return out
}

func TestKeyModes(t *testing.T) {
	t.Parallel()
	for mode, keys := range map[string][3][]string{ // of the tables parcel, keyed, heap
		"primary_key":      {{"1", "2"}, {"x|1", `x\|y|2`}, {"none", "none"}},
		"schema_and_table": {{"parcel", "parcel"}, {"keyed", "keyed"}, {"heap", "heap"}},
		"transaction_id":   {{"t1", "t2"}, {"t1", "t2"}, {"t1", "none"}},
		"none":             {{"none", "none"}, {"none", "none"}, {"none", "none"}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			heap := qlikwriter.Parcel("heap")
			heap.Key = nil
			s.create("parcel")
			s.db.Create(t, keyed)
			s.db.Create(t, heap)
			s.add("parcel", "I", 1, "t1", 1, "a", nil)
			s.addTo(keyed, "I", 2, "t1", 1, "x", nil)
			s.addTo(heap, "I", 3, "t1", 1, "a", nil)
			s.add("parcel", "I", 4, "t2", 2, "b", nil)
			s.addTo(keyed, "I", 5, "t2", 2, "x|y", nil)
			s.addTo(heap, "I", 6, "", 2, "b", nil)
			s.start(set{"key.mode": mode})
			for i, table := range []string{"parcel", "keyed", "heap"} {
				want(t, keysOf(s.read(2, table)), keys[i]...)
			}
		})
	}
}

// A key named in the configuration counts in the text key, in the encoded key, in the change mask of a delete, and in the metadata.
func TestKeysFromTheConfiguration(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	heap := qlikwriter.Parcel("heap")
	heap.NoBase = true
	s.db.Create(t, heap)
	s.addTo(heap, "D", 1, "t1", 7, "gone", nil)
	r := s.start(set{"source.keys": `{heap: [status, id]}`})
	want(t, lines(t, s.read(1, "heap")), "gone|7 DELETE 1 +(fee=null id=7 status=gone) -null 03/07 #1 last")
	columns := inner(decodeJSON(t, s.readTopics(1, s.task+".metadata")[0].Value))["tableStructure"].(tree)["tableColumns"].(tree)
	position := func(name string) any { return columns[name].(tree)["primaryKeyPosition"] }
	if got := fmt.Sprintf("%v %v %v", position("status"), position("id"), position("fee")); got != "1 2 0" {
		t.Errorf("key positions %s", got)
	}
	r.drain()
	s.task += "2"
	s.start(s.avro(), set{"source.keys": `{heap: [status, id]}`, "key.format": "avro"})
	if key := s.decodeRegistered(s.read(1, "heap")[0].Key); fmt.Sprint(key) != "map[id:7 status:gone]" {
		t.Errorf("encoded key %v", key)
	}
}

// Case 74: one row stays in one partition, whatever the key mode, and rows without key follow their table.
func TestCase74_OneRowOnePartition(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"primary_key", "schema_and_table", "none"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("parcel")
			for n := 1; n <= 60; n++ {
				s.add("parcel", "I", n, "t1", n%20, "x", nil)
			}
			s.start(set{"key.mode": mode, "kafka.topics.data.partitions": "6"})
			partitions := map[string][]int32{}
			used := map[int32]bool{}
			sequences := map[string]string{}
			for _, m := range s.read(60, "parcel") {
				message := inner(decodeJSON(t, m.Value))
				id := fmt.Sprint(message["data"].(tree)["id"])
				seq := message["headers"].(tree)["changeSequence"].(string)
				if seq <= sequences[id] {
					t.Errorf("row %s: sequence %s after %s", id, seq, sequences[id])
				}
				sequences[id] = seq
				used[m.Partition] = true
				if !slices.Contains(partitions[id], m.Partition) {
					partitions[id] = append(partitions[id], m.Partition)
				}
			}
			for id, where := range partitions {
				if len(where) != 1 {
					t.Errorf("row %s is in partitions %v", id, where)
				}
			}
			if spread := len(used) > 1; spread == (mode == "schema_and_table") {
				t.Errorf("partitions used: %v", used)
			}
		})
	}
}

// The topic template, and what a topic gets that the task makes.
func TestTopics(t *testing.T) {
	t.Parallel()
	for template, topic := range map[string]string{
		"{schema}.{table}": "parcel", "cdc-{task}-{schema}-{table}": "cdc-orders-parcel", "{table}": "parcel", "everything": "everything",
	} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.task = "orders"
			s.create("parcel", "depot")
			s.add("parcel", "I", 1, "t1", 1, "a", nil)
			s.start(set{"kafka.topic": quote(template), "kafka.topics.data": `{partitions: 3, config: {retention.ms: "86400000"}}`})
			s.readTopics(1, topic)
			info := s.Cluster().TopicInfo(topic)
			if len(s.Cluster().PartitionInfos(topic)) != 3 || info.Configs["retention.ms"] == nil || *info.Configs["retention.ms"] != "86400000" {
				t.Errorf("topic %+v", info)
			}
		})
	}
}

// Tables that share a topic on purpose keep the order of the task in it (case 20).
func TestCase20_SharedTopicKeepsTheOrder(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	s.add("parcel", "I", 11, "t1", 1, "child", nil)
	s.add("depot", "I", 10, "t1", 1, "parent", nil)
	s.add("parcel", "I", 12, "t1", 2, "child", nil)
	s.add("depot", "I", 13, "t1", 2, "parent", nil)
	s.start(set{"kafka.topic": "everything", "key.mode": "schema_and_table", "qlik.include_source_name": "message"})
	want(t, lines(t, s.readTopics(4, "everything")),
		"depot INSERT 10 +(fee=null id=1 status=parent) -null null/07 #1", "parcel INSERT 11 +(fee=null id=1 status=child) -null null/07 #2",
		"parcel INSERT 12 +(fee=null id=2 status=child) -null null/07 #3", "depot INSERT 13 +(fee=null id=2 status=parent) -null null/07 #4 last")
}
