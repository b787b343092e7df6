package mssql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"ctbridge/source/patience"
)

// cancelGrace is how long a cancelled query waits for the server to confirm. The driver alone would wait 5 or 10 seconds.
const cancelGrace = time.Second

type limits struct{ connect, read, lock time.Duration }

// connector makes connections whose every wait has an end: the driver itself pays no heed to the context between dialing and login.
type connector struct {
	driver.Connector
	limits  limits
	session string
}

func newConnector(settings msdsn.Config, l limits) *connector {
	inner := newVerified(settings)
	inner.Dialer = dialer{net.Dialer{KeepAlive: settings.KeepAlive}, l.read}
	// us_english reads 2031-05-10 as year, month, day in every date type.
	session := fmt.Sprintf("SET QUOTED_IDENTIFIER ON; SET LOCK_TIMEOUT %d; SET DEADLOCK_PRIORITY LOW; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LANGUAGE us_english",
		l.lock.Milliseconds())
	return &connector{inner, l, session}
}

// Connect dials, logs in and prepares the session within the limit and the context: when either ends, the sockets are closed under the
// driver.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limits.connect)
	defer cancel()
	sockets := &sockets{}
	detach := context.AfterFunc(ctx, sockets.abort)
	inner, err := c.Connector.Connect(context.WithValue(ctx, socketsKey{}, sockets))
	made, _ := inner.(*mssql.Conn)
	if err == nil {
		err = exec(ctx, made, c.session)
	}
	if !detach() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return &conn{Conn: made, sockets: sockets}, nil
	}
	if made != nil {
		made.Close()
	}
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		err = fmt.Errorf("%w: %w", end, err)
	}
	return nil, &connectError{err}
}

// connectError is what happened while connecting.
type connectError struct{ err error }

func (e *connectError) Error() string { return "connect: " + e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

func exec(ctx context.Context, c *mssql.Conn, text string) error {
	stmt, err := c.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	_, err = stmt.(driver.StmtExecContext).ExecContext(ctx, nil)
	return err
}

// dialer hands every socket to the Connect that asked for it.
type dialer struct {
	net  net.Dialer
	read time.Duration
}

func (d dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	socket := patience.Wrap(raw, d.read)
	if s, ok := ctx.Value(socketsKey{}).(*sockets); ok {
		s.add(socket)
	}
	return socket, nil
}

type socketsKey struct{}

// sockets are those of one connection: more than one where the driver tried several addresses or was sent on to another server.
type sockets struct {
	mu      sync.Mutex
	list    []*patience.Conn
	aborted bool
}

func (s *sockets) add(c *patience.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aborted {
		c.Close()
	}
	s.list = append(s.list, c)
}

func (s *sockets) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = true
	for _, c := range s.list {
		c.Close()
	}
}

// readBy sets the time at which reading ends; zero = the connection's own limit alone.
func (s *sockets) readBy(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		c.SetReadDeadline(t) // fails only where the socket is closed
	}
}

// conn is a connection whose cancelled queries end soon. database/sql uses it from one goroutine at a time.
type conn struct {
	*mssql.Conn
	sockets *sockets
	release func() // ends the watch over the last query
}

var (
	_ driver.QueryerContext    = (*conn)(nil)
	_ driver.Pinger            = (*conn)(nil)
	_ driver.SessionResetter   = (*conn)(nil)
	_ driver.Validator         = (*conn)(nil)
	_ driver.NamedValueChecker = (*conn)(nil)
)

// watch bounds the reads that follow once ctx has ended, until the next watch: the rows of a query outlive the call that asked for it.
func (c *conn) watch(ctx context.Context) {
	if c.release != nil {
		c.release()
	}
	var mu sync.Mutex
	over := false
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			c.sockets.readBy(time.Now().Add(cancelGrace))
		}
	})
	c.release = func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		c.sockets.readBy(time.Time{})
	}
}

// QueryContext runs a query.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.watch(ctx)
	stmt, err := c.Conn.PrepareContext(ctx, query) // talks to nobody
	if err != nil {
		return nil, err
	}
	return stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

// Ping asks for a sign of life.
func (c *conn) Ping(ctx context.Context) error {
	c.watch(ctx)
	return c.Conn.Ping(ctx)
}

// ResetSession keeps the session as it is: nothing in this package changes it, and the driver's reset would set it back to the server's
// defaults.
func (c *conn) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return nil
}

// Close drops the connection.
func (c *conn) Close() error {
	if c.release != nil {
		c.release()
	}
	return c.Conn.Close()
}
