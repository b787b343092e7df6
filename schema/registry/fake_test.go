package registry

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	schemaOne = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`
	schemaTwo = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"weight","type":["null","int"],"default":null}]}`
	schemaBad = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"zone","type":"string"}]}`
)

// fake is a registry on a loopback port that can go away and come back, and counts what it is asked.
type fake struct {
	*srfake.Registry
	t       testing.TB
	handler http.Handler
	address string
	server  *http.Server
	down    sync.WaitGroup

	posts, lookups, others atomic.Int32
	levels                 sync.Map // subject → the level that was put
}

func newFake(t testing.TB, options ...srfake.Option) *fake {
	f := &fake{Registry: srfake.NewRegistry(options...), t: t, address: "127.0.0.1:0"}
	f.handler = f.Handler()
	f.start()
	t.Cleanup(f.stop)
	return f
}

func (f *fake) url() string { return "http://" + f.address }

func (f *fake) start() {
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.address = listener.Addr().String()
	f.server = &http.Server{Handler: http.HandlerFunc(f.count)}
	f.down.Go(func() { _ = f.server.Serve(listener) })
}

func (f *fake) stop() {
	_ = f.server.Close()
	f.down.Wait()
}

func (f *fake) count(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/versions"):
		f.posts.Add(1)
	case r.Method == http.MethodPost:
		f.lookups.Add(1)
	case r.Method == http.MethodPut:
		f.levels.Store(strings.TrimPrefix(r.URL.Path, "/config/"), true)
	default:
		f.others.Add(1)
	}
	f.handler.ServeHTTP(w, r)
}

// breaks answers registrations with a status and a body until it has done so as many times.
func (f *fake) breaks(times int32, status int, body string) {
	var done atomic.Int32
	f.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/versions") || done.Add(1) > times {
			return false
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	})
}

// checksCompatibility makes the fake refuse what is not backward compatible to the newest schema, as real registries do.
func (f *fake) checksCompatibility(t testing.TB) {
	f.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		registering := strings.HasSuffix(r.URL.Path, "/versions") && strings.HasPrefix(r.URL.Path, "/subjects/")
		if r.Method != http.MethodPost || !registering && !strings.HasPrefix(r.URL.Path, "/compatibility/") {
			return false
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		var request sr.Schema
		if err := json.Unmarshal(text, &request); err != nil {
			t.Error(err)
		}
		subject := strings.Split(r.URL.Path, "/")[2]
		if !registering {
			subject = strings.Split(r.URL.Path, "/")[3]
		}
		reason := f.reason(t, subject, request.Schema)
		switch {
		case registering && reason == "":
			return false
		case registering:
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(map[string]any{"error_code": 409, "message": reason})
		case !f.SubjectExists(subject):
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"error_code": 40401, "message": "no subject"})
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"is_compatible": reason == "", "messages": []string{reason}})
		}
		return true
	})
}

func (f *fake) reason(t testing.TB, subject, text string) string {
	newest := ""
	for version := 1; ; version++ {
		s, ok := f.GetSchema(subject, version)
		if !ok {
			break
		}
		newest = s.Schema.Schema
	}
	if newest == "" {
		return ""
	}
	reader, err := avro.Parse(text)
	if err != nil {
		t.Error(err)
		return ""
	}
	if err := avro.CheckCompatibility(avro.MustParse(newest), reader); err != nil {
		return err.Error()
	}
	return ""
}

// client talks to the fake without long pauses.
func (f *fake) client(change func(*Config)) *Client {
	f.t.Helper()
	config := Config{URL: f.url(), Timeout: 10 * time.Second, Backoff: time.Millisecond}
	if change != nil {
		change(&config)
	}
	return newClient(f.t, config)
}

func newClient(t testing.TB, config Config) *Client {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
