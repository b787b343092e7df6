package mssql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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
			testCertificate(t, c, tdspeer.StartTLS(t, nothing, c.Server), "strict")
		})
	}
}

// Any other encryption begins within the protocol. A SQL Server asks nobody for a certificate there.
func TestCertificatesWithin(t *testing.T) {
	t.Parallel()
	for _, c := range certs.Cases(t) {
		if c.Server.ClientAuth != tls.NoClientCert {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			testCertificate(t, c, tdspeer.StartEncrypted(t, nothing, c.Server), "true")
		})
	}
}

func nothing(string, []any) tdspeer.Result { return tdspeer.Result{} }

func testCertificate(t *testing.T, c certs.Case, peer *tdspeer.Server, encrypt string) {
	dsn := strings.Replace(peer.DSN(), "encrypt=disable", "encrypt="+encrypt, 1)
	own, err := OpenOwn(dsn, c.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	err = own.Ping()
	if _, hint, known := fault.Handshake(err, "it"); known != (c.Hint != "") || !strings.Contains(hint, c.Hint) {
		t.Errorf("for a table of our own: want a hint about %q: %v", c.Hint, err)
	}
	e, err := Open(Config{DSN: dsn, TLS: c.Config()})
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
}

// What the DSN says of certificates is verified as what source.tls says, and what it leaves unverified is left.
func TestCertificatesOfTheDSN(t *testing.T) {
	t.Parallel()
	ca, other := certs.New(t), certs.New(t)
	serve := func(change func(*x509.Certificate)) string {
		peer := tdspeer.StartEncrypted(t, nothing, &tls.Config{Certificates: []tls.Certificate{ca.Sign(change).TLS}, MinVersion: tls.VersionTLS12})
		return strings.Replace(peer.DSN(), "encrypt=disable", "encrypt=true", 1)
	}
	good, elsewhere := serve(nil), serve(certs.Elsewhere)
	for _, c := range []struct{ dsn, hint string }{
		{good + "&certificate=" + ca.File, ""},
		{good + "&certificate=" + other.File, "ca_file"},
		{good, "ca_file"}, // the system's authorities
		{elsewhere + "&certificate=" + ca.File, "server_name"},
		{elsewhere + "&hostNameInCertificate=elsewhere.test&certificate=" + ca.File, ""},
		{elsewhere + "&TrustServerCertificate=true", ""},
	} {
		e, err := Open(Config{DSN: c.dsn})
		if err != nil {
			t.Fatal(err)
		}
		err = e.Ping(context.Background())
		if c.hint == "" && err != nil || c.hint != "" && (fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), c.hint)) {
			t.Errorf("class %v, want a hint about %q: %v", fault.ClassOf(err), c.hint, err)
		}
		e.Close()
	}
}

// A configuration that is watched verifies no less than crypto/tls.
func TestWatch(t *testing.T) {
	t.Parallel()
	v := new(verifier)
	for name, c := range map[string]*tls.Config{
		"none": nil, "no name": {}, "unverified": {ServerName: "db", InsecureSkipVerify: true},
		"a way of its own": {ServerName: "db", VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error { return nil }},
	} {
		if v.watch(c) != c {
			t.Errorf("%s: it is another one now", name)
		}
	}
	if err := v.watch(&tls.Config{ServerName: "db"}).VerifyConnection(tls.ConnectionState{}); err == nil || v.take() == nil || v.take() != nil {
		t.Errorf("no certificate: %v", err)
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
