package mysql

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"time"

	vendor "github.com/go-sql-driver/mysql"

	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/patience"
	"ctbridge/source/sqldb"
)

// Config says how to reach the server.
type Config struct {
	// DSN has go-sql-driver's form: user:password@tcp(host:3306)/database?tls=true. Without a database, all databases that are not
	// the server's own are read.
	DSN string
	// TLS is used instead of what the DSN says of it; nil = as the DSN says, see Secured where it says nothing.
	TLS *tls.Config
	// ConnectTimeout ends an attempt to connect and log in; 0 = 10 s.
	ConnectTimeout time.Duration
	// ReadTimeout ends the wait for an answer or for the rest of one; 0 = readTimeout of the DSN, else 2 min.
	ReadTimeout time.Duration
	// MaxConns is the size of the pool; 0 = 4.
	MaxConns int
}

// Engine reads one server.
type Engine struct {
	*sqldb.DB
}

var _ source.Engine = (*Engine)(nil)

// Open makes the engine. It does not connect; Ping does. Its errors have class Config and never show the DSN.
func Open(cfg Config) (*Engine, error) {
	settings, err := settingsOf(cfg)
	if err != nil {
		return nil, fault.New(fault.Config, "mysql dsn", err, hintDSN)
	}
	reader, err := newConnector(settings, or(cfg.ConnectTimeout, 10*time.Second), session)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(reader)
	size := or(cfg.MaxConns, 4)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	product := sqldb.Product{Decoder: decoder, Classify: classifier(settings.DBName != ""), Lost: lost, Prepared: true, Raw: true}
	return &Engine{DB: sqldb.New(pool, product)}, nil
}

// OpenOwn opens a server for a table of our own, which no engine writes. TLS and errors are as with Open; sessions are as the DSN says.
func OpenOwn(dsn string, secure *tls.Config) (*sql.DB, error) {
	settings, err := securedSettings(dsn, secure)
	if err != nil {
		return nil, fault.New(fault.Config, "mysql dsn", err, hintDSN)
	}
	writer, err := newConnector(settings, 10*time.Second, "")
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(writer), nil
}

const hintDSN = "write user:password@tcp(host:3306)/database?parameter=value"

// errDSN stands for the driver's own error, which may quote parts of the DSN.
var errDSN = errors.New("the driver does not accept the DSN")

// settingsOf reads the DSN and overrides what would change the meaning of values.
func settingsOf(cfg Config) (*vendor.Config, error) {
	s, err := securedSettings(cfg.DSN, cfg.TLS)
	if err != nil {
		return nil, err
	}
	s.ParseTime, s.InterpolateParams, s.MultiStatements, s.AllowAllFiles = false, false, false, false
	s.ReadTimeout = or(cfg.ReadTimeout, or(s.ReadTimeout, 2*time.Minute))
	s.WriteTimeout = or(s.WriteTimeout, s.ReadTimeout)
	s.Params = map[string]string{
		"time_zone":  "'+00:00'",
		"autocommit": "1",
		// PAD_CHAR_TO_FULL_LENGTH, for one, would add spaces to values.
		"sql_mode": "''",
		// The wait for a table that ALTER TABLE holds, in seconds; the server's default is a day or a year.
		"lock_wait_timeout": "30",
	}
	return s, s.Apply(vendor.Charset("utf8mb4", ""))
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// connector limits the time of a connect, which the driver limits for the dial only, and prepares the session.
type connector struct {
	driver.Connector
	timeout time.Duration
	words   *lastWords
	session string // "" = none
}

func newConnector(settings *vendor.Config, timeout time.Duration, session string) (*connector, error) {
	words := new(lastWords)
	settings.Logger, settings.DialFunc = words, dial
	base, err := vendor.NewConnector(settings)
	if err != nil {
		return nil, fault.New(fault.Config, "mysql dsn", errDSN, "check the parameters, tls among them")
	}
	return &connector{base, timeout, words, session}, nil
}

// dial is the driver's own, with reads that suit pages: the driver itself reads 4 KiB at a time.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return patience.ReadAhead(conn), nil
}

// session cannot be set by a variable that both products and all their versions know.
const session = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, c.words.take())
	}
	if c.session == "" {
		return conn, nil
	}
	if _, err := conn.(driver.ExecerContext).ExecContext(ctx, c.session, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Name is the engine's name in the configuration.
func (e *Engine) Name() string { return "mysql" }
