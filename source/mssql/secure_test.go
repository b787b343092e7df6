package mssql

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"ctbridge/bridge/fault"
	"ctbridge/test/certs"
	"ctbridge/test/tdspeer"
)

// Strict encryption is TLS around the whole protocol (TDS 8.0).
func TestCertificates(t *testing.T) {
	t.Parallel()
	for _, c := range certs.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			peer := tdspeer.StartTLS(t, func(string, []any) tdspeer.Result { return tdspeer.Result{} }, c.Server)
			e, err := Open(Config{DSN: strings.Replace(peer.DSN(), "encrypt=disable", "encrypt=strict", 1), TLS: c.Config()})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			err = e.Ping(context.Background())
			switch {
			case c.Hint == "" && err != nil:
				t.Error(err)
			case c.Hint != "" && (fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), c.Hint)):
				t.Errorf("class %v, want a hint about %q: %v", fault.ClassOf(err), c.Hint, err)
			case err != nil && strings.Contains(err.Error(), "s3cret"):
				t.Error(err)
			}
		})
	}
}

// Encryption with a verified certificate is what is asked for unless the DSN says otherwise, and what source.tls says goes first.
func TestSecured(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"sqlserver://u:p@db?database=x", "server=db;user id=u;password=p"} {
		if got := Secured(dsn); !strings.Contains(got, "encrypt=true") {
			t.Errorf("%s becomes %s", dsn, got)
		}
		s, err := parseDSN(dsn)
		if err != nil || s.TLSConfig == nil || s.TLSConfig.InsecureSkipVerify || s.TrustServerCertificate {
			t.Errorf("%s is not verified: %+v %v", dsn, s, err)
		}
	}
	for _, dsn := range []string{"sqlserver://u:p@db?encrypt=disable", "server=db;encrypt=strict"} {
		if got := Secured(dsn); got != dsn {
			t.Errorf("%s becomes %s", dsn, got)
		}
		s, err := parseDSN(dsn)
		secure(&s, &tls.Config{})
		if err != nil || s.TLSConfig.ServerName != "db" || s.Encryption == 0 {
			t.Errorf("%s with a TLS section: %+v", dsn, s)
		}
	}
}
