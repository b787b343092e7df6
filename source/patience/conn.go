// Package patience bounds how long a connection waits for its peer: a server that keeps a connection open and says nothing any more, and a
// network that swallows packets, look alike and would hold a reader for ever (case 82).
package patience

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Default is the longest silence of a server that an engine bears where its configuration does not say. It must be longer than the
// slowest query takes to its first row.
const Default = 2 * time.Minute

// Conn is a connection whose single reads and writes end after a limit. A deadline set from outside holds too, whichever is
// sooner. A time-out leaves the stream in an unknown state: the connection is then good for nothing but Close, and after a
// silence of the peer it is closed.
type Conn struct {
	net.Conn
	// Silence is told, where it is set before the first wait, that the peer has said nothing for the limit.
	Silence func()
	limit   time.Duration // 0 = none

	mu    sync.Mutex
	read  time.Time // deadline set from outside, zero = none
	write time.Time
}

// Wrap bounds every wait on c.
func Wrap(c net.Conn, limit time.Duration) *Conn { return &Conn{Conn: c, limit: limit} }

// Read waits for bytes.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.arm(c.Conn.SetReadDeadline, &c.read); err != nil {
		return 0, err
	}
	begin := time.Now()
	n, err := c.Conn.Read(p)
	if c.limit > 0 && errors.Is(err, os.ErrDeadlineExceeded) && time.Since(begin) >= c.limit {
		_ = c.Conn.Close() // nobody need wait for a goodbye
		if c.Silence != nil {
			c.Silence()
		}
	}
	return n, err
}

// Write waits until the peer's window takes the bytes.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.arm(c.Conn.SetWriteDeadline, &c.write); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// arm sets the deadline of one operation.
func (c *Conn) arm(set func(time.Time) error, outside *time.Time) error {
	if c.limit <= 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return set(sooner(time.Now().Add(c.limit), *outside))
}

// sooner is the first of two deadlines; a zero outside is none.
func sooner(own, outside time.Time) time.Time {
	if outside.IsZero() || own.Before(outside) {
		return own
	}
	return outside
}

// SetDeadline sets both deadlines from outside.
func (c *Conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.write = t, t
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline sets the reading deadline from outside; a read that waits already heeds it.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = t
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline sets the writing deadline from outside.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}
