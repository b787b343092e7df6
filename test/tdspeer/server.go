package tdspeer

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// Handler answers a query. sql is the text of a batch or of an sp_executesql call, args are its arguments: nil, bool, int64, float64, string
// (nvarchar), VarChar, []byte. It is called from one goroutine per connection.
type Handler func(sql string, args []any) Result

// Result is the answer to a query: columns and rows, then an error or a fault, if there is one.
type Result struct {
	Columns []Column
	Rows    [][]any // see values.go for what a column of each type takes
	NBC     bool    // rows with a NULL go as NBCROW, as a server does for wide tables
	Err     *Error
	Then    Fault
}

// Error is a server's error.
type Error struct {
	Number       int32
	State, Class byte // 0 = 1 and 16
	Message      string
}

// Fail is the result of a query that fails at once.
func Fail(number int32, message string) Result {
	return Result{Err: &Error{Number: number, Message: message}}
}

// Fault is how the peer misbehaves.
type Fault uint8

// The faults.
const (
	Answer  Fault = iota // no fault
	Silence              // what was written so far is sent, then nothing, not even to a cancellation; the connection stays open
	Hang                 // as Silence, but a cancellation is confirmed
	Cut                  // the connection is closed in the middle of the last token
)

// Phase is a moment in the life of a connection.
type Phase uint8

// The phases.
const (
	Prelogin Phase = iota
	LoggingIn
	Querying
	phases
)

// Server is one peer.
type Server struct {
	listener net.Listener
	inner    *tls.Config // of a handshake inside of packets; nil = no encryption
	running  sync.WaitGroup

	mu      sync.Mutex
	handler Handler
	faults  [phases]Fault
	refusal *Error
	replica *Server
	conns   map[net.Conn]struct{}
	logins  []Login
	queries []string
}

// Start listens until the test ends.
func Start(tb testing.TB, handler Handler) *Server { return StartTLS(tb, handler, nil) }

// StartTLS is Start with TLS around the whole protocol, which TDS 8.0 calls strict encryption; nil = none.
func StartTLS(tb testing.TB, handler Handler, secure *tls.Config) *Server {
	tb.Helper()
	return listen(tb, handler, secure, nil)
}

// StartEncrypted is Start with TLS that begins within the protocol, which is encrypt=true.
func StartEncrypted(tb testing.TB, handler Handler, secure *tls.Config) *Server {
	tb.Helper()
	secure = secure.Clone()
	secure.MaxVersion = tls.VersionTLS12 // the protocol knows no newer one in there
	return listen(tb, handler, nil, secure)
}

func listen(tb testing.TB, handler Handler, secure, inner *tls.Config) *Server {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	if secure != nil {
		secure = secure.Clone()
		secure.NextProtos = []string{"tds/8.0"}
		listener = tls.NewListener(listener, secure)
	}
	s := &Server{listener: listener, inner: inner, handler: handler, conns: map[net.Conn]struct{}{}}
	s.running.Add(1)
	go s.accept()
	tb.Cleanup(s.stop)
	return s
}

// Addr is host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// password is the only one that logs in.
const password = "s3cret"

// DSN is a URL for database "main", as user peer, with options of the form name=value. Encryption is off: the peer has none.
func (s *Server) DSN(options ...string) string {
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword("peer", password), Host: s.Addr()}
	text := "encrypt=disable&database=main"
	for _, o := range options {
		text += "&" + o
	}
	u.RawQuery = text
	return u.String()
}

// At sets what happens at a phase, on connections present and new, until it is set to Answer.
func (s *Server) At(p Phase, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[p] = f
}

// RefuseLogins answers logins with an error; nil accepts them again.
func (s *Server) RefuseLogins(e *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = e
}

// RouteReaders sends logins with ApplicationIntent=ReadOnly on to another peer, as an availability group's primary does with a routing list.
func (s *Server) RouteReaders(to *Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replica = to
}

// route is where a login is sent on to, nil for here.
func (s *Server) route(l Login) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.ReadOnly {
		return nil
	}
	return s.replica
}

// Handle sets another handler.
func (s *Server) Handle(h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

// Logins are those seen so far, accepted or not.
func (s *Server) Logins() []Login {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logins)
}

// Queries are the texts seen so far, session settings and pings included.
func (s *Server) Queries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queries)
}

// Disconnect closes all connections, as a server that goes down.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

func (s *Server) fault(p Phase) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults[p]
}

func (s *Server) stop() {
	s.listener.Close()
	s.Disconnect()
	s.running.Wait()
}

func (s *Server) accept() {
	defer s.running.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = struct{}{}
		s.mu.Unlock()
		s.running.Add(1)
		go s.serve(conn)
	}
}

func (s *Server) serve(conn net.Conn) {
	defer s.running.Done()
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	session := &session{server: s, wire: newWire(conn)}
	session.run()
}

// answer asks the handler, but for what every client sends on its own: session settings and pings.
func (s *Server) answer(sql string, args []any) Result {
	s.mu.Lock()
	s.queries = append(s.queries, sql)
	handler := s.handler
	s.mu.Unlock()
	switch {
	case len(sql) > 4 && sql[:4] == "SET ":
		return Result{}
	case sql == "select 1;" || sql == "select 1":
		return Result{Columns: []Column{{Name: "", Type: "int"}}, Rows: [][]any{{1}}}
	case handler == nil:
		return Fail(208, "no handler for "+sql)
	}
	return handler(sql, args)
}

func (s *Server) login(l Login) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins = append(s.logins, l)
	if s.refusal == nil && l.Password != password {
		return &Error{Number: 18456, Class: 14, Message: "Login failed for user '" + l.User + "'."}
	}
	return s.refusal
}

// String names the server in test output.
func (s *Server) String() string { return fmt.Sprintf("tdspeer at %s", s.Addr()) }
