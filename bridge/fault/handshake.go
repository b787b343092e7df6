package fault

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// Handshake knows the failures of a TLS handshake that no retry mends, and how to mend them; peer is what the other side is called in the
// hint: "the broker". ok is false for every other error.
func Handshake(err error, peer string) (class Class, hint string, ok bool) {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var alert *net.OpError
	var plain tls.RecordHeaderError
	var other *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return Fatal, "trust the authority that signed the certificate of " + peer + ": name its PEM file as ca_file", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Fatal, "the certificate of " + peer + " has expired or is not valid yet; check the clock, then renew it", true
	case errors.As(err, &invalid):
		return Fatal, "the certificate of " + peer + " does not fit its use", true
	case errors.As(err, &host):
		return Fatal, "use an address of " + peer + " that its certificate names, or set server_name", true
	case errors.As(err, &other):
		return Fatal, "the certificate of " + peer + " cannot be verified", true
	case errors.As(err, &alert) && alert.Op == "remote error": // how crypto/tls marks an alert of the other side
		return Fatal, peer + " refuses this client's certificate, or asks for one: see cert_file and key_file", true
	case errors.As(err, &plain):
		return Fatal, peer + " does not speak TLS at this address", true
	}
	return Retry, "", false
}
