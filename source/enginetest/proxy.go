package enginetest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy relays TCP connections to a server and breaks them on demand (cases 80 and 82). It starts passing everything.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	change chan struct{} // closed and replaced when the mode changes
	mode   mode
	budget int64 // bytes from the server that still pass, when the mode is limited
	conns  map[net.Conn]struct{}
}

type mode uint8

const (
	passing  mode = iota
	refusing      // new connections are reset, old ones cut
	cutting       // after the budget, connections are reset
	stalling      // after the budget, nothing passes and nobody hangs up
)

// NewProxy listens on a free port of 127.0.0.1 until the test ends.
func NewProxy(t *testing.T, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, target: target, change: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	p.running.Add(1)
	go p.accept()
	t.Cleanup(p.stop)
	return p
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Pass lets everything through again; connections that were cut stay cut.
func (p *Proxy) Pass() { p.set(passing, 0) }

// Refuse resets all connections, present and new.
func (p *Proxy) Refuse() {
	p.set(refusing, 0)
	p.reset()
}

// CutAfter resets connections once n more bytes have come from the server.
func (p *Proxy) CutAfter(n int64) { p.set(cutting, n) }

// StallAfter goes silent, without hanging up, once n more bytes have come from the server.
func (p *Proxy) StallAfter(n int64) { p.set(stalling, n) }

func (p *Proxy) set(m mode, budget int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.budget = m, budget
	close(p.change)
	p.change = make(chan struct{})
}

func (p *Proxy) stop() {
	p.listener.Close()
	p.Refuse()
	p.running.Wait()
}

func (p *Proxy) accept() {
	defer p.running.Done()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Add(1)
		go p.serve(client)
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer p.running.Done()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		cut(client)
		return
	}
	if !p.enter(client, server) {
		return
	}
	p.running.Add(1)
	go func() {
		defer p.running.Done()
		io.Copy(server, client)
		server.Close()
	}()
	p.relay(client, server)
	cut(client)
	server.Close()
	p.leave(client, server)
}

// enter registers the pair, unless connections are refused.
func (p *Proxy) enter(pair ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range pair {
		if p.mode == refusing {
			cut(c)
			continue
		}
		p.conns[c] = struct{}{}
	}
	return p.mode != refusing
}

func (p *Proxy) leave(pair ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range pair {
		delete(p.conns, c)
	}
}

func (p *Proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		cut(c)
	}
}

// relay moves bytes from the server to the client within the budget.
func (p *Proxy) relay(client, server net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := server.Read(buf)
		for sent := 0; sent < n; {
			allowed, wait, ok := p.take(n - sent)
			if !ok {
				return
			}
			if allowed == 0 {
				<-wait
				continue
			}
			if _, err := client.Write(buf[sent : sent+allowed]); err != nil {
				return
			}
			sent += allowed
		}
		if err != nil {
			return
		}
	}
}

// take asks for leave to send n bytes: how many may go, what to wait for if none may, and false if the connection is to be cut.
func (p *Proxy) take(n int) (allowed int, wait chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == passing {
		return n, nil, true
	}
	allowed = int(min(int64(n), p.budget))
	p.budget -= int64(allowed)
	return allowed, p.change, allowed > 0 || p.mode == stalling
}

// cut closes with a reset, as a crashed peer does.
func cut(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

// Silent is the address of a server that never says a word: it listens and nobody accepts, so the kernel completes the handshake and
// nobody answers.
func Silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// Refused is an address where nobody listens.
func Refused(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
