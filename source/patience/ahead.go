package patience

import (
	"errors"
	"net"
	"syscall"
)

// aheadSize is what one read takes from the socket at most.
const aheadSize = 32 << 10

// Ahead is a connection that takes from the socket what is there, for readers that ask for little at a time: a driver with a buffer of 4 KiB makes a
// system call for each dozen of rows. It lies beneath TLS. Reads and deadlines are those of the connection; one goroutine reads.
type Ahead struct {
	net.Conn
	buffer []byte // made by the first read
	rest   []byte // of the buffer, not asked for yet
}

// ReadAhead reads ahead on c, if it is a socket; other connections stay as they are.
func ReadAhead(c net.Conn) net.Conn {
	if _, ok := c.(syscall.Conn); !ok {
		return c
	}
	return &Ahead{Conn: c}
}

// Read gives what has been read ahead, else what comes next.
func (a *Ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if len(p) >= aheadSize {
			return a.Conn.Read(p)
		}
		if a.buffer == nil {
			a.buffer = make([]byte, aheadSize)
		}
		n, err := a.Conn.Read(a.buffer)
		if a.rest = a.buffer[:n]; err != nil && n == 0 {
			return 0, err // with bytes, an error comes again
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

var (
	errUnread   = errors.New("bytes have come that nobody asked for")
	errNoSocket = errors.New("the connection is no socket")
)

// SyscallConn is for those who look whether an idle connection is still good. One on which the peer has spoken unasked is not.
func (a *Ahead) SyscallConn() (syscall.RawConn, error) {
	if len(a.rest) > 0 {
		return nil, errUnread
	}
	if socket, ok := a.Conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return nil, errNoSocket
}
