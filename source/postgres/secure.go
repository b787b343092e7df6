package postgres

import (
	"crypto/tls"
	"database/sql"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// parseDSN reads a DSN and secures what it names.
func parseDSN(dsn string, secure *tls.Config) (*pgxpool.Config, error) {
	if secure != nil {
		dsn = withMode(dsn, "verify-full")
	} else {
		dsn = Secured(dsn)
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, dsnFault(dsn, err)
	}
	if secure == nil {
		return config, nil
	}
	c := config.ConnConfig
	c.TLSConfig = withHost(secure, c.Host)
	for _, f := range c.Fallbacks {
		f.TLSConfig = withHost(secure, f.Host)
	}
	return config, nil
}

// OpenOwn opens a server for a table of our own, which no engine writes. TLS and errors are as with Open; sessions are as the DSN says.
func OpenOwn(dsn string, secure *tls.Config) (*sql.DB, error) {
	config, err := parseDSN(dsn, secure)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config.ConnConfig), nil
}

// withHost is the configuration for one of the DSN's hosts.
func withHost(secure *tls.Config, host string) *tls.Config {
	if strings.HasPrefix(host, "/") {
		return nil // a Unix socket
	}
	own := secure.Clone()
	if own.ServerName == "" {
		own.ServerName = host
	}
	return own
}

// Secured is the DSN with sslmode=verify-full where it says nothing of TLS and names a host that is not this machine. libpq's own default
// would fall back to plain text, and take any certificate.
func Secured(dsn string) string {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil || modeWord.MatchString(dsn) || config.TLSConfig == nil || !config.TLSConfig.InsecureSkipVerify {
		return dsn // unreadable, silent by choice, or secured by the environment or a service file
	}
	local := isLocal(config.Host)
	for _, f := range config.Fallbacks {
		local = local && isLocal(f.Host)
	}
	if local {
		return dsn
	}
	return withMode(dsn, "verify-full")
}

var modeWord = regexp.MustCompile(`(^|[\s?&])sslmode\s*=`)

// isLocal tells the hosts between which and us nobody listens.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// withMode sets sslmode. An unreadable DSN stays as it is, for the driver to complain.
func withMode(dsn, mode string) string {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " sslmode=" + mode
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	q := u.Query()
	q.Set("sslmode", mode)
	u.RawQuery = q.Encode()
	return u.String()
}
