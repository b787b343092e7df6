package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/metrics"
)

var manyTables = []string{"a", "b", "c", "d", "e", "f"}

// write commits rows from..to, each in the next table.
func (s *stand) write(from, to int) {
	s.Helper()
	for n := from; n <= to; n++ {
		s.add(manyTables[n%len(manyTables)], "I", n, fmt.Sprint("t", n), n, "x", nil)
	}
}

// checkOnce checks that each row left once, in order within its table.
func (s *stand) checkOnce(n int) {
	s.Helper()
	seen := map[int]int{}
	for _, table := range manyTables {
		previous := 0
		for _, m := range s.all(s.topics([]string{table})...) {
			h := inner(decodeJSON(s, m.Value))["headers"].(tree)
			if h["operation"] == "REFRESH" {
				continue
			}
			seq, err := strconv.Atoi(strings.TrimLeft(h["changeSequence"].(string)[16:], "0"))
			if err != nil || seq <= previous {
				s.Errorf("%s: sequence %d after %d, %v", table, seq, previous, err)
			}
			previous = seq
			seen[seq]++
		}
	}
	for seq := 1; seq <= n; seq++ {
		if seen[seq] != 1 {
			s.Errorf("row %d came %d times", seq, seen[seq])
		}
	}
}

// The division of a task changes between starts: no row is lost or doubled, with both deliveries.
func TestShardsOfATask(t *testing.T) {
	t.Parallel()
	for _, delivery := range []string{"exactly_once", "at_least_once"} {
		t.Run(delivery, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create(manyTables...)
			n := 0
			for _, division := range []set{nil, {"ordering": "table", "shards": "4"}, {"ordering": "table", "shards": "2"}, nil} {
				r := s.start(set{"delivery": delivery}, division)
				s.write(n+1, n+30)
				n += 30
				s.read(n, manyTables...)
				r.drain()
			}
			s.checkOnce(n)
		})
	}
}

// A request reaches the shard that has the table.
func TestSnapshotOfAShard(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create(manyTables...)
	shards := set{"ordering": "table", "shards": "4", "full_load.mode": "none"}
	r := s.start(shards)
	s.write(1, 12)
	s.read(12, manyTables...)
	task, err := config.Parse([]byte(s.text(shards)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range manyTables {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		id := "request for " + table
		if err := wiring.Ask(ctx, task, bridge.Request{ID: id, Table: change.TableID{Name: table}, Action: bridge.ActionLoad}); err != nil {
			t.Fatal(err)
		}
		load, err := wiring.Answer(ctx, task, id)
		cancel()
		if err != nil || load.Note != "" || load.State == checkpoint.LoadNone {
			t.Errorf("%s: %+v, %v", table, load, err)
		}
	}
	r.drain()
}

// A second process that was started by mistake neither stops the first nor doubles anything.
func TestSecondProcessIsNoHarm(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create(manyTables...)
	first := s.start()
	s.write(1, 20)
	s.read(20, manyTables...)
	second := s.start()
	second.says("this replica is a member")
	s.write(21, 40)
	s.read(40, manyTables...)
	first.drain()
	s.write(41, 60)
	s.read(60, manyTables...)
	second.drain()
	s.checkOnce(60)
}

// A process that divides the task otherwise does not start beside others.
func TestOtherDivisionIsRefused(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create(manyTables...)
	first := s.start(set{"ordering": "table", "shards": "4"})
	first.says("this replica is a member")
	err := s.start(set{"ordering": "table", "shards": "3"}).ends()
	if fault.ClassOf(err) != fault.Config || !strings.Contains(err.Error(), "all replicas need the same ordering and shards") {
		t.Errorf("the second ended with class %s: %v", fault.ClassOf(err), err)
	}
	s.write(1, 20)
	s.read(20, manyTables...)
	first.drain()
	s.checkOnce(20)
}

// The status page tells who runs which shard, and which shard a table is in.
func TestStatusOfShards(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create(manyTables...)
	r := s.start(set{"ordering": "table", "shards": "3"})
	s.write(1, 12)
	s.read(12, manyTables...)
	r.says("this replica is a member")
	var status metrics.Status
	eventually(t, func() bool {
		response, err := http.Get("http://" + r.MetricsAddr() + "/api/status")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		status = metrics.Status{}
		if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
			t.Fatal(err)
		}
		return len(status.Tables) == len(manyTables)
	}, "all tables to be told")
	if len(status.Replicas) != 1 || !status.Replicas[0].Self || len(status.Replicas[0].Shards) != 3 || len(status.Shards) != 3 {
		t.Errorf("replicas %+v, shards %+v", status.Replicas, status.Shards)
	}
	for _, shard := range status.Shards {
		if shard.State != "active" || shard.Replica != status.Replicas[0].ID {
			t.Errorf("shard %+v", shard)
		}
	}
	for _, table := range status.Tables {
		if want := checkpoint.ShardOf(change.TableID{Name: table.Name}, 3); table.Shard != want {
			t.Errorf("table %s is said to be in shard %d, it is in %d", table.Name, table.Shard, want)
		}
	}
	r.drain()
}
