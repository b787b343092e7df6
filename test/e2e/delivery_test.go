package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ctbridge/bridge/fault"
	"ctbridge/test/qlikwriter"
)

// deliveries are the ways to remember how far a task came.
func (s *stand) deliveries() map[string]set {
	folder := s.TempDir()
	return map[string]set{
		"exactly_once":        nil,
		"at_least_once kafka": {"delivery": "at_least_once"},
		"at_least_once file":  {"delivery": "at_least_once", "checkpoint.store": "file", "checkpoint.path": quote(filepath.Join(folder, "orders.checkpoint"))},
		"at_least_once sql": {"delivery": "at_least_once", "checkpoint.store": "sql", "checkpoint.engine": "sqlite",
			"checkpoint.dsn": quote(filepath.Join(folder, "checkpoint.db"))},
	}
}

var deliveryNames = []string{"exactly_once", "at_least_once kafka", "at_least_once file", "at_least_once sql"}

// A restart goes on behind the checkpoint: after a drain nothing is repeated, with every store, inside a source transaction, too.
func TestRestartGoesOn(t *testing.T) {
	t.Parallel()
	for _, name := range deliveryNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			changes := s.deliveries()[name]
			s.create("parcel", "depot")
			for n := 1; n <= 30; n++ {
				table := []string{"parcel", "depot"}[n%2]
				s.add(table, "I", n, fmt.Sprint("t", n/10), n, "x", nil)
				if n%6 == 0 {
					r := s.start(changes)
					s.read(n/2, table)
					r.drain()
				}
			}
			s.checkRows(30, "parcel", "depot")
		})
	}
}

// checkRows wants the sequences 1 to n in the tables' topics, each once, in order within a table, with counters that start again at every
// tenth row.
func (s *stand) checkRows(n int, tables ...string) {
	s.Helper()
	seen := map[int]int{}
	for _, table := range tables {
		previous := 0
		for _, m := range s.all(s.topics([]string{table})...) {
			h := inner(decodeJSON(s, m.Value))["headers"].(tree)
			seq, err := strconv.Atoi(strings.TrimLeft(h["changeSequence"].(string)[16:], "0"))
			if err != nil || seq <= previous {
				s.Errorf("%s: sequence %d after %d, %v", table, seq, previous, err)
			}
			counter := seq%10 + 1
			if seq < 10 {
				counter = seq
			}
			if got := fmt.Sprint(h["transactionEventCounter"]); got != fmt.Sprint(counter) {
				s.Errorf("%s: sequence %d has counter %s, want %d", table, seq, got, counter)
			}
			previous = seq
			seen[seq]++
		}
	}
	for seq := 1; seq <= n; seq++ {
		if seen[seq] != 1 {
			s.Errorf("sequence %d came %d times", seq, seen[seq])
		}
	}
}

// Without high availability a second instance of a task stops the first, which ends as fatal and loses nothing.
func TestSecondInstanceFencesTheFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"exactly_once", "at_least_once kafka", "at_least_once sql"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			changes := s.deliveries()[name]
			alone := set{"high_availability.enabled": "false"}
			if name == "at_least_once sql" {
				alone = nil // it is always
			}
			s.create("parcel")
			s.add("parcel", "I", 1, "t0", 1, "x", nil)
			first := s.start(changes, alone)
			s.read(1, "parcel")
			second := s.start(changes, alone)
			second.says("msg=started")
			s.add("parcel", "I", 2, "t0", 2, "y", nil)
			err := first.ends()
			if fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), "another instance") {
				t.Errorf("the first ended with class %s: %v", fault.ClassOf(err), err)
			}
			s.add("parcel", "I", 3, "t0", 3, "z", nil)
			s.read(3, "parcel")
			second.drain()
			if name == "exactly_once" {
				s.checkRows(3, "parcel")
			}
		})
	}
}

// A checkpoint file belongs to one process: the second does not start.
func TestCheckpointFileIsLocked(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	changes := s.deliveries()["at_least_once file"]
	s.create("parcel")
	s.add("parcel", "I", 1, "t0", 1, "x", nil)
	first := s.start(changes)
	s.read(1, "parcel")
	second := s.start(changes)
	if err := second.ends(); fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("the second ended with class %s: %v", fault.ClassOf(err), err)
	}
	s.add("parcel", "I", 2, "t0", 2, "y", nil)
	s.read(2, "parcel")
	first.drain()
}

// Case 4: a stop in the middle of a transaction leaves the rest for the next start, counted on.
func TestCase04_RestartInsideATransaction(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.bulk("parcel", 1, 3000, "t0")
	changes := set{"commit.max_records": "4", "source.page_rows": "50"}
	for done := 0; done < 3000; {
		r := s.start(changes)
		s.read(min(done+400, 3000), "parcel")
		r.drain()
		done = len(s.all(s.topics([]string{"parcel"})...))
	}
	for i, m := range s.read(3000, "parcel") {
		h := inner(decodeJSON(t, m.Value))["headers"].(tree)
		if fmt.Sprint(h["transactionEventCounter"]) != fmt.Sprint(i+1) || h["transactionLastEvent"] != (i == 2999) {
			t.Fatalf("message %d: %v", i, h)
		}
	}
}

// bulk commits rows from..to of one transaction at once.
func (s *stand) bulk(table string, from, to int, tx string) {
	s.Helper()
	batch, err := s.db.DB.Begin()
	if err != nil {
		s.Fatal(err)
	}
	for n := from; n <= to; n++ {
		s.db.Add(s, batch, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: tx, Values: []any{n, "x", nil}})
	}
	if err := batch.Commit(); err != nil {
		s.Fatal(err)
	}
}

// Case 5: a restart between the two halves of a key change repeats neither and skips neither.
func TestCase05_RestartAroundAKeyChange(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	changes := set{"qlik.key_change": "delete_insert", "commit.max_records": "1"}
	s.add("parcel", "B", 1, "t1", 5, "a", nil)
	s.add("parcel", "U", 1, "t1", 6, "a", nil)
	r := s.start(changes)
	s.read(2, "parcel")
	r.drain()
	s.add("parcel", "I", 2, "t1", 8, "b", nil)
	r = s.start(changes)
	s.read(3, "parcel")
	r.drain()
	want(t, lines(t, s.all(s.task+".parcel")),
		"5 DELETE 1 +(fee=null id=5 status=a) -null 01/07 #1", "6 INSERT 1 +(fee=null id=6 status=a) -null 07/07 #2 last",
		"8 INSERT 2 +(fee=null id=8 status=b) -null null/07 #3 last")
}

// Case 12: rows of equal position survive a restart, whatever the page and the commit hold.
func TestCase12_EqualPositionsAcrossARestart(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	for id := 1; id <= 5; id++ {
		s.add("parcel", "I", 7, "t1", id, "same", nil)
	}
	changes := set{"commit.max_records": "2", "source.page_rows": "2"}
	r := s.start(changes)
	s.read(1, "parcel")
	r.drain()
	r = s.start(changes)
	got := s.read(5, "parcel")
	s.add("parcel", "I", 8, "t2", 6, "next", nil)
	s.read(6, "parcel")
	r.drain()
	want(t, keysOf(got), "1", "2", "3", "4", "5")
	want(t, keysOf(s.all(s.task+".parcel")), "1", "2", "3", "4", "5", "6")
}

// What was read when the stop came is published and checkpointed; the next start repeats nothing.
func TestDrainPublishesWhatWasRead(t *testing.T) {
	t.Parallel()
	for _, name := range deliveryNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			changes := s.deliveries()[name]
			s.create("parcel")
			s.bulk("parcel", 1, 5000, "t0")
			limits := set{"commit.max_records": "100000", "source.page_rows": "100"}
			r := s.start(changes, limits)
			eventually(t, func() bool { return r.metric(`ctbridge_poll_duration_seconds_count`) > 0 }, "a poll")
			r.drain()
			r = s.start(changes, limits)
			s.read(5000, "parcel")
			r.drain()
			if n := len(s.all(s.task + ".parcel")); n != 5000 {
				t.Errorf("%d messages, want 5000", n)
			}
		})
	}
}

// metric reads one value of /metrics, 0 where it is not there.
func (r *running) metric(name string) float64 {
	r.Helper()
	body, _ := fetch(r, "http://"+r.MetricsAddr()+"/metrics")
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		if rest, is := strings.CutPrefix(lines.Text(), name+" "); is {
			value, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				r.Fatal(err)
			}
			return value
		}
	}
	return 0
}
