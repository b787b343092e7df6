package registry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"ctbridge/bridge/fault"
)

// FuzzAnswers lets a registry, or what stands in its place, answer anything: a value that fits, or an error with a class and bounded words.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{`{"id":7}`, `{"schema":"\"string\""}`, `{"subject":"x","version":1,"id":-1,"schema":""}`, `{"error_code":40401,"message":"x"}`, "null", "[]", "<html>", `{"id":1e99}`, `{"is_compatible":"yes"}`} {
		for _, status := range []int{200, 404, 409, 500} {
			f.Add(status, []byte(seed))
		}
	}
	var now atomic.Pointer[http.HandlerFunc]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load())(w, r) }))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 || len(body) > 1<<16 {
			return
		}
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write(body)
		})
		now.Store(&answer)
		c, err := New(Config{URL: server.URL, Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		ctx := context.Background()
		id, err := c.Register(ctx, "s", `"string"`)
		expect(t, err, id > 0)
		id, found, err := c.Lookup(ctx, "s", `"string"`)
		expect(t, err, found == (id > 0))
		s, found, err := c.Latest(ctx, "s")
		expect(t, err, found == (s.ID > 0))
		_, err = c.Compatible(ctx, "s", `"string"`)
		expect(t, err, true)
		_, err = c.ByID(ctx, 3)
		expect(t, err, true)
	})
}

func expect(t *testing.T, err error, fits bool) {
	t.Helper()
	if err == nil && !fits {
		t.Error("neither a value nor an error")
	}
	if err != nil && (len(err.Error()) > 4096 || fault.ClassOf(err) == fault.Poison) {
		t.Errorf("%.500q", err)
	}
}
