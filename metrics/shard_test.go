package metrics

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
)

func page(t *testing.T, m *Metrics, path string) (code int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// A standby is ready while its group answers; a replica that runs shards is what these are.
func TestReplicaHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{StallTimeout: time.Minute})
		m.Replicated(2)
		state := func(wantCode int, want ...string) {
			t.Helper()
			code, body := page(t, m, "/readyz")
			if code != wantCode {
				t.Errorf("/readyz answers %d: %s", code, body)
			}
			for _, part := range want {
				if !strings.Contains(body, part) {
					t.Errorf("/readyz lacks %s: %s", part, body)
				}
			}
		}
		state(503, `"role":"standby"`, `"group":"not asked yet"`)
		m.GroupReachable(nil)
		state(200, `"role":"standby"`, `"group":"ok"`)
		m.GroupReachable(errors.New("away"))
		state(503, `"group":"away"`)

		s := m.Shard(1)
		state(503, `"role":"active"`, `"shards":[1]`, "no poll has ended")
		s.SourceReachable(nil)
		s.SinkReachable(nil)
		s.Polled(time.Millisecond)
		state(200, `"role":"active"`) // it works, whatever the group says
		s.TableChanged(change.TableID{Name: "t"}, bridge.TableFailed, 1, errors.New("bad row"))
		state(200, `"t":"bad row"`)
		s.Pending(true)
		<-time.After(2 * time.Minute)
		if code, body := page(t, m, "/healthz"); code != 503 || !strings.Contains(body, "shard 1: ") {
			t.Errorf("a stuck shard: /healthz answers %d: %s", code, body)
		}
		s.Close()
		m.GroupReachable(nil)
		if code, body := page(t, m, "/healthz"); code != 200 {
			t.Errorf("a standby: /healthz answers %d: %s", code, body)
		}
		state(200, `"role":"standby"`)
		if _, body := page(t, m, "/readyz"); strings.Contains(body, "bad row") {
			t.Errorf("the table of a shard that runs elsewhere is still told: %s", body)
		}
	})
}

// A shard that is stuck shows beside one that works, also in a process that is alone.
func TestHealthOfShardsInOneProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{StallTimeout: time.Minute})
		stuck, well := m.Shard(0), m.Shard(1)
		stuck.Pending(true)
		<-time.After(2 * time.Minute)
		well.Polled(time.Millisecond)
		well.Pending(false)
		if code, body := page(t, m, "/healthz"); code != 503 || !strings.Contains(body, "shard 0: ") || strings.Contains(body, "shard 1: ") {
			t.Errorf("/healthz answers %d: %s", code, body)
		}
		if _, body := page(t, m, "/readyz"); strings.Contains(body, `"group"`) || !strings.Contains(body, `"role":"single"`) {
			t.Errorf("/readyz tells of a group: %s", body)
		}
	})
}

// Gauges of tables go with their shard, so that no alarm is raised by what is not so any more; counters stay.
func TestShardTakesItsGaugesAway(t *testing.T) {
	t.Parallel()
	m := New(Options{StallTimeout: time.Minute})
	m.Replicated(1)
	s := m.Shard(0)
	id := change.TableID{Schema: "dbo", Name: "orders"}
	s.TableChanged(id, bridge.TableStreaming, 3, nil)
	s.Lag(id, 5*time.Second)
	s.RowsRead(id, 7)
	s.Polled(time.Millisecond)
	_, body := page(t, m, "/metrics")
	for _, line := range []string{`ctbridge_shard_active{shard="0"} 1`, `ctbridge_source_lag_seconds{table="dbo.orders"} 5`, `ctbridge_table_version{table="dbo.orders"} 3`} {
		if !strings.Contains(body, line) {
			t.Errorf("no %s", line)
		}
	}
	s.Close()
	_, body = page(t, m, "/metrics")
	for _, gone := range []string{"source_lag_seconds{", "table_version{", "table_state{"} {
		if strings.Contains(body, "ctbridge_"+gone) {
			t.Errorf("%s is left", gone)
		}
	}
	for _, line := range []string{`ctbridge_shard_active{shard="0"} 0`, `ctbridge_rows_read_total{table="dbo.orders"} 7`, "ctbridge_rebalances_total 0",
		"ctbridge_last_poll_timestamp_seconds 0"} {
		if !strings.Contains(body, line) {
			t.Errorf("no %s", line)
		}
	}
}
