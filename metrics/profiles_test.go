package metrics

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

var profilePaths = []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/allocs", "/debug/pprof/goroutine", "/debug/pprof/symbol", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.01"}

// Profiles are there where they are wanted, and nowhere else; what else the port serves stays as it is.
func TestProfiles(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	with := WithProfiles(m.Handler())
	for _, path := range profilePaths {
		if code := plainCode(m.Handler(), path); code != http.StatusNotFound {
			t.Errorf("%s without profiles: %d", path, code)
		}
		w := httptest.NewRecorder()
		with.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %d bytes", path, w.Code, w.Body.Len())
		}
		w = httptest.NewRecorder()
		with.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		if w.Code == http.StatusOK {
			t.Errorf("POST %s is %d", path, w.Code)
		}
	}
	for _, path := range append([]string{"/debug/pprof/cmdline", "/debug/", "/elsewhere"}, paths...) {
		if got, want := plainCode(with, path), plainCode(m.Handler(), path); got != want {
			t.Errorf("%s is %d, %d without profiles", path, got, want)
		}
	}
}

// A profile is behind the same password as the metrics.
func TestProfilesGuarded(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	guarded := Guard{Username: "prometheus", Password: "s3cret"}.Wrap(WithProfiles(m.Handler()))
	for _, path := range profilePaths {
		if code := plainCode(guarded, path); code != http.StatusUnauthorized {
			t.Errorf("%s tells a stranger %d", path, code)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", nil)
	r.SetBasicAuth("prometheus", "s3cret")
	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("with the password: %d", w.Code)
	}
}
