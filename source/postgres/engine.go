package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/patience"
)

// Config says how to reach the server. What the DSN sets itself (application_name, statement_timeout, connect_timeout, pool_max_conns, …)
// is kept.
type Config struct {
	DSN              string        // postgres:// URL or keyword list, as pgx and libpq take it
	TLS              *tls.Config   // instead of what the DSN says; nil = as the DSN says, see secured where it says nothing
	MaxConns         int           // 0 = pool_max_conns of the DSN, else 4
	ConnectTimeout   time.Duration // for one connection; 0 = 10 s
	StatementTimeout time.Duration // the server ends a longer statement; 0 = never
	ReadTimeout      time.Duration // longest silence of the server while an answer is awaited; 0 = patience.Default
}

// Engine implements source.Engine and source.Fencer over a connection pool that opens on first use.
type Engine struct {
	dialect
	config *pgxpool.Config

	mu     sync.Mutex
	pool   *pgxpool.Pool
	closed bool
}

var (
	_ source.Engine = (*Engine)(nil)
	_ source.Fencer = (*Engine)(nil)
)

const (
	defaultMaxConns       = 4
	defaultConnectTimeout = 10 * time.Second
)

// Open checks the DSN (fault.Config) and talks to nobody.
func Open(cfg Config) (*Engine, error) {
	config, err := parseDSN(cfg.DSN, cfg.TLS)
	if err != nil {
		return nil, err
	}
	switch {
	case cfg.MaxConns > 0:
		config.MaxConns = int32(cfg.MaxConns)
	case !strings.Contains(cfg.DSN, "pool_max_conns"):
		config.MaxConns = defaultMaxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = defaultConnectTimeout
	}
	if cfg.ConnectTimeout > 0 {
		config.ConnConfig.ConnectTimeout = cfg.ConnectTimeout
	}
	engine := &Engine{config: config}
	config.ConnConfig.DialFunc = engine.patientDial(config.ConnConfig.DialFunc, cmp.Or(cfg.ReadTimeout, patience.Default))
	setSession(config.ConnConfig, cfg)
	return engine, nil
}

// patientDial bounds the waits of every connection.
func (e *Engine) patientDial(dial pgconn.DialFunc, limit time.Duration) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		patient := patience.Wrap(conn, limit)
		patient.Silence = e.suspect
		return &patience.Ahead{Conn: patient}, nil // a deadline is set and the system called once for 32 KiB, not for each 8 that the driver asks for
	}
}

// suspect gives up the connections of the pool when one has met silence: a network that has forgotten one has forgotten the others, and each would
// cost the same wait.
func (e *Engine) suspect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pool != nil {
		e.pool.Reset()
	}
}

// setSession fills the parameters of the start-up packet. Values depend on those that are forced; the others yield to the DSN.
func setSession(c *pgx.ConnConfig, cfg Config) {
	force := map[string]string{"client_encoding": "UTF8", "timezone": "UTC", "datestyle": "ISO"}
	offer := map[string]string{"application_name": "ctbridge"}
	if !pooled(c) {
		force["intervalstyle"] = "postgres"
		force["default_transaction_read_only"] = "on"
		force["default_transaction_isolation"] = "read committed"
		if cfg.StatementTimeout > 0 {
			offer["statement_timeout"] = strconv.FormatInt(cfg.StatementTimeout.Milliseconds(), 10)
		}
	}
	set := map[string]bool{}
	for name := range c.RuntimeParams {
		lower := strings.ToLower(name)
		if _, ok := force[lower]; ok {
			delete(c.RuntimeParams, name)
		}
		set[lower] = true
	}
	for name, value := range force {
		c.RuntimeParams[name] = value
	}
	for name, value := range offer {
		if !set[name] {
			c.RuntimeParams[name] = value
		}
	}
}

// pooled tells a DSN made for a connection pooler, where a session does not belong to us: other settings would be refused or,
// worse, stay behind for the next client.
func pooled(c *pgx.ConnConfig) bool {
	return c.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol || c.DefaultQueryExecMode == pgx.QueryExecModeExec
}

// Name is "postgres".
func (e *Engine) Name() string { return "postgres" }

// conns gives the pool and makes it on first use.
func (e *Engine) conns(ctx context.Context) (*pgxpool.Pool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, fault.New(fault.Retry, "connect", errors.New("the engine is closed"), "")
	}
	if e.pool == nil {
		pool, err := pgxpool.NewWithConfig(ctx, e.config)
		if err != nil {
			return nil, fail(ctx, "connect", err)
		}
		e.pool = pool
	}
	return e.pool, nil
}

// Ping asks the server for a sign of life.
func (e *Engine) Ping(ctx context.Context) error {
	pool, err := e.conns(ctx)
	if err != nil {
		return err
	}
	return fail(ctx, "ping", pool.Ping(ctx))
}

// closeGrace is how long Close waits: pgx itself waits up to 15 s for a silent server to take note of a cancelled query.
const closeGrace = 3 * time.Second

// Close closes the pool. What is not closed within closeGrace, because its server says nothing, goes on closing by itself or ends with the
// process; that is no failure of ours.
func (e *Engine) Close() error {
	e.mu.Lock()
	pool := e.pool
	e.pool, e.closed = nil, true
	e.mu.Unlock()
	if pool == nil {
		return nil
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-closed:
	case <-grace.C:
	}
	return nil
}

// Prepare makes a statement whose result has the given columns, in order.
func (e *Engine) Prepare(sql string, columns []change.Column) source.Statement {
	return &statement{engine: e, sql: sql, columns: columns}
}

// Every transaction below xmin has ended (PostgreSQL manual, "System Information Functions", pg_snapshot). The snapshot's xmax is not
// what the next transaction gets: it lies just above the newest one that has ended, and open transactions may lie at or above it. The
// age of a transaction id is its distance to the next one.
const fenceSQL = `SELECT pg_catalog.pg_snapshot_xmin(s)::text, pg_catalog.pg_snapshot_xmax(s)::text,
pg_catalog.age(pg_catalog.pg_snapshot_xmax(s)::xid)::bigint
FROM pg_catalog.pg_current_snapshot() AS s`

// Fence reads the oldest open transaction and the next one. A transaction has no number before its first write: a writer that takes
// change sequences and writes later is only covered by the settle time that goes with this policy.
func (e *Engine) Fence(ctx context.Context) (source.Fence, error) {
	pool, err := e.conns(ctx)
	if err != nil {
		return source.Fence{}, err
	}
	var xmin, xmax string
	var beyond uint64
	if err := pool.QueryRow(ctx, fenceSQL).Scan(&xmin, &xmax, &beyond); err != nil {
		return source.Fence{}, fail(ctx, "read snapshot", err)
	}
	done, err := strconv.ParseUint(xmin, 10, 64)
	if err != nil {
		return source.Fence{}, fail(ctx, "read snapshot", err)
	}
	ended, err := strconv.ParseUint(xmax, 10, 64)
	return source.Fence{Done: done, Next: ended + beyond}, fail(ctx, "read snapshot", err)
}
