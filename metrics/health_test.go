package metrics

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
)

// get asks the handler and gives the status and the decoded body.
func get(t *testing.T, m *Metrics, path string) (int, map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
	return w.Code, body
}

func wantHealth(t *testing.T, m *Metrics, status int, problem string) {
	t.Helper()
	code, body := get(t, m, "/healthz")
	text, _ := json.Marshal(body)
	if code != status || !strings.Contains(string(text), problem) || body["healthy"] != (status == http.StatusOK) {
		t.Errorf("/healthz is %d %s, want %d %q", code, text, status, problem)
	}
}

// Case 89: the producer's callback never returns while polls go on.
func TestCase89_StuckPublisherIsUnhealthy(t *testing.T) {
	t.Parallel()
	m, c := newMetrics()
	m.Polled(time.Millisecond)
	m.Pending(true)
	for range 6 {
		wantHealth(t, m, http.StatusOK, "")
		c.advance(10 * time.Second)
		m.Polled(time.Millisecond)
		m.Pending(true)
	}
	wantHealth(t, m, http.StatusOK, "")
	c.advance(time.Second)
	wantHealth(t, m, http.StatusServiceUnavailable, "nothing was committed for 1m1s")
	m.Committed(bridge.Commit{Records: 1})
	wantHealth(t, m, http.StatusOK, "")
	c.advance(stall + time.Second)
	m.Polled(time.Millisecond)
	wantHealth(t, m, http.StatusServiceUnavailable, "nothing was committed")
	m.Pending(false)
	wantHealth(t, m, http.StatusOK, "")
}

// Case 89: the whole task hangs, without an error.
func TestCase89_SilentReaderIsUnhealthy(t *testing.T) {
	t.Parallel()
	m, c := newMetrics()
	c.advance(stall)
	wantHealth(t, m, http.StatusOK, "") // a start takes its time
	c.advance(time.Second)
	wantHealth(t, m, http.StatusServiceUnavailable, "no poll ended for 1m1s")
	m.Polled(time.Millisecond)
	wantHealth(t, m, http.StatusOK, "")
	c.advance(stall + time.Second)
	wantHealth(t, m, http.StatusServiceUnavailable, "no poll ended for 1m1s")
}

// Case 89: an idle source stays green for an hour.
func TestCase89_IdleIsHealthy(t *testing.T) {
	t.Parallel()
	m, c := newMetrics()
	for range 3600 {
		c.advance(time.Second)
		m.Polled(time.Millisecond)
		m.Pending(false)
	}
	wantHealth(t, m, http.StatusOK, "")
}

// A long transaction is published commit by commit between two polls.
func TestLongTransactionIsHealthy(t *testing.T) {
	t.Parallel()
	m, c := newMetrics()
	m.Polled(time.Millisecond)
	m.Pending(true)
	for range 100 {
		c.advance(stall / 2)
		m.Committed(bridge.Commit{Records: 20000})
		wantHealth(t, m, http.StatusOK, "")
	}
}

// Case 73: ten minutes without brokers turn readiness red; a restart would not help, so liveness stays green while the task tries.
func TestCase73_AwayBrokersAreNotReadyButAlive(t *testing.T) {
	t.Parallel()
	m, c := newMetrics()
	m.Polled(time.Millisecond)
	m.SourceReachable(nil)
	m.SinkReachable(nil)
	m.Pending(true)
	for range 20 {
		c.advance(30 * time.Second)
		m.SinkReachable(errors.New("publish to orders: no broker answers"))
		wantHealth(t, m, http.StatusOK, "")
	}
	code, body := get(t, m, "/readyz")
	if code != http.StatusServiceUnavailable || body["sink"] != "publish to orders: no broker answers" || body["source"] != "ok" {
		t.Error(code, body)
	}
	c.advance(stall + time.Second) // it has given up trying
	wantHealth(t, m, http.StatusServiceUnavailable, "")
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	steps := []struct {
		do     func()
		status int
		want   map[string]any
	}{
		{func() {}, 503, map[string]any{"ready": false, "source": "not asked yet", "sink": "not asked yet", "start": "not finished: no poll has ended yet"}},
		{func() { m.SinkReachable(nil) }, 503, map[string]any{"sink": "ok", "ready": false}},
		{func() { m.SourceReachable(errors.New("connect: refused")) }, 503, map[string]any{"source": "connect: refused"}},
		{func() { m.SourceReachable(nil) }, 503, map[string]any{"source": "ok", "ready": false}},
		{func() { m.Polled(0) }, 200, map[string]any{"ready": true, "start": "ok"}},
		{func() { m.TableChanged(parcel, bridge.TableFailed, 1, errors.New("too large")) }, 200, map[string]any{"ready": true}},
		{func() { m.SourceReachable(errors.New("deadlock")) }, 503, map[string]any{"ready": false}},
		{func() { m.SourceReachable(nil) }, 200, map[string]any{"ready": true}},
	}
	for i, step := range steps {
		step.do()
		code, body := get(t, m, "/readyz")
		if code != step.status {
			t.Errorf("step %d: %d %v", i, code, body)
		}
		for key, want := range step.want {
			if body[key] != want {
				t.Errorf("step %d: %s is %v, want %v", i, key, body[key], want)
			}
		}
	}
}

// Case 89: a failed table does not hide behind a green task.
func TestCase89_FailedTablesAreTold(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	m.TableChanged(parcel, bridge.TableFailed, 1, errors.New("record too large"))
	m.TableChanged(depot, bridge.TableMissing, 0, nil)
	_, body := get(t, m, "/readyz")
	tables, _ := body["tables_not_streaming"].(map[string]any)
	if tables["shop.parcel"] != "record too large" || tables["shop.depot"] != "missing" {
		t.Error(body)
	}
	m.TableChanged(parcel, bridge.TableStreaming, 1, nil)
	m.TableChanged(depot, bridge.TableStreaming, 1, nil)
	if _, body := get(t, m, "/readyz"); body["tables_not_streaming"] != nil {
		t.Error(body)
	}
}

// A hole that reading went on behind stays in the status until the next start.
func TestGapsAreTold(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	m.Gap(parcel, bridge.Gap{Reason: "rows_purged", From: "3", To: "8"})
	_, body := get(t, m, "/readyz")
	gaps, _ := body["gaps"].(map[string]any)
	if gaps["shop.parcel"] != "rows_purged: change sequences above 3, up to 8" {
		t.Error(body)
	}
}
