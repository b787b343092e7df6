package bridge_test

import (
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
)

// adjusted is a template that gives the tables "a b" and "a_b" one topic.
func adjusted(id change.TableID) (string, error) { return strings.ReplaceAll(id.Name, " ", "_"), nil }

// Two tables that come to one topic never mix: the first goes on, the second is stopped and told why, a third is not concerned.
func TestSecondTableOfATopicIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Topic = adjusted
	w.options.Rediscover = 10 * time.Millisecond
	w.create("a b", "a_b", "c.d")
	w.add("a b", "I", 1, "t1", 1, "x")
	w.add("a_b", "I", 2, "t2", 2, "y")
	w.add("c.d", "I", 3, "t3", 3, "z")
	w.start()
	got := w.ledger.wait(t, "two records", count(2))
	w.want(got, "a_b 1 1 INSERT +(1,x,null) #1 true v1", "c.d 3 3 INSERT +(3,z,null) #1 true v1")
	err := w.observed.waitState(t, "a_b", bridge.TableFailed)
	for _, part := range []string{"topic a_b: table a_b would share it with table a b", "set kafka.topic", "source.tables"} {
		if !strings.Contains(err, part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	// It joins when the topic is free, behind nothing: no row of it is lost.
	w.writer.Exec(t, `DROP TABLE "a b__ct"`)
	got = w.ledger.wait(t, "the other table's record", count(3))
	w.want(got[2:], "a_b 2 2 INSERT +(2,y,null) #1 true v1")
	w.observed.waitState(t, "a_b", bridge.TableStreaming)
}

// A table that has published keeps its topic, whatever comes later: while it streams, after a restart, and while it cannot be read.
func TestTableKeepsItsTopic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Topic = adjusted
	w.options.Rediscover = 10 * time.Millisecond
	w.create("a_b")
	w.add("a_b", "I", 1, "t1", 1, "x")
	stop := w.start()
	w.ledger.wait(t, "the first record", count(1))
	w.create("a b") // comes first in the order of names
	w.add("a b", "I", 2, "t2", 2, "y")
	if err := w.observed.waitState(t, "a b", bridge.TableFailed); !strings.Contains(err, "table a b would share it with table a_b") {
		t.Errorf("error %q", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.observed = newObserved()
	w.options.Observer = w.observed
	w.add("a_b", "I", 3, "t3", 3, "z")
	w.start()
	got := w.ledger.wait(t, "the second record", count(2))
	w.want(got[1:], "a_b 3 3 INSERT +(3,z,null) #1 true v1")
	w.observed.waitState(t, "a b", bridge.TableFailed)
	w.writer.Exec(t, `UPDATE "a_b__ct" SET header__change_seq = NULL WHERE id = 3`)
	w.observed.waitState(t, "a_b", bridge.TableFailed)
	w.create("c") // found by a discovery while a_b is stopped
	w.add("c", "I", 4, "t4", 4, "w")
	got = w.ledger.wait(t, "the third table's record", count(3))
	w.want(got[2:], "c 4 4 INSERT +(4,w,null) #1 true v1")
}

func TestSharedTopicsOnPurpose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().Topic, w.output().SharedTopics = func(change.TableID) (string, error) { return "all", nil }, true
	w.create("a", "b")
	w.add("a", "I", 1, "t1", 1, "x")
	w.add("b", "I", 2, "t1", 1, "y")
	w.start()
	got := w.ledger.wait(t, "both records", count(2))
	w.want(got, "all 1 1 INSERT +(1,x,null) #1 false v1", "all 1 2 INSERT +(1,y,null) #2 true v1")
}

// The task's own topics hold what a restart depends on: no table gets in between.
func TestTopicsOfTheTaskAreItsOwn(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		w := newWorld(t)
		w.options.OwnTopics, w.output().SharedTopics = []string{"orders.metadata", "ctbridge.orders.checkpoint"}, shared
		w.create("orders.metadata", "ctbridge.orders.checkpoint", "parcel")
		w.add("orders.metadata", "I", 1, "t1", 1, "x")
		w.add("ctbridge.orders.checkpoint", "I", 2, "t1", 1, "x")
		w.add("parcel", "I", 3, "t1", 1, "y")
		stop := w.start()
		got := w.ledger.wait(t, "the record", count(1))
		w.want(got, "parcel 1 3 INSERT +(1,y,null) #1 true v1")
		for _, name := range []string{"orders.metadata", "ctbridge.orders.checkpoint"} {
			want := `table "` + name + `" would share it with the task's own records`
			if err := w.observed.waitState(t, name, bridge.TableFailed); !strings.Contains(err, want) {
				t.Errorf("error %q, want %q", err, want)
			}
		}
		stop()
	}
}
