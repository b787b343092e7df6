package wiring

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
)

// tlsConfig loads the files of a tls section; nil where TLS is off.
func tlsConfig(path string, t *config.TLS) (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fault.New(fault.Config, path+".ca_file", err, "")
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fault.New(fault.Config, path+".ca_file", errors.New(t.CAFile+" holds no PEM certificate"), "")
		}
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fault.New(fault.Config, path+".cert_file", err, "cert_file and key_file must be a PEM pair")
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
