package mysql

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"

	vendor "github.com/go-sql-driver/mysql"
)

// Secured is the DSN with tls=true where it says nothing of TLS and names a host that is not this machine. The driver's own default is
// plain text.
func Secured(dsn string) string {
	s, err := vendor.ParseDSN(dsn)
	if err != nil || s.TLS != nil || s.TLSConfig != "" || isLocal(s) {
		return dsn
	}
	if strings.Contains(dsn[strings.LastIndexByte(dsn, '/')+1:], "?") {
		return dsn + "&tls=true"
	}
	return dsn + "?tls=true"
}

// securedSettings reads a DSN and secures what it names.
func securedSettings(dsn string, secure *tls.Config) (*vendor.Config, error) {
	s, err := vendor.ParseDSN(Secured(dsn))
	if err != nil || dsn == "" {
		return nil, errDSN
	}
	if secure != nil {
		s.TLS, s.TLSConfig, s.AllowFallbackToPlaintext = secure.Clone(), "", false
		nameHost(s)
	}
	return s, nil
}

// isLocal tells addresses between which and us nobody listens.
func isLocal(s *vendor.Config) bool {
	host, _, err := net.SplitHostPort(s.Addr)
	ip := net.ParseIP(host)
	return s.Net != "tcp" || err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// nameHost fills in whose certificate is expected.
func nameHost(s *vendor.Config) {
	if host, _, err := net.SplitHostPort(s.Addr); err == nil && s.TLS.ServerName == "" {
		s.TLS.ServerName = host
	}
}

// lastWords is the driver's log, where alone it tells why the other side ended a handshake. Nothing else of it is kept. It is safe for
// concurrent use; connections that fail at the same time fail for the same reason.
type lastWords struct {
	mu    sync.Mutex
	alert error
}

// Print implements the driver's Logger.
func (l *lastWords) Print(words ...any) {
	for _, word := range words {
		err, _ := word.(error)
		var alert *net.OpError
		if errors.As(err, &alert) && alert.Op == "remote error" {
			l.mu.Lock()
			l.alert = err
			l.mu.Unlock()
		}
	}
}

// take gives the alert since the last take, nil without one.
func (l *lastWords) take() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	alert := l.alert
	l.alert = nil
	return alert
}
