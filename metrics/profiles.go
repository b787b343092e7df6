package metrics

import (
	"net/http"
	"net/http/pprof"
)

// WithProfiles puts the profiles of the Go runtime (net/http/pprof) under /debug/pprof/ in front of a handler. They hold no data of the task, but
// whoever asks for one slows the process down for as long, so that this is a choice of the configuration. The package's own registration on
// the default mux is of no consequence: no server here serves it.
func WithProfiles(handler http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // heap, allocs, goroutine, block, mutex, threadcreate, by name
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
