package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ctbridge/metrics"
)

func noEnv(string) (string, bool) { return "", false }

// instance answers as an instance in that state does.
func instance(t *testing.T, asked func(), change func(s *metrics.Status)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/status" {
			http.NotFound(w, r)
			return
		}
		asked()
		s := metrics.New(metrics.Options{Task: "orders", StallTimeout: time.Minute}).Status()
		s.State = metrics.StateOK
		change(s)
		_ = json.NewEncoder(w).Encode(s)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func status(ctx context.Context, terminal bool, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	a := &app{out: &o, err: &e, env: noEnv, terminal: terminal}
	code = a.execute(ctx, append([]string{"status"}, args...))
	return code, o.String(), e.String()
}

func TestStatusCodes(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]int{
		metrics.StateOK: exitFine, metrics.StateStandby: exitFine, metrics.StateStarting: exitFine, metrics.StateDegraded: exitFailed, metrics.StateAway: exitFailed, metrics.StateStuck: exitFailed,
		"one of a later version": exitFailed,
	} {
		url := instance(t, func() {}, func(s *metrics.Status) { s.State = state })
		for _, args := range [][]string{{"--address", url}, {"--address", url, "--json"}} {
			code, out, errs := status(t.Context(), false, args...)
			if code != want || (errs == "") != (want == exitFine) || !strings.Contains(out, "orders") {
				t.Errorf("%s: code %d, want %d: %s%s", state, code, want, out, errs)
			}
		}
	}
}

// What answers and is not ours counts as nothing.
func TestStatusOfStrangers(t *testing.T) {
	t.Parallel()
	newer := instance(t, func() {}, func(s *metrics.Status) { s.Format = metrics.StatusFormat + 1 })
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"hello":1}`)) }))
	t.Cleanup(stranger.Close)
	older := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(older.Close)
	for url, want := range map[string]string{newer: "is newer than this program", stranger.URL: "is no ctbridge", older.URL: "answers 404"} {
		if code, _, errs := status(t.Context(), false, "--address", url); code != exitEnvironment || !strings.Contains(errs, want) {
			t.Errorf("code %d: %s, want %q", code, errs, want)
		}
	}
}

// Watching looks again until it is stopped, draws anew on a terminal only, and ends with the code of the last look.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{false, true} {
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		var looks atomic.Int32
		url := instance(t, func() {
			if looks.Add(1) == 4 {
				stop()
			}
		}, func(s *metrics.Status) {
			if looks.Load() > 1 {
				s.State, s.Problems = metrics.StateDegraded, []string{"1 of 1 tables failed"}
			}
		})
		code, out, errs := status(ctx, terminal, "--address", url, "--watch", "--every", "100ms")
		if code != exitFailed || strings.Count(out, "orders") < 3 || !strings.Contains(errs, "1 of 1 tables failed") {
			t.Errorf("code %d after %d looks: %s%s", code, looks.Load(), out, errs)
		}
		if cleared := strings.Contains(out, "\x1b[2J"); cleared != terminal {
			t.Errorf("terminal %v, cleared %v", terminal, cleared)
		}
		stop()
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		":9464": "127.0.0.1:9464", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "127.0.0.1:1", "10.0.0.7:9464": "10.0.0.7:9464", "": "", "127.0.0.1:0": "", "[::1]:7": "[::1]:7",
	} {
		if got := dialable(listen); got != want {
			t.Errorf("%q becomes %q, want %q", listen, got, want)
		}
	}
	for address, want := range map[string]string{"pod-0:9464": "http://pod-0:9464", "https://x/ctbridge/": "https://x/ctbridge", "": ""} {
		if got, err := instanceURL("http://", address); err != nil || got != want {
			t.Errorf("%q becomes %q, %v; want %q", address, got, err, want)
		}
	}
	if _, err := instanceURL("http://", "pod-0"); err == nil {
		t.Error("a host without port is taken")
	}
}

// Secrets of the configuration reach neither output nor errors.
func TestStatusTellsNoSecret(t *testing.T) {
	t.Parallel()
	const planted = "c0rrect-horse"
	file := filepath.Join(t.TempDir(), "a.yaml")
	text := "task: a\nsource: {engine: sqlserver, dsn: 'sqlserver://u:" + planted + "@127.0.0.1:1/x'}\nkafka: {brokers: ['127.0.0.1:1'], sasl: {mechanism: PLAIN, username: u, password: " + planted + "}}\nmetrics: {listen: '127.0.0.1:1'}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := status(t.Context(), false, file, "--timeout", "3s")
	if code != exitEnvironment || strings.Contains(out+errs, planted) {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
}
