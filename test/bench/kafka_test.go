package main

import (
	"fmt"
	"testing"
	"time"

	"ctbridge/sink/kafka"
)

// All records come again, each in its partition, in the order that they had there.
func TestMixed(t *testing.T) {
	t.Parallel()
	r := &records{}
	begin := time.UnixMilli(1_000_000)
	for i := range 100 {
		at := begin.Add(time.Duration(i%7) * time.Second)
		r.add(&kafka.Message{Partition: int32(i * i % 3), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d", i), Timestamp: at}, true)
	}
	if r.count != 100 || r.last.Sub(r.first) != 6*time.Second || !r.first.Equal(begin) || r.bytes != len(r.data) {
		t.Errorf("%d records of %d bytes, %v to %v", r.count, r.bytes, r.first, r.last)
	}
	last := map[int32]int{}
	seen, switches, before := map[int]bool{}, 0, int32(-1)
	for _, s := range r.mixed() {
		var key, value int
		if _, err := fmt.Sscanf(string(r.key(s.span))+" "+string(r.value(s.span)), "k%d value %d", &key, &value); err != nil || key != value {
			t.Fatalf("%q, %q: %v", r.key(s.span), r.value(s.span), err)
		}
		if s.partition != int32(key*key%3) || key < last[s.partition] {
			t.Errorf("record %d in partition %d, behind %d", key, s.partition, last[s.partition])
		}
		if last[s.partition], seen[key] = key, true; s.partition != before {
			switches, before = switches+1, s.partition
		}
	}
	if len(seen) != 100 || switches < 10 {
		t.Errorf("%d records, %d changes of the partition", len(seen), switches)
	}
}

func TestNotKept(t *testing.T) {
	t.Parallel()
	r := &records{}
	r.add(&kafka.Message{Partition: 3, Key: []byte("k"), Value: []byte("value")}, false)
	if r.count != 1 || r.bytes != 6 || len(r.data)+len(r.partitions) != 0 {
		t.Errorf("%+v", r)
	}
}
