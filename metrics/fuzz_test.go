package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequests asks the port in any way: a known answer, bounded, without the password in it, and the open paths no more than their code.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/api/status", "a=b", "Accept-Encoding", "gzip")
	f.Add("HEAD", "/", "", "Authorization", "Basic d2hvOnMzY3JldC1wYXNzd29yZA==")
	f.Add("GET", "/metrics", "name[]=x&collect[]=y", "Accept", "application/openmetrics-text; version=1.0.0; escaping=values")
	f.Add("POST", "/../api//status", "", "X-HTTP-Method-Override", "GET")
	f.Add("GET", "//evil.test/%2e%2e", "", "Range", "bytes=0-9999999999")
	m, _ := newMetrics()
	guarded := Guard{Username: "who", Password: "s3cret-password"}.Wrap(m.Handler())
	f.Fuzz(func(t *testing.T, method, path, query, header, value string) {
		u := &url.URL{Scheme: "http", Host: "x", Path: path, RawQuery: query}
		for _, h := range []http.Handler{m.Handler(), guarded} {
			r := &http.Request{Method: method, URL: u, Host: "x", Header: http.Header{}, Body: io.NopCloser(strings.NewReader(value)), ProtoMajor: 1, ProtoMinor: 1}
			r.Header.Set(header, value)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			switch w.Code {
			case 200, 206, 301, 304, 307, 308, 400, 401, 403, 404, 405, 416, 503:
			default:
				t.Errorf("%s %s answers %d", method, u, w.Code)
			}
			if w.Code == 200 && method != "GET" && method != "HEAD" {
				t.Errorf("%q %s answers 200", method, u)
			}
			if w.Body.Len() > 1<<20 || strings.Contains(w.Body.String(), "s3cret") {
				t.Errorf("%s %s answers %.200q", method, u, w.Body)
			}
			if to := w.Header().Get("Location"); to != "" && (strings.HasPrefix(to, "//") || strings.Contains(to, "://") && !strings.HasPrefix(to, "http://x")) {
				t.Errorf("%s %s leads to %s", method, u, to)
			}
		}
	})
}
