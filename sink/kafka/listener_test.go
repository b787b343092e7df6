package kafka_test

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// cutter is a listener whose connections can be cut, before a request is read or after it was done and before its answer is written, and
// that can hold every answer back.
type cutter struct {
	mu    sync.Mutex
	conns map[*cutConn]struct{}
	hold  atomic.Pointer[chan struct{}] // open = answers wait
	cuts  atomic.Int64

	answers atomic.Int64 // since the last cut
}

// broker makes the demo broker listen through the cutter.
func (c *cutter) option() kfake.Opt {
	return kfake.ListenFn(func(network, address string) (net.Listener, error) {
		var config net.ListenConfig
		ln, err := config.Listen(context.Background(), network, address)
		return &cutListener{ln, c}, err
	})
}

type cutListener struct {
	net.Listener
	cutter *cutter
}

func (l *cutListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &cutConn{Conn: conn, cutter: l.cutter}
	l.cutter.mu.Lock()
	defer l.cutter.mu.Unlock()
	if l.cutter.conns == nil {
		l.cutter.conns = map[*cutConn]struct{}{}
	}
	l.cutter.conns[c] = struct{}{}
	return c, nil
}

type cutConn struct {
	net.Conn
	cutter *cutter
	doomed atomic.Bool // the next answer is lost with the connection
}

func (c *cutConn) Write(b []byte) (int, error) {
	if hold := c.cutter.hold.Load(); hold != nil {
		<-*hold
	}
	if c.doomed.Load() {
		c.cutter.cuts.Add(1)
		c.Close()
		return 0, net.ErrClosed
	}
	c.cutter.answers.Add(1)
	return c.Conn.Write(b)
}

func (c *cutConn) Close() error {
	c.cutter.mu.Lock()
	delete(c.cutter.conns, c)
	c.cutter.mu.Unlock()
	return c.Conn.Close()
}

// cutSome cuts one connection at random, half of the time only when its next answer is due.
func (c *cutter) cutSome() {
	c.mu.Lock()
	var chosen *cutConn
	for conn := range c.conns {
		chosen = conn
		break
	}
	c.mu.Unlock()
	if chosen == nil {
		return
	}
	if rand.IntN(2) == 0 {
		chosen.doomed.Store(true)
		return
	}
	c.cuts.Add(1)
	chosen.Close()
}

// keepCutting cuts a connection now and then until stop is called, each time behind some answers, so that work goes on however slow the machine is.
func (c *cutter) keepCutting(every time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if c.answers.Load() >= 2+rand.Int64N(12) {
					c.answers.Store(0)
					c.cutSome()
				}
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}

// holdAnswers makes the broker silent until release is called.
func (c *cutter) holdAnswers(t *testing.T) (release func()) {
	gate := make(chan struct{})
	c.hold.Store(&gate)
	release = sync.OnceFunc(func() {
		c.hold.Store(nil)
		close(gate)
	})
	t.Cleanup(release)
	return release
}
