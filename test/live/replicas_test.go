package live

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// replica is another process of the same task.
func (b *bridge) replica() *bridge {
	r := &bridge{TB: b.TB, task: b.task, config: b.config, log: &logBuffer{}}
	b.Cleanup(func() {
		r.kill()
		if b.Failed() {
			b.Logf("log of a replica:\n%s", r.log.String())
		}
	})
	r.start()
	return r
}

func (b *bridge) signal(s os.Signal) {
	b.Helper()
	if err := b.process.Process.Signal(s); err != nil {
		b.Fatal(err)
	}
}

// is waits until a series has a value, and gives the time that it took.
func (b *bridge) is(series string, value float64) time.Duration {
	b.Helper()
	begin := time.Now()
	fast(b, func() bool { return b.hasLogged("metrics=") && b.metric(series) == value })
	return time.Since(begin)
}

// publishes waits until the process publishes, and gives the time that it took.
func (b *bridge) publishes() time.Duration {
	b.Helper()
	begin := time.Now()
	fast(b, func() bool { return b.hasLogged("metrics=") })
	before := b.metric("ctbridge_events_published_total")
	fast(b, func() bool { return b.metric("ctbridge_events_published_total") > before })
	return time.Since(begin)
}

func fast(t testing.TB, done func() bool) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for !done() {
		select {
		case <-pause.C:
		case <-deadline:
			t.Fatal("not within 60 s")
		}
	}
}

// stream commits transactions of 20 rows at a steady pace until stop is closed, and then tells how many rows there are.
func stream(t testing.TB, db database, tables func() []string, stop <-chan struct{}) <-chan map[string]int {
	total := make(chan map[string]int, 1)
	go func() {
		counts := make(map[string]int)
		defer func() { total <- counts }()
		pace := time.NewTicker(20 * time.Millisecond)
		defer pause(pace)
		for n := 1; ; {
			select {
			case <-stop:
				return
			case <-pace.C:
			}
			tx, err := db.DB.Begin()
			if err != nil {
				t.Error(err)
				return
			}
			all := tables()
			for range 20 {
				table := all[n%len(all)]
				db.Add(t, tx, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("tx", (n-1)/20), Values: []any{n % 97, "x", nil}})
				counts[table]++
				n++
			}
			if err := tx.Commit(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	return total
}

func pause(t *time.Ticker) { t.Stop() }

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

const takeover = 10 * time.Second // promised

// One replica works, the others take over: after kill -9, after SIGTERM, and from one that is halted for longer than the session time-out and
// then goes on. Nothing is lost or doubled, order and counters go on.
func TestReplicasTakeOver(t *testing.T) {
	db := postgres(t)
	tables := []string{"one", "two", "three"}
	for _, table := range tables {
		db.Create(t, qlikwriter.Parcel(table))
	}
	b := newBridge(t, db, "commit: {max_records: 200}\n")
	stop := make(chan struct{})
	rows := stream(t, db, func() []string { return tables }, stop)

	begin := time.Now()
	a := b.replica()
	a.is("ctbridge_shard_active", 1)
	a.publishes()
	t.Logf("first record %v after the start", time.Since(begin).Round(time.Millisecond))
	standby := b.replica()
	fast(standby, func() bool { return standby.hasLogged("this replica is a member") })

	a.kill()
	took := standby.publishes()
	t.Logf("kill -9: the standby publishes %v later", took.Round(time.Millisecond))
	if took > takeover {
		t.Errorf("it took %v", took)
	}

	a = b.replica()
	fast(a, func() bool { return a.hasLogged("this replica is a member") })
	begin = time.Now()
	standby.stop()
	drained := time.Since(begin)
	a.is("ctbridge_shard_active", 1)
	a.publishes()
	t.Logf("SIGTERM: drained in %v, the other publishes %v after the signal", drained.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	if took := time.Since(begin); took > takeover/2 {
		t.Errorf("it took %v", took)
	}

	standby = b.replica()
	fast(standby, func() bool { return standby.hasLogged("this replica is a member") })
	a.signal(syscall.SIGSTOP)
	took = standby.publishes()
	t.Logf("SIGSTOP: the standby publishes %v later", took.Round(time.Millisecond))
	if took > takeover {
		t.Errorf("it took %v", took)
	}
	a.signal(syscall.SIGCONT)
	a.is("ctbridge_shard_active", 0)
	standby.publishes()
	standby.is("ctbridge_shard_active", 1)
	a.checkAlive()

	close(stop)
	total := sum(<-rows)
	got := standby.until(total, tables...)
	a.stop()
	standby.stop()
	checkOnce(t, got, total)
	t.Logf("%d rows", total)
}

// With at_least_once a take-over may repeat rows, and loses none; a process that was halted does not go on beside its successor.
func TestReplicasAtLeastOnce(t *testing.T) {
	db := postgres(t)
	db.Create(t, qlikwriter.Parcel("one"))
	b := newBridge(t, db, "delivery: at_least_once\ncommit: {max_records: 200}\n")
	stop := make(chan struct{})
	rows := stream(t, db, func() []string { return []string{"one"} }, stop)
	a := b.replica()
	a.publishes()
	standby := b.replica()
	fast(standby, func() bool { return standby.hasLogged("this replica is a member") })
	a.signal(syscall.SIGSTOP)
	t.Logf("SIGSTOP: the standby publishes %v later", standby.publishes().Round(time.Millisecond))
	a.signal(syscall.SIGCONT)
	a.is("ctbridge_shard_active", 0)
	standby.kill()
	t.Logf("kill -9: the other publishes %v later", a.publishes().Round(time.Millisecond))
	close(stop)
	total := sum(<-rows)
	seen := make(map[string]int)
	fast(t, func() bool {
		clear(seen)
		for _, m := range a.until(total, "one") {
			seen[m.event(t).Headers.ChangeSequence]++
		}
		return len(seen) >= total
	})
	a.stop()
	repeated := 0
	for n := 1; n <= total; n++ {
		if times := seen[qlikwriter.Seq(n)]; times == 0 {
			t.Errorf("row %d is lost", n)
		} else {
			repeated += times - 1
		}
	}
	t.Logf("%d rows, %d of them repeated", total, repeated)
}

// Tables are spread over shards that replicas share, as replicas and tables come and go.
func TestReplicasShareTables(t *testing.T) {
	db := postgres(t)
	tables := []string{"one", "two", "three", "four", "five", "six"}
	for _, table := range tables {
		db.Create(t, qlikwriter.Parcel(table))
	}
	b := newBridge(t, db, "commit: {max_records: 200}\nordering: table\nshards: 4\n")
	stop, added := make(chan struct{}), make(chan struct{})
	rows := stream(t, db, func() []string {
		select {
		case <-added:
			return append(tables[:len(tables):len(tables)], "late")
		default:
			return tables
		}
	}, stop)

	first := b.replica()
	first.is("ctbridge_shard_active", 4)
	first.publishes()
	second := b.replica()
	t.Logf("a second replica has its two shards after %v", second.is("ctbridge_shard_active", 2).Round(time.Millisecond))
	first.is("ctbridge_shard_active", 2)
	third := b.replica()
	t.Logf("a third has one after %v", third.is("ctbridge_shard_active", 1).Round(time.Millisecond))
	db.Create(t, qlikwriter.Parcel("late"))
	close(added)

	second.kill()
	begin := time.Now()
	fast(b, func() bool { return first.metric("ctbridge_shard_active")+third.metric("ctbridge_shard_active") == 4 })
	t.Logf("kill -9: its shards run elsewhere after %v", time.Since(begin).Round(time.Millisecond))
	begin = time.Now()
	third.stop()
	first.is("ctbridge_shard_active", 4)
	t.Logf("SIGTERM: its shards run elsewhere after %v", time.Since(begin).Round(time.Millisecond))

	close(stop)
	counts := <-rows
	got := first.until(sum(counts), append(tables, "late")...)
	first.stop()
	checkTables(t, got, counts)
	t.Logf("%d rows", sum(counts))
}

// checkTables checks that the rows of each table left once, in order.
func checkTables(t *testing.T, got []message, counts map[string]int) {
	t.Helper()
	seen, newest := make(map[string]map[string]bool), make(map[string]string)
	for _, m := range got {
		seq, partition := m.event(t).Headers.ChangeSequence, fmt.Sprint(m.Topic, m.Partition)
		if seq <= newest[partition] {
			t.Fatalf("out of order in %s: %s after %s", partition, seq, newest[partition])
		}
		newest[partition] = seq
		if seen[m.Topic] == nil {
			seen[m.Topic] = make(map[string]bool)
		}
		if seen[m.Topic][seq] {
			t.Fatalf("%s: row %s came twice", m.Topic, seq)
		}
		seen[m.Topic][seq] = true
	}
	for table, n := range counts {
		if len(seen[table]) != n {
			t.Errorf("%s: %d rows, want %d", table, len(seen[table]), n)
		}
	}
}
