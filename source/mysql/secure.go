package mysql

import (
	"net"
	"strings"

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
