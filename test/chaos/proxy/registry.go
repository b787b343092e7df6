package proxy

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// Mood is how a registry behaves.
type Mood int32

// The moods.
const (
	Well      Mood = iota
	Gone           // connections end without an answer
	FailAfter      // what is posted is stored, and answered with 500
	Conflict       // what is posted is answered with 409, and not stored
)

// Registry forwards HTTP to a schema registry.
type Registry struct {
	server *http.Server
	url    string
	mood   atomic.Int32
	struck atomic.Int64
}

// NewRegistry forwards to a base URL.
func NewRegistry(target string) (*Registry, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Registry{url: "http://" + listener.Addr().String() + to.Path}
	r.server = &http.Server{Handler: r.handler(to)}
	go func() { _ = r.server.Serve(listener) }() // ends with Close
	return r, nil
}

func (r *Registry) handler(to *url.URL) http.Handler {
	forward := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = to.Scheme, to.Host }}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mood := Mood(r.mood.Load())
		if mood == Well || mood != Gone && request.Method != http.MethodPost {
			forward.ServeHTTP(w, request)
			return
		}
		r.struck.Add(1)
		switch mood {
		case FailAfter:
			forward.ServeHTTP(httptest.NewRecorder(), request)
			answer(w, http.StatusInternalServerError, `{"error_code":50001,"message":"error in the backend data store"}`)
		case Conflict:
			answer(w, http.StatusConflict, `{"error_code":409,"message":"schema being registered is incompatible with an earlier schema"}`)
		default:
			panic(http.ErrAbortHandler) // net/http ends the connection
		}
	})
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// URL is its base URL, with the path of the other's.
func (r *Registry) URL() string { return r.url }

// Set changes the mood.
func (r *Registry) Set(m Mood) { r.mood.Store(int32(m)) }

// Struck is how many requests went wrong so far.
func (r *Registry) Struck() int { return int(r.struck.Load()) }

// Close ends it.
func (r *Registry) Close() { _ = r.server.Close() }
