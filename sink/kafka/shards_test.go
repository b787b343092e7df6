package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
)

// division is a task whose number of shards changes.
type division struct {
	*testing.T
	conf kafka.Config
	task string
}

func (d *division) sink(number, of int) *kafka.Transactional {
	d.Helper()
	s, err := kafka.NewShard(d.conf, d.task, checkpoint.Shard{Number: number, Of: of}, d.task+".checkpoint")
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { s.Close() })
	return s
}

func (d *division) open(number, of int) (*kafka.Transactional, map[string][]byte) {
	d.Helper()
	s := d.sink(number, of)
	entries, err := s.Open(d.Context())
	if err != nil {
		d.Fatalf("shard %d of %d: %v", number, of, err)
	}
	return s, entries
}

func (d *division) commit(s *kafka.Transactional, key, value string) error {
	return s.Commit(d.Context(), []checkpoint.Entry{{Key: key, Value: []byte(value)}})
}

func task(requests int) string { return fmt.Sprintf(`{"v":1,"position":"1","requests":%d}`, requests) }

// The number of shards changes in one step, by shard 0 alone; the others wait for it. What the former shards have committed until then is
// there, and none of them can commit any more, also one that nobody knows of.
func TestNumberOfShardsChanges(t *testing.T) {
	t.Parallel()
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		d := &division{T: t, conf: c, task: name("task")}
		whole, entries := d.open(0, 1)
		if len(entries) != 0 {
			t.Errorf("a new checkpoint has %v", entries)
		}
		if err := errors.Join(d.commit(whole, "task", task(5)), d.commit(whole, "table/s/a", "{}")); err != nil {
			t.Fatal(err)
		}

		if _, err := d.sink(1, 3).Open(t.Context()); fault.ClassOf(err) != fault.Retry || !strings.Contains(err.Error(), "1 shard(s), not 3 yet") {
			t.Errorf("shard 1 did not wait for shard 0: %v", err)
		}
		first, entries := d.open(0, 3)
		if entries["task/2"] == nil || entries["table/s/a"] == nil || entries["shards"] != nil {
			t.Errorf("shard 0 of 3 reads %v", entries)
		}
		if err := d.commit(whole, "task", "late"); !kafka.IsFenced(err) {
			t.Errorf("the former shard committed: %v", err)
		}
		second, _ := d.open(1, 3)
		zombie, _ := d.open(2, 3)
		if err := errors.Join(d.commit(second, "table/s/b", "{}"), d.commit(zombie, "task/2", task(9))); err != nil {
			t.Fatal(err)
		}
		if err := zombie.EnsureTopic(t.Context(), d.task+".rows", change.DataTopic); err != nil {
			t.Fatal(err)
		}
		if err := zombie.Publish(t.Context(), &change.Record{Topic: d.task + ".rows", Value: []byte("open")}); err != nil {
			t.Fatal(err)
		}

		undivided, entries := d.open(0, 1)
		if entries["task/1"] != nil || entries["task/2"] != nil || entries["table/s/a"] == nil || entries["table/s/b"] == nil {
			t.Errorf("undivided again it reads %v", entries)
		}
		for name, s := range map[string]*kafka.Transactional{"0": first, "1": second, "2": zombie} {
			if err := d.commit(s, "table/s/"+name, "late"); !kafka.IsFenced(err) {
				t.Errorf("former shard %s committed: %v", name, err)
			}
		}
		if err := d.commit(undivided, "table/s/a", "{}"); err != nil {
			t.Error(err)
		}
		if got := tail(t, c, d.task+".rows"); len(got) > 0 {
			t.Errorf("what a former shard had not committed is there: %d records", len(got))
		}
	})
}

// A checkpoint that says more than this program understands is not touched.
func TestNumberOfShardsOfANewerProgram(t *testing.T) {
	t.Parallel()
	d := &division{T: t, conf: kafka.Config{Brokers: broker(t).Brokers()}, task: name("task")}
	s, _ := d.open(0, 1)
	if err := d.commit(s, "shards", `{"v":2,"of":4}`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.sink(0, 4).Open(t.Context()); fault.ClassOf(err) != fault.Fatal {
		t.Errorf("opened: %v", err)
	}
}
