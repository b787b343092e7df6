package mssql

import (
	"cmp"
	"crypto/tls"
	"database/sql"
	"time"

	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/patience"
	"ctbridge/source/sqldb"
)

// Config says how to reach the server.
type Config struct {
	DSN            string        // sqlserver://user:password@host:1433?database=name, or ADO form "server=host;user id=user;password=…;database=name"
	TLS            *tls.Config   // instead of what the DSN says of encryption; nil = as the DSN says
	MaxConns       int           // 0 = 4
	ConnectTimeout time.Duration // for one connection, login included; 0 = 10 s
	ReadTimeout    time.Duration // longest silence of the server while an answer is awaited; 0 = "connection timeout" of the DSN, else patience.Default
	LockTimeout    time.Duration // longest wait for a writer's lock; 0 = 10 s
}

// Engine implements source.Engine over a connection pool that opens on first use.
type Engine struct {
	dialect
	*sqldb.DB
}

var _ source.Engine = (*Engine)(nil)

const (
	defaultMaxConns       = 4
	defaultConnectTimeout = 10 * time.Second
	defaultLockTimeout    = 10 * time.Second
)

// Open checks the DSN (fault.Config) and talks to nobody.
func Open(cfg Config) (*Engine, error) {
	settings, err := parseDSN(cfg.DSN)
	if err != nil {
		return nil, fault.New(fault.Config, "open sqlserver source", err,
			hintDSN)
	}
	secure(&settings, cfg.TLS)
	limits := limits{
		connect: cmp.Or(cfg.ConnectTimeout, defaultConnectTimeout),
		read:    cmp.Or(cfg.ReadTimeout, settings.ConnTimeout, patience.Default),
		lock:    cmp.Or(cfg.LockTimeout, defaultLockTimeout),
	}
	settings.ConnTimeout = 0 // the connections of this package have their own limit
	pool := sql.OpenDB(newConnector(settings, limits))
	size := cmp.Or(cfg.MaxConns, defaultMaxConns)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return &Engine{DB: sqldb.New(pool, sqldb.Product{Decoder: decoderOf, Classify: classify, Lost: lost, Bind: bind})}, nil
}

// OpenOwn opens a server for a table of our own, which no engine writes. TLS and errors are as with Open; sessions are as the DSN says.
func OpenOwn(dsn string, with *tls.Config) (*sql.DB, error) {
	settings, err := parseDSN(dsn)
	if err != nil {
		return nil, fault.New(fault.Config, "sqlserver dsn", err, hintDSN)
	}
	secure(&settings, with)
	return sql.OpenDB(newVerified(settings)), nil
}

const hintDSN = "write sqlserver://user:password@host:1433?database=name and percent-encode special characters of the password"

// Name is "sqlserver".
func (e *Engine) Name() string { return "sqlserver" }
