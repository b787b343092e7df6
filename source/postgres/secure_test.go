package postgres

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"ctbridge/bridge/fault"
	"ctbridge/test/certs"
)

// front takes connections as a server with TLS does and refuses every login: that far a handshake has to come.
func front(t *testing.T, secure *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			refuse(conn, secure)
		}
	}()
	return listener.Addr().String()
}

func refuse(conn net.Conn, secure *tls.Config) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil { // SSLRequest
		return
	}
	if secure == nil {
		conn.Write([]byte("N"))
		return
	}
	conn.Write([]byte("S"))
	inner := tls.Server(conn, secure)
	backend := pgproto3.NewBackend(inner, inner)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "no such login"})
	backend.Flush()
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	for _, c := range certs.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			err := pingOf(t, Config{DSN: "postgres://bridge:s3cret@" + front(t, c.Server) + "/shop", TLS: c.Config()})
			want := c.Hint
			if want == "" {
				want = "pg_hba.conf" // the login was refused, after the handshake
			}
			if fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("class %v, want a hint about %q: %v", fault.ClassOf(err), want, err)
			}
		})
	}
	err := pingOf(t, Config{DSN: "postgres://bridge:s3cret@" + front(t, nil) + "/shop", TLS: &tls.Config{}})
	if fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), "ssl = on") {
		t.Errorf("a server without TLS: %v", err)
	}
}

func pingOf(t *testing.T, c Config) error {
	t.Helper()
	e, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.Ping(context.Background())
}

// What the DSN says holds; where it is silent, only this machine is reached in plain text.
func TestSecured(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]bool{
		"postgres://u:p@db.example.com/shop":                       true,
		"postgres://u:p@localhost,db.example.com/shop":             true,
		"host=db.example.com user=u password='p w'":                true,
		"postgres://u:p@10.0.0.7/shop?application_name=x":          true,
		"postgres://u:p@db.example.com/shop?sslmode=disable":       false,
		"host=db.example.com sslmode = require":                    false,
		"postgres://u:p@db.example.com/shop?x=1&sslmode=verify-ca": false,
		"postgres://u:p@localhost/shop":                            false,
		"postgres://u:p@127.0.0.1:5433/shop":                       false,
		"postgres://u:p@[::1]/shop":                                false,
		"host=/run/postgresql dbname=shop":                         false,
		"not a dsn":                                                false,
	} {
		got := Secured(dsn)
		if secured := strings.Contains(got, "sslmode=verify-full"); secured != want || !want && got != dsn {
			t.Errorf("%s becomes %s", dsn, got)
		}
		if !want {
			continue
		}
		config, err := parseDSN(dsn, nil)
		if err != nil || config.ConnConfig.TLSConfig == nil || config.ConnConfig.TLSConfig.InsecureSkipVerify || config.ConnConfig.TLSConfig.ServerName == "" {
			t.Errorf("%s is not verified: %v", dsn, err)
		}
		for _, f := range config.ConnConfig.Fallbacks {
			if f.TLSConfig == nil {
				t.Errorf("%s falls back to plain text", dsn)
			}
		}
	}
}
