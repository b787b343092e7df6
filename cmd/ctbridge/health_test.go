package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, r.URL.Path+"\n")
	}))
	t.Cleanup(server.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct {
		args []string
		code int
		out  string
		err  string
	}{
		"well":          {[]string{"--address", server.URL}, exitFine, "/healthz\n", ""},
		"host and port": {[]string{"--address", strings.TrimPrefix(server.URL, "http://")}, exitFine, "/healthz\n", ""},
		"not ready":     {[]string{"--address", server.URL + "/", "--ready"}, exitFailed, "/readyz\n", "503"},
		"nobody":        {[]string{"--address", gone.URL}, exitEnvironment, "", "metrics.listen"},
		"no address":    {[]string{"--address", "http://a b"}, exitUsage, "", "--address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, problem bytes.Buffer
			a := &app{in: strings.NewReader(""), out: &out, err: &problem, env: func(string) (string, bool) { return "", false }}
			code := a.execute(context.Background(), append([]string{"health"}, c.args...))
			if code != c.code || out.String() != c.out || !strings.Contains(problem.String(), c.err) {
				t.Errorf("exit %d, %q, %q", code, out.String(), problem.String())
			}
		})
	}
}

func TestHealthURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		":9464": "http://127.0.0.1:9464", "0.0.0.0:1": "http://127.0.0.1:1", "[::]:1": "http://127.0.0.1:1", "[::1]:1": "http://[::1]:1",
		"bridge:9464": "http://bridge:9464", "https://bridge/": "https://bridge",
	} {
		if got := healthURL("http://", address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
