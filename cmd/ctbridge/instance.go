package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
)

// instanceFlags are how the verbs that ask a running instance get in.
type instanceFlags struct{ caFile, certFile, keyFile string }

func (f *instanceFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.caFile, "ca", "", "PEM file of authorities to trust for https (default: those of the system, and the certificate that FILE names)")
	flags.StringVar(&f.certFile, "cert", "", "PEM file of the certificate to show, where metrics.tls.client_ca_file asks for one")
	flags.StringVar(&f.keyFile, "key", "", "PEM file of its key")
}

// client asks an instance with the metrics section m of its configuration, which may be nil. own tells that the address is the one in that
// section: then its very certificate is expected, whatever names are in it.
func (f *instanceFlags) client(m *config.Metrics, own bool, timeout time.Duration) (*http.Client, error) {
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := f.trust(secure, m, own); err != nil {
		return nil, err
	}
	if f.certFile != "" || f.keyFile != "" {
		pair, err := tls.LoadX509KeyPair(f.certFile, f.keyFile)
		if err != nil {
			return nil, &usageError{err: fmt.Errorf("--cert and --key: %w", err)}
		}
		secure.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: secure, Proxy: http.ProxyFromEnvironment}
	return &http.Client{Transport: credentials{m, transport}, Timeout: timeout, CheckRedirect: noRedirect}, nil
}

// noRedirect keeps the password with the one who was asked.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// trust fills in whose certificates are taken.
func (f *instanceFlags) trust(secure *tls.Config, m *config.Metrics, own bool) error {
	if f.caFile != "" {
		return trustFile(secure, "--ca", f.caFile)
	}
	if m == nil || m.TLS.CertFile == "" {
		return nil
	}
	if err := trustFile(secure, "metrics.tls.cert_file", m.TLS.CertFile); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(m.TLS.CertFile, m.TLS.KeyFile)
	if err == nil && own && pair.Leaf != nil {
		secure.ServerName = nameIn(pair.Leaf)
	}
	return nil
}

func trustFile(secure *tls.Config, what, file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return &usageError{err: fmt.Errorf("%s: %w", what, err)}
	}
	if secure.RootCAs, err = x509.SystemCertPool(); err != nil {
		secure.RootCAs = x509.NewCertPool()
	}
	if !secure.RootCAs.AppendCertsFromPEM(pem) {
		return &usageError{err: fmt.Errorf("%s: %s holds no PEM certificate", what, file)}
	}
	return nil
}

// nameIn is a name that the certificate carries.
func nameIn(leaf *x509.Certificate) string {
	switch {
	case len(leaf.DNSNames) > 0:
		return leaf.DNSNames[0]
	case len(leaf.IPAddresses) > 0:
		return leaf.IPAddresses[0].String()
	}
	return ""
}

// credentials adds user and password of the configuration.
type credentials struct {
	metrics *config.Metrics
	http.RoundTripper
}

// RoundTrip sends the request.
func (c credentials) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.metrics != nil && c.metrics.BasicAuth.Username != "" {
		r = r.Clone(r.Context())
		r.SetBasicAuth(c.metrics.BasicAuth.Username, c.metrics.BasicAuth.Password.Reveal())
	}
	return c.RoundTripper.RoundTrip(r)
}

// schemeOf is how the instance with that section is asked.
func schemeOf(m *config.Metrics) string {
	if m != nil && m.TLS.CertFile != "" {
		return "https://"
	}
	return "http://"
}

// refusedBy is the error for an instance that wants to know who asks; nil for every other answer.
func refusedBy(address string, answer *http.Response) error {
	if answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden {
		return nil
	}
	return fault.New(fault.Fatal, "", errors.New(address+" answers "+answer.Status), "name the configuration FILE for its metrics.basic_auth, and --cert with --key where it asks for a certificate")
}
