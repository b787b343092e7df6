package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"ctbridge/bridge/config"
)

// Profiles are served where the configuration asks for them, and only there.
func TestProfiling(t *testing.T) {
	t.Parallel()
	for profiling, want := range map[bool]int{false: http.StatusNotFound, true: http.StatusOK} {
		text := fmt.Sprintf("task: t\nsource: {engine: sqlite, dsn: %s/a.db}\nkafka: {brokers: \"127.0.0.1:1\"}\nmetrics: {listen: \"127.0.0.1:0\", profiling: %v}\n", t.TempDir(), profiling)
		settings, err := config.Parse([]byte(text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		task, err := New(settings, "test", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- task.server.Serve(ctx) }()
		response, err := http.Get("http://" + task.MetricsAddr() + "/debug/pprof/heap")
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != want {
			t.Errorf("profiling %v: %s", profiling, response.Status)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}
