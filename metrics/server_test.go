package metrics

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ctbridge/bridge/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServe(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	s := NewServer("127.0.0.1:0", m.Handler(), Guard{})
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + s.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), `ctbridge_build_info{goversion="go`) || !strings.Contains(string(body), `version="1.2.3"} 1`) {
		t.Errorf("%v: %.300s", err, body)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := client.Get("http://" + s.Addr().String() + "/metrics"); err == nil {
		t.Error("it still answers")
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	first := NewServer("127.0.0.1:0", http.NotFoundHandler(), Guard{})
	if err := first.Listen(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.listener.Close() }()
	err := NewServer(first.Addr().String(), http.NotFoundHandler(), Guard{}).Serve(context.Background())
	if err == nil || fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), first.Addr().String()) || !strings.Contains(err.Error(), "set metrics.listen to a free port") {
		t.Error(err)
	}
	if err := NewServer("192.0.2.1:1", nil, Guard{}).Listen(); err == nil || !strings.Contains(err.Error(), "an address of this machine") {
		t.Error(err)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	m, _ := newMetrics()
	for _, path := range []string{"/", "/status.css", "/status.js", "/api/status", "/metrics", "/healthz", "/readyz"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			w := httptest.NewRecorder()
			m.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
			if w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s is %d", method, path, w.Code)
			}
		}
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/elsewhere", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("/elsewhere is %d", w.Code)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := NewServer(":0", nil, Guard{}).server
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("%+v", s)
	}
}
