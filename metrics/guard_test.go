package metrics

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/fault"
	"ctbridge/test/certs"
)

var paths = []string{"/", "/status.css", "/status.js", "/api/status", "/metrics", "/healthz", "/readyz"}

// Probes answer everybody, with their code and no word; everything else wants the password.
func TestBasicAuth(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	handler := Guard{Username: "prometheus", Password: "s3cret"}.Wrap(m.Handler())
	for _, login := range []struct {
		user, password string
		want           int
	}{{"", "", 401}, {"prometheus", "", 401}, {"prometheus", "s3cret2", 401}, {"root", "s3cret", 401}, {"", "s3cret", 401}, {"prometheus", "s3cret", 200}} {
		for _, path := range paths {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			if login.user+login.password != "" {
				r.SetBasicAuth(login.user, login.password)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			switch refused := login.want == 401; {
			case probes[path]:
				if plain := plainCode(m.Handler(), path); w.Code != plain || (w.Body.Len() == 0) != refused {
					t.Errorf("%s as %v: %d %q, unguarded %d", path, login, w.Code, w.Body, plain)
				}
			case w.Code != login.want || refused != strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Basic "):
				t.Errorf("%s as %v: %d %v", path, login, w.Code, w.Header())
			case refused && strings.Contains(w.Body.String(), "ctbridge_"):
				t.Errorf("%s tells %q to a stranger", path, w.Body)
			}
		}
	}
}

func plainCode(h http.Handler, path string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code
}

// serve runs a guarded server until the test ends.
func serve(t *testing.T, g Guard) string {
	t.Helper()
	m, _ := newMetrics()
	s := NewServer("127.0.0.1:0", m.Handler(), g)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

func fetch(url string, secure *tls.Config) (code int, body string, err error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: secure}}
	response, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := certs.New(t), certs.New(t)
	pair, client, stranger := ca.Sign(nil), ca.Sign(nil), other.Sign(nil)
	with := func(p *certs.Pair) *tls.Config {
		c := &tls.Config{RootCAs: ca.Pool}
		if p != nil {
			c.Certificates = []tls.Certificate{p.TLS}
		}
		return c
	}
	open := "https://" + serve(t, Guard{CertFile: pair.CertFile, KeyFile: pair.KeyFile})
	if code, _, err := fetch(open+"/metrics", with(nil)); code != 200 {
		t.Error(code, err)
	}
	if _, _, err := fetch(open+"/metrics", &tls.Config{RootCAs: other.Pool}); err == nil {
		t.Error("a client that does not trust the authority is served")
	}
	if code, _, _ := fetch(strings.Replace(open, "https", "http", 1)+"/metrics", nil); code == 200 {
		t.Error("plain HTTP is served, too")
	}
	if _, _, err := fetch(open+"/metrics", &tls.Config{RootCAs: ca.Pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 is served")
	}
	mutual := "https://" + serve(t, Guard{CertFile: pair.CertFile, KeyFile: pair.KeyFile, ClientCAFile: ca.File})
	for _, path := range paths {
		code, body, err := fetch(mutual+path, with(&client))
		if err != nil || !probes[path] && code != 200 || body == "" {
			t.Errorf("%s with a certificate: %d %v", path, code, err)
		}
		code, body, err = fetch(mutual+path, with(nil))
		if err != nil || !probes[path] && code != 403 || probes[path] && (code == 403 || body != "") {
			t.Errorf("%s without a certificate: %d %q %v", path, code, body, err)
		}
		if code, _, err = fetch(mutual+path, with(&stranger)); err == nil {
			t.Errorf("%s with a certificate of another authority: %d", path, code)
		}
	}
}

// A rotated certificate is served at once; one that is half written leaves the old one in place.
func TestRotation(t *testing.T) {
	t.Parallel()
	ca, next := certs.New(t), certs.New(t)
	pair, renewed := ca.Sign(nil), next.Sign(nil)
	address := "https://" + serve(t, Guard{CertFile: pair.CertFile, KeyFile: pair.KeyFile})
	put := func(from, to string) {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(renewed.CertFile, pair.CertFile)
	if code, _, err := fetch(address+"/metrics", &tls.Config{RootCAs: ca.Pool}); code != 200 {
		t.Error("between the two files:", code, err)
	}
	put(renewed.KeyFile, pair.KeyFile)
	if code, _, err := fetch(address+"/metrics", &tls.Config{RootCAs: next.Pool}); code != 200 {
		t.Error("after the second file:", code, err)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	ca := certs.New(t)
	pair, another := ca.Sign(nil), ca.Sign(nil)
	for name, g := range map[string]Guard{
		"cert_file":      {CertFile: "/none", KeyFile: "/none"},
		"PEM pair":       {CertFile: pair.CertFile, KeyFile: another.KeyFile},
		"client_ca_file": {CertFile: pair.CertFile, KeyFile: pair.KeyFile, ClientCAFile: pair.KeyFile},
	} {
		err := NewServer("127.0.0.1:0", nil, g).Listen()
		if fault.ClassOf(err) != fault.Config || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// However the port is asked, the task notices nothing: it has no verb but reading.
func TestAskingChangesNothing(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	scrape := func() string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/status", nil))
		body := w.Body.String()
		return body[strings.Index(body, `"tables"`):]
	}
	before := scrape()
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"} {
		for _, path := range append(paths, "/api/status?reset=1", "/debug/pprof/", "/-/quit", "/api/v1/admin", "/..%2f") {
			w := httptest.NewRecorder()
			m.Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(`{"reset":true}`)))
			if reading := method == "GET" || method == "HEAD"; !reading && w.Code/100 == 2 {
				t.Errorf("%s %s is %d", method, path, w.Code)
			}
		}
	}
	if after := scrape(); after != before {
		t.Errorf("the status went from\n%s to\n%s", before, after)
	}
}
