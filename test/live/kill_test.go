package live

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// Kill -9 at random moments under load: nothing lost, nothing doubled, order kept, for consumers that read committed records only.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			tables := []string{"one", "two", "three"}
			for _, table := range tables {
				db.Create(t, qlikwriter.Parcel(table))
			}
			b := newBridge(t, db, registry(t)+"commit: {max_records: 50}\n")
			loaded := make(chan int, 1)
			go func() { loaded <- load(t, db, tables, 6000) }()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			total := 0
			for kills := 0; total == 0 || kills < 8; kills++ {
				b.start()
				select {
				case total = <-loaded:
				case <-time.After(time.Duration(100+random.IntN(1500)) * time.Millisecond):
				}
				b.kill()
			}
			b.start()
			got := b.until(total, tables...)
			b.stop()
			checkOnce(t, got, total)
		})
	}
}

// load commits rows in many small transactions and tells how many.
func load(t testing.TB, db database, tables []string, rows int) int {
	for n := 1; n <= rows; {
		tx, err := db.DB.Begin()
		if err != nil {
			t.Error(err)
			return n - 1
		}
		for range 20 {
			table := tables[n%len(tables)]
			db.Add(t, tx, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("tx", (n-1)/20), Values: []any{n % 97, "x", nil}})
			n++
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
			return n - 1
		}
	}
	return rows
}

// checkOnce checks that rows 1..total each left once, in order per key, with gap-free counters and one last flag per transaction.
func checkOnce(t *testing.T, got []message, total int) {
	t.Helper()
	newest := make(map[string]string)
	for _, m := range got {
		seq := m.event(t).Headers.ChangeSequence
		key := fmt.Sprint(m.Topic, m.Partition)
		if seq <= newest[key] {
			t.Fatalf("out of order in %s: %s after %s", key, seq, newest[key])
		}
		newest[key] = seq
	}
	events := decode(t, got)
	if len(events) != total {
		t.Errorf("%d messages, want %d", len(events), total)
	}
	for i := range min(len(events), total) {
		h, n := events[i].Headers, i+1
		if h.ChangeSequence != qlikwriter.Seq(n) {
			t.Fatalf("message %d has sequence %s: a row is lost or doubled", n, h.ChangeSequence)
		}
		if h.Counter != int64((n-1)%20+1) || h.Last != (n%20 == 0) {
			t.Fatalf("row %d has counter %d, last %v", n, h.Counter, h.Last)
		}
	}
}

// ownStack is set in the inner run of an outage test, which has servers of its own: other tests need the common ones.
const ownStack = "CTBRIDGE_LIVE_OWN_STACK"

// Case 73 and 82: brokers and database go away under load and come back; the bridge is not started again by hand.
func TestCase73_NeighboursGoAway(t *testing.T) {
	need(t, "CTBRIDGE_TEST_KAFKA")
	if os.Getenv(ownStack) == "" {
		inOwnStack(t, "kafka,registry,postgres")
		return
	}
	db := postgres(t)
	tables := []string{"one", "two", "three"}
	for _, table := range tables {
		db.Create(t, qlikwriter.Parcel(table))
	}
	b := newBridge(t, db, registry(t)+"commit: {max_records: 50}\n")
	b.start()
	b.until(0, tables...)
	load(t, db, tables, 500)
	stack(t, "kill", "kafka")
	load2 := func(from int) { loadFrom(t, db, tables, from, from+500) }
	load2(501)
	stack(t, "start", "kafka")
	b.until(1001, tables...)
	stack(t, "restart", "postgres")
	db.DB.SetMaxIdleConns(0)
	waitFor(t, func() bool { return db.DB.PingContext(context.Background()) == nil })
	load2(1002)
	got := b.until(1502, tables...)
	b.stop()
	checkSequences(t, got, 1502)
}

// inOwnStack runs the calling test again, inside a stack of its own.
func inOwnStack(t *testing.T, parts string) {
	t.Helper()
	inner := exec.Command("go", "run", "ctbridge/test/stack", "run", "-only", parts, "--", os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CTBRIDGE_TEST_") || strings.HasPrefix(v, "CTBRIDGE_TEST_PYTHON=") || strings.HasPrefix(v, "CTBRIDGE_TEST_KCAT=") {
			inner.Env = append(inner.Env, v)
		}
	}
	inner.Env = append(inner.Env, ownStack+"=1")
	if out, err := inner.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in a stack of its own: %v\n%s", err, out)
	}
}

func loadFrom(t testing.TB, db database, tables []string, from, to int) {
	for n := from; n <= to; n++ {
		db.Add(t, db.DB, qlikwriter.Parcel(tables[n%len(tables)]), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("tx", n), Values: []any{n % 97, "x", nil}})
	}
}

func checkSequences(t *testing.T, got []message, total int) {
	t.Helper()
	events := decode(t, got)
	if len(events) != total {
		t.Fatalf("%d messages, want %d", len(events), total)
	}
	for i, ev := range events {
		if ev.Headers.ChangeSequence != qlikwriter.Seq(i+1) {
			t.Fatalf("message %d has sequence %s: a row is lost or doubled", i+1, ev.Headers.ChangeSequence)
		}
	}
}

// stack controls a server of the stack that the test runs in.
func stack(t testing.TB, verb, server string) {
	t.Helper()
	command := exec.Command("go", "run", "ctbridge/test/stack", verb, server)
	command.Env = os.Environ()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("stack %s %s: %v\n%s", verb, server, err, out)
	}
}

func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for !done() {
		select {
		case <-pause.C:
		case <-deadline:
			t.Fatal("not within 60 s")
		}
	}
}
