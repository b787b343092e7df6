package mssql

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

// verifier verifies the server's certificate as crypto/tls does, and keeps why that failed: of a handshake inside of TDS packets the driver passes
// on the text alone, and what does not pass must not be tried for ever. It is safe for concurrent use; connections that fail at the same time
// fail for the same reason.
type verifier struct {
	mu      sync.Mutex
	failure error
}

// watch gives a configuration that means the same. One that verifies nothing, or in a way of its own, stays as it is.
func (v *verifier) watch(c *tls.Config) *tls.Config {
	if c == nil || c.InsecureSkipVerify || c.ServerName == "" || c.VerifyPeerCertificate != nil || c.VerifyConnection != nil {
		return c
	}
	watched := c.Clone()
	watched.InsecureSkipVerify = true // verify takes its place
	watched.VerifyConnection = func(state tls.ConnectionState) error { return v.keep(verify(c, state)) }
	return watched
}

// verified is a connector of the driver whose failed handshakes tell why.
type verified struct {
	*mssql.Connector
	verifier *verifier
}

func newVerified(settings msdsn.Config) *verified {
	v := new(verifier)
	settings.TLSConfig = v.watch(settings.TLSConfig)
	return &verified{mssql.NewConnectorConfig(settings), v}
}

func (v *verified) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := v.Connector.Connect(ctx)
	if err == nil {
		return conn, nil
	}
	if why := v.verifier.take(); why != nil && !errors.Is(err, why) {
		err = fmt.Errorf("%w: %w", err, why)
	}
	return nil, err
}

var errNoCertificate = errors.New("the server shows no certificate")

// verify does what crypto/tls does without InsecureSkipVerify. The name is that of this connection, which a routed one has from the server it was
// routed to; an IP address is none that a handshake tells.
func verify(c *tls.Config, state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errNoCertificate
	}
	options := x509.VerifyOptions{Roots: c.RootCAs, DNSName: cmp.Or(state.ServerName, c.ServerName), Intermediates: x509.NewCertPool()}
	if c.Time != nil {
		options.CurrentTime = c.Time()
	}
	for _, certificate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(certificate)
	}
	if _, err := state.PeerCertificates[0].Verify(options); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	return nil
}

func (v *verifier) keep(err error) error {
	if err != nil {
		v.mu.Lock()
		v.failure = err
		v.mu.Unlock()
	}
	return err
}

// take gives the failure since the last take, nil without one.
func (v *verifier) take() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	failure := v.failure
	v.failure = nil
	return failure
}
