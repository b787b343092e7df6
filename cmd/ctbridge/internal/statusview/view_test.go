package statusview

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/metrics"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a task with everything.
func example() *metrics.Status {
	at := time.Date(2031, 5, 10, 12, 0, 0, 0, time.UTC)
	m := metrics.New(metrics.Options{Version: "1.2.3", Task: "orders", Replica: "pod-0", Source: "sqlserver", Registry: true, StallTimeout: time.Hour, Now: func() time.Time { return at }})
	id := func(name string) change.TableID { return change.TableID{Schema: "dbo", Name: name} }
	m.SourceReachable(nil)
	m.SinkReachable(fault.New(fault.Retry, "connect to kafka:9092", errors.New("connection refused"), "are the brokers up?"))
	m.Polled(0)
	m.Horizon("20310510120000000000000000000000099")
	for i, name := range []string{"Orders", "OrderLinesOfTheWholeWorldSince1987", "Stock", "Payroll", "Audit"} {
		m.TableChanged(id(name), bridge.TableStreaming, i+1, nil)
		m.Lag(id(name), 0)
		m.Reached(id(name), change.Position(fmt.Sprintf("2031051012000000%019d", i)))
	}
	for range 6 {
		m.Committed(bridge.Commit{Counts: map[bridge.CommitKey]int{{Table: id("Orders"), Op: change.OpInsert}: 3, {Table: id("OrderLinesOfTheWholeWorldSince1987"), Op: change.OpInsert}: 25000}})
		at = at.Add(2 * time.Second)
	}
	m.Lag(id("Orders"), 3*time.Minute+4*time.Second)
	m.TableChanged(id("Payroll"), bridge.TableFailed, 0, fault.New(fault.Table, "read dbo.Payroll__ct", errors.New("denied\x1b[31m\nnow"), "GRANT SELECT"))
	m.TableChanged(id("Audit"), bridge.TableMissing, 0, errors.New("no change table"))
	m.TableChanged(id("Orders"), bridge.TableFailed, 0, errors.New("a row was bad"))
	m.TableChanged(id("Orders"), bridge.TableStreaming, 0, nil)
	m.TableChanged(id("Stock"), bridge.TableLoading, 0, nil)
	m.Loaded(id("Stock"), bridge.LoadProgress{State: checkpoint.LoadRunning, Total: 4000})
	at = at.Add(30 * time.Second)
	m.Loaded(id("Stock"), bridge.LoadProgress{State: checkpoint.LoadRunning, Rows: 1000, Done: 1000, Total: 4000})
	m.Late(id("Orders"), 2)
	m.Pending(true)
	at = at.Add(90 * time.Second)
	return m.Status()
}

// stopped is what a checkpoint tells.
func stopped() *metrics.Status {
	now := time.Date(2031, 5, 10, 12, 0, 0, 0, time.UTC)
	saved := now.Add(-3 * time.Hour)
	return &metrics.Status{
		Task: "orders", State: metrics.StateStopped, Now: now, Problems: []string{"dial tcp 127.0.0.1:9464: connection refused"}, Checkpoint: metrics.CheckpointStatus{CommittedAt: &saved},
		Tables: []metrics.TableStatus{
			{Table: "dbo.Orders", State: metrics.StateStopped, Version: 2, Position: "20310510120000000000000000000000099", CommittedAt: &saved},
			{Table: "dbo.Stock", State: metrics.StateStopped, Load: &metrics.LoadStatus{State: "paused", Done: 10, Total: 40}},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  *metrics.Status
		options Options
	}{
		"running":    {example(), Options{Where: "127.0.0.1:9464"}},
		"terminal":   {example(), Options{Where: "127.0.0.1:9464", Width: 80, Color: true, Rows: 4}},
		"stopped":    {stopped(), Options{Where: "Kafka topic ctbridge.orders.checkpoint"}},
		"stopped-80": {stopped(), Options{Where: "Kafka topic ctbridge.orders.checkpoint", Width: 80}},
	} {
		var b strings.Builder
		if err := Write(&b, c.status, c.options); err != nil {
			t.Fatal(err)
		}
		golden := "testdata/" + name + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || b.String() != string(want) {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
		if c.options.Width == 0 {
			continue
		}
		_, table, _ := strings.Cut(regexp.MustCompile(`\x1b\[\d*m`).ReplaceAllString(b.String(), ""), "TABLE ")
		for line := range strings.Lines("TABLE " + table) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > c.options.Width {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

// A replica that stands by, and who runs which shard.
func TestMembers(t *testing.T) {
	t.Parallel()
	s := example()
	three := 3
	s.Shards = []metrics.ShardStatus{{Number: 0, State: "active", Replica: "pod-0", Tables: &three}, {Number: 1, State: "draining", Replica: ""}}
	s.Replicas = []metrics.ReplicaStatus{{ID: "pod-0", Shards: []int{0}}, {ID: "pod-1", Shards: []int{}}}
	var b strings.Builder
	if err := Write(&b, s, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"shard 0     active on pod-0, 3 tables", "shard 1     draining on nobody", "standing by pod-1"} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[float64]string{0: "0s", 0.0001: "1ms", 0.25: "250ms", 1: "1s", 59.6: "1m", 61: "1m1s", 3600: "1h", 3725: "1h2m", 90000: "1d1h", -5: "0s"} {
		if got := span(seconds); got != want {
			t.Errorf("%v is %s, want %s", seconds, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
	for r, want := range map[float64]string{0: "0", 0.24: "0.2", 12.6: "13", 12345: "12,345"} {
		if got := rate(r); got != want {
			t.Errorf("%v is %s", r, got)
		}
	}
	if got := shorten("dbo.größe_und_mehr", 9, true); utf8.RuneCountInString(got) != 9 || !strings.HasPrefix(got, "dbo.") || !strings.HasSuffix(got, "ehr") {
		t.Error(got)
	}
}
