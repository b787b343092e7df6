// Package certs makes authorities and certificates for tests of TLS, as PEM files in the test's folder. They are real ones: nothing in them is
// special but their short life.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	File string // PEM of its certificate
	Pool *x509.CertPool
}

// New makes an authority.
func New(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, key: newKey(tb), Pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: serial(tb), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		tb.Fatal(err)
	}
	a.Pool.AddCert(a.cert)
	a.File = filepath.Join(tb.TempDir(), "ca.pem")
	write(tb, a.File, "CERTIFICATE", der)
	return a
}

// Pair is a certificate with its key.
type Pair struct {
	CertFile, KeyFile string // PEM; the key is PKCS #8
	TLS               tls.Certificate
}

// Sign makes a certificate for 127.0.0.1 and localhost, for servers and clients; change, which may be nil, alters it before it is signed.
func (a *Authority) Sign(change func(*x509.Certificate)) Pair {
	a.tb.Helper()
	key := newKey(a.tb)
	template := &x509.Certificate{
		SerialNumber: serial(a.tb), Subject: pkix.Name{CommonName: "ctbridge"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.tb.Fatal(err)
	}
	dir := a.tb.TempDir()
	p := Pair{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), TLS: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
	write(a.tb, p.CertFile, "CERTIFICATE", der)
	write(a.tb, p.KeyFile, "PRIVATE KEY", private)
	return p
}

// Expired is a change for Sign: the certificate is past its time.
func Expired(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }

// Elsewhere is a change for Sign: the certificate is that of another host, named elsewhere.test.
func Elsewhere(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"elsewhere.test"} }

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func serial(tb testing.TB) *big.Int {
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func write(tb testing.TB, file, kind string, der []byte) {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Case is one way in which the certificates of two sides fit each other or not.
type Case struct {
	Name       string
	Server     *tls.Config
	CA         *Authority // that the client trusts
	Client     *Pair      // that it shows; nil = none
	ServerName string     // server name that it expects; "" = that of the address
	Hint       string     // part of the error's hint; "" = it works
}

// Cases are the ways that every neighbour is tested with.
func Cases(tb testing.TB) []Case {
	ca, other := New(tb), New(tb)
	good, expired, elsewhere := ca.Sign(nil), ca.Sign(Expired), ca.Sign(Elsewhere)
	client, stranger, late := ca.Sign(nil), other.Sign(nil), ca.Sign(Expired)
	serve := func(p Pair) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{p.TLS}, MinVersion: tls.VersionTLS12}
	}
	mutual := serve(good)
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, ca.Pool
	return []Case{
		{Name: "good", Server: serve(good), CA: ca},
		{Name: "expired", Server: serve(expired), CA: ca, Hint: "expired"},
		{Name: "wrong host", Server: serve(elsewhere), CA: ca, Hint: "server_name"},
		{Name: "wrong host, name given", Server: serve(elsewhere), CA: ca, ServerName: "elsewhere.test"},
		{Name: "unknown authority", Server: serve(good), CA: other, Hint: "ca_file"},
		{Name: "mutual", Server: mutual, CA: ca, Client: &client},
		{Name: "mutual, no client certificate", Server: mutual, CA: ca, Hint: "cert_file"},
		{Name: "mutual, client of another authority", Server: mutual, CA: ca, Client: &stranger, Hint: "cert_file"},
		{Name: "mutual, client certificate expired", Server: mutual, CA: ca, Client: &late, Hint: "cert_file"},
	}
}

// Files is the case as a tls section of the configuration, in YAML's flow style.
func (c *Case) Files() string {
	text := `{enabled: true, ca_file: "` + c.CA.File + `"`
	if c.Client != nil {
		text += `, cert_file: "` + c.Client.CertFile + `", key_file: "` + c.Client.KeyFile + `"`
	}
	if c.ServerName != "" {
		text += `, server_name: ` + c.ServerName
	}
	return text + "}"
}

// Config is what the client of the case uses.
func (c *Case) Config() *tls.Config {
	out := &tls.Config{RootCAs: c.CA.Pool, ServerName: c.ServerName, MinVersion: tls.VersionTLS12}
	if c.Client != nil {
		out.Certificates = []tls.Certificate{c.Client.TLS}
	}
	return out
}
