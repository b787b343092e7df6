package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// errCut is what dialling a cut line gives.
var errCut = errors.New("connection closed by ctbridge")

// line opens the connections of one session and can cut them all at once. Cutting is how a context ends calls of the client, which know
// no context: reads and writes fail and new connections are refused.
type line struct {
	tls     *tls.Config // nil = plain text
	timeout time.Duration

	ctx    context.Context // ends when the line is cut
	cancel context.CancelFunc

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	trouble error // the last connection that failed; nil once one succeeded
	ended   int   // requests sent on the last connection that the other side closed
}

func newLine(ctx context.Context, c Config) *line {
	l := &line{tls: c.TLS, timeout: c.DialTimeout, conns: map[net.Conn]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// Dial connects to a broker and finishes the TLS handshake, so that its failure is known by its own name.
func (l *line) Dial(network, address string) (net.Conn, error) {
	if l.isCut() {
		return nil, errCut
	}
	conn, err := l.connect(network, address)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = err
	if err != nil {
		return nil, err
	}
	if l.isCut() {
		conn.Close()
		return nil, errCut
	}
	l.conns[conn] = struct{}{}
	return &lineConn{Conn: conn, line: l}, nil
}

func (l *line) connect(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.timeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil || l.tls == nil {
		return conn, err
	}
	config := l.tls.Clone()
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			conn.Close()
			return nil, err
		}
		config.ServerName = host
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, &handshakeError{err}
	}
	return secure, nil
}

// cut closes every connection and refuses new ones.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	for conn := range l.conns {
		conn.Close()
	}
}

func (l *line) isCut() bool { return l.ctx.Err() != nil }

// lastTrouble is why the last connection could not be made, nil if it could.
func (l *line) lastTrouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// refused reports whether the other side closed the last connection when that many requests were sent.
func (l *line) refused(requests int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended == requests
}

// handshakeError is a TLS handshake that failed.
type handshakeError struct{ err error }

// Error names the cause.
func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }

// Unwrap gives the cause.
func (e *handshakeError) Unwrap() error { return e.err }

// lineConn leaves its line when it is closed.
type lineConn struct {
	net.Conn
	line     *line
	requests atomic.Int32 // sent; the client writes each in one piece
}

// Write sends one request.
func (c *lineConn) Write(b []byte) (int, error) {
	c.requests.Add(1)
	return c.Conn.Write(b)
}

// Read notes when the other side closes the connection.
func (c *lineConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		c.line.mu.Lock()
		c.line.ended = int(c.requests.Load())
		c.line.mu.Unlock()
	}
	return n, err
}

// Close closes the connection.
func (c *lineConn) Close() error {
	c.line.mu.Lock()
	delete(c.line.conns, c.Conn)
	c.line.mu.Unlock()
	return c.Conn.Close()
}

const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = time.Second
)

// backoff doubles from firstBackoff to lastBackoff.
func backoff(tries int) time.Duration {
	return min(firstBackoff<<min(max(tries, 0), 7), lastBackoff)
}

// sleep waits and reports whether the line still holds.
func (l *line) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !l.isCut()
	case <-l.ctx.Done():
		return false
	}
}
