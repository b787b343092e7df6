package metrics

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"ctbridge/bridge/fault"
)

// Guard says who may ask. The zero guard lets everybody.
type Guard struct {
	Username, Password string // basic authentication (RFC 7617); both empty = none
	CertFile, KeyFile  string // PEM; empty = plain HTTP
	ClientCAFile       string // PEM; clients must show a certificate of one of these authorities
}

// probes are asked by kubelet, which has neither a password nor a certificate.
var probes = map[string]bool{"/healthz": true, "/readyz": true}

// Wrap asks for the password and the client's certificate in front of a handler. Probes pass without: what they then answer is the status code
// alone, because the words tell about neighbours.
func (g Guard) Wrap(handler http.Handler) http.Handler {
	if g.Username == "" && g.ClientCAFile == "" {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.admits(r):
			handler.ServeHTTP(w, r)
		case probes[r.URL.Path]:
			handler.ServeHTTP(wordless{w}, r)
		case g.Username == "" || !g.certified(r):
			http.Error(w, "a client certificate of the authorities in metrics.tls.client_ca_file is needed", http.StatusForbidden)
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="ctbridge", charset="UTF-8"`)
			http.Error(w, "user and password of metrics.basic_auth are needed", http.StatusUnauthorized)
		}
	})
}

// admits asks for all that is configured.
func (g Guard) admits(r *http.Request) bool {
	if !g.certified(r) {
		return false
	}
	if g.Username == "" {
		return true
	}
	user, password, _ := r.BasicAuth()
	return same(user, g.Username)&same(password, g.Password) == 1
}

// certified reports whether the client showed a certificate, which the handshake has verified then.
func (g Guard) certified(r *http.Request) bool {
	return g.ClientCAFile == "" || r.TLS != nil && len(r.TLS.VerifiedChains) > 0
}

// same compares in a time that tells nothing of either text, its length included.
func same(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:])
}

// wordless is an answer without a body.
type wordless struct{ http.ResponseWriter }

// Write takes the body and sends nothing.
func (w wordless) Write(p []byte) (int, error) { return len(p), nil }

// tlsConfig loads the files; nil without a certificate. A client's certificate is asked for and verified where it is shown; whether it is
// needed decides Wrap, path by path.
func (g Guard) tlsConfig() (*tls.Config, error) {
	if g.CertFile == "" {
		return nil, nil
	}
	var pair pairFiles
	if err := pair.load(g.CertFile, g.KeyFile); err != nil {
		return nil, fault.New(fault.Config, "metrics.tls.cert_file", err, "cert_file and key_file must be a PEM pair")
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		_ = pair.load(g.CertFile, g.KeyFile) // files in the middle of a rotation: the pair from before serves on
		return pair.last.Load(), nil
	}}
	if g.ClientCAFile == "" {
		return out, nil
	}
	pem, err := os.ReadFile(g.ClientCAFile)
	if err != nil {
		return nil, fault.New(fault.Config, "metrics.tls.client_ca_file", err, "")
	}
	out.ClientAuth, out.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
	if !out.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fault.New(fault.Config, "metrics.tls.client_ca_file", fmt.Errorf("%s holds no PEM certificate", g.ClientCAFile), "")
	}
	return out, nil
}

// pairFiles is a certificate with its key, read anew for each handshake: there are few, and a rotated file needs no restart.
type pairFiles struct {
	last atomic.Pointer[tls.Certificate]
}

func (p *pairFiles) load(certFile, keyFile string) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return err
	}
	p.last.Store(&pair)
	return nil
}
