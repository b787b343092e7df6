package metrics

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ctbridge/bridge/fault"
)

// Handler serves /metrics, /healthz, /readyz, the status page at / and its data at /api/status, for GET and HEAD only.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		l := m.health.live()
		answer(w, l.Healthy, l)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		r := m.health.ready()
		answer(w, r.Ready, r)
	})
	m.routePage(mux)
	return mux
}

// answer is 200 or 503 with a JSON body.
func answer(w http.ResponseWriter, good bool, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(body) // a client that has gone is nobody's problem
}

// Server serves a handler on one address.
type Server struct {
	listen   string
	guard    Guard
	server   *http.Server
	listener net.Listener
}

// NewServer prepares a server for host:port; it does not listen yet.
func NewServer(listen string, handler http.Handler, guard Guard) *Server {
	return &Server{listen: listen, guard: guard, server: &http.Server{
		Handler:           guard.Wrap(handler),
		ErrorLog:          log.New(io.Discard, "", 0), // what strangers send is no event of the task
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}}
}

// Listen takes the address. A caller that must know before it starts anything else calls it ahead of Serve.
func (s *Server) Listen() error {
	secure, err := s.guard.tlsConfig()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		hint := "set metrics.listen to an address of this machine"
		if errors.Is(err, syscall.EADDRINUSE) {
			hint = "another program listens there: set metrics.listen to a free port"
		}
		return fault.New(fault.Fatal, "listen for metrics on "+s.listen, err, hint)
	}
	s.listener = listener
	if secure != nil {
		s.listener = tls.NewListener(listener, secure)
	}
	return nil
}

// Addr is the address that Listen took.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends, then lets running requests finish. It returns nil after such a stop.
func (s *Server) Serve(ctx context.Context) error {
	if s.listener == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		err := s.server.Shutdown(grace)
		if err != nil {
			err = s.server.Close()
		}
		stopped <- err
	})
	err := s.server.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return <-stopped
	}
	unhook()
	return fmt.Errorf("serve metrics on %s: %w", s.listen, err)
}

// Close gives the address back, if Serve has not done so.
func (s *Server) Close() error {
	if s.listener == nil {
		return nil
	}
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
