package proxy

import (
	"bytes"
	"net"
	"sync"
)

// Proxy forwards connections to one server.
type Proxy struct {
	listener net.Listener
	target   string
	relay    func(*link)

	mu       sync.Mutex
	links    map[*link]bool
	refusing bool
	flowing  chan struct{} // closed while bytes flow
	cuts     []*Cut
	rules    []*Rule
	ending   []byte
	endings  int
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	once           sync.Once
	left           int  // bytes that the server may still say
	counted        bool // left is in force
	forgotten      bool // nothing goes through any more, and nobody is told
}

func (l *link) close() {
	l.once.Do(func() {
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// Cut is a connection that ends in the middle of a conversation.
type Cut struct {
	Text  string // what the client says just then; "" is its first word
	Nth   int    // the how-manieth time that it says so, from 1
	After int    // bytes that the server may still answer; 0 = the client's word does not even arrive
	fired chan struct{}
}

// Fired is closed once it has happened.
func (c *Cut) Fired() <-chan struct{} { return c.fired }

// New forwards plain bytes to target.
func New(target string) (*Proxy, error) { return start(target, (*Proxy).plain) }

func start(target string, relay func(*Proxy, *link)) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, links: make(map[*link]bool), flowing: make(chan struct{})}
	p.relay = func(l *link) { relay(p, l) }
	close(p.flowing)
	go p.accept()
	return p, nil
}

// Addr is where it listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Flow()
	p.CutAll()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refusing := p.refusing
		p.mu.Unlock()
		if refusing {
			_ = client.Close()
			continue
		}
		go p.open(client)
	}
}

func (p *Proxy) open(client net.Conn) {
	<-p.gate() // a stalled network lets nobody in, either
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server}
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	p.relay(l)
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// CutAll ends all connections; new ones are served.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Count begins to count the words of the server that end so, as an answer of its protocol does.
func (p *Proxy) Count(ending string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending, p.endings = []byte(ending), 0
}

// Counted is how many there were since.
func (p *Proxy) Counted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.endings
}

// Forget lets nothing through any more on the connections that are there, and closes none: so does a firewall that has forgotten them. New ones
// are served.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.forgotten = true
	}
}

func (p *Proxy) forgot(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.forgotten
}

// Refuse closes new connections at once until Admit; those that are there stay.
func (p *Proxy) Refuse() { p.setRefusing(true) }

// Admit ends Refuse.
func (p *Proxy) Admit() { p.setRefusing(false) }

func (p *Proxy) setRefusing(on bool) {
	p.mu.Lock()
	p.refusing = on
	p.mu.Unlock()
}

// Stall lets nothing through any more, and closes nothing, until Flow.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
		p.flowing = make(chan struct{})
	default:
	}
}

// Flow ends Stall.
func (p *Proxy) Flow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
	default:
		close(p.flowing)
	}
}

func (p *Proxy) gate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flowing
}

// CutAt cuts a connection once, at a moment to come.
func (p *Proxy) CutAt(c Cut) *Cut {
	c.Nth, c.fired = max(c.Nth, 1), make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts = append(p.cuts, &c)
	return &c
}

func (p *Proxy) plain(l *link) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.close()
		p.pump(l, l.server, l.client, func(b []byte) ([]byte, bool) { return p.answered(l, b) })
	}()
	p.pump(l, l.client, l.server, func(b []byte) ([]byte, bool) { return b, p.said(l, b) })
	l.close()
	<-done
}

// pump forwards what from says, as far as the filter lets it.
func (p *Proxy) pump(l *link, from, to net.Conn, filter func([]byte) (part []byte, more bool)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.forgot(l) {
			<-p.gate()
			part, more := filter(buffer[:n])
			if !more && len(part) == n {
				return // the client's word is not forwarded
			}
			if _, err := to.Write(part); err != nil || !more {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// said looks for a cut that begins with this word of the client, and tells whether the word is forwarded.
func (p *Proxy) said(l *link, word []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range p.cuts {
		if !bytes.Contains(word, []byte(c.Text)) {
			continue
		}
		if c.Nth--; c.Nth > 0 {
			continue
		}
		p.cuts = append(p.cuts[:i:i], p.cuts[i+1:]...)
		close(c.fired)
		l.left, l.counted = c.After, true
		return c.After > 0
	}
	return true
}

// answered gives the part of the server's word that still goes through.
func (p *Proxy) answered(l *link, word []byte) (part []byte, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ending) > 0 && bytes.HasSuffix(word, p.ending) {
		p.endings++
	}
	if !l.counted {
		return word, true
	}
	part = word[:min(len(word), l.left)]
	l.left -= len(part)
	return part, len(part) == len(word)
}
