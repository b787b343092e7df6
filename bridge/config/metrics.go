package config

// Metrics says where they are served, and to whom.
type Metrics struct {
	Listen    string     `yaml:"listen" default:":9464" doc:"Address of the status page, /metrics, /healthz and /readyz, read-only and without secrets. The default listens on every interface, because Prometheus and kubelet come from outside the container; 127.0.0.1:9464 keeps it local, an empty text turns it off."`
	TLS       ServerTLS  `yaml:"tls" doc:"Encryption of that address; on with a certificate. Rotated files are taken up without a restart."`
	BasicAuth ServerAuth `yaml:"basic_auth" doc:"User and password that the page, /api/status and /metrics ask for. /healthz and /readyz stay open for kubelet, which has none: without the password they give their status code and no word more."`
	Profiling bool       `yaml:"profiling" default:"false" doc:"Also serve the profiles of Go's net/http/pprof under /debug/pprof/, to those who may see /metrics. Who asks for one makes the process slower for as long; the others of the port have no side effects."`
}

// ServerTLS is a certificate to serve with.
type ServerTLS struct {
	CertFile     string `yaml:"cert_file" example:"/run/tls/tls.crt" doc:"PEM file of the certificate, followed by those between it and the authority; empty = plain HTTP."`
	KeyFile      string `yaml:"key_file" example:"/run/tls/tls.key" doc:"PEM file of its key."`
	ClientCAFile string `yaml:"client_ca_file" doc:"PEM file of authorities: who asks must show a certificate of one of them. /healthz and /readyz stay open, as with basic_auth."`
}

// ServerAuth is who may ask.
type ServerAuth struct {
	Username string `yaml:"username" doc:"User; empty = everybody may ask."`
	Password Secret `yaml:"password" example:"file:/run/secrets/metrics" doc:"Its password."`
}

// checkMetrics wants an address, and pairs that are whole.
func (r *rules) checkMetrics() {
	const at = "metrics."
	m := &r.Metrics
	tls := []string{at + "tls.cert_file", at + "tls.key_file", at + "tls.client_ca_file"}
	user := []string{at + "basic_auth.username", at + "basic_auth.password"}
	profiling := at + "profiling"
	switch {
	case m.Listen == "":
		r.noEffect("with metrics.listen off", "remove it", append(append(tls, user...), profiling)...)
		return
	case !hostPort(m.Listen, true):
		r.wrong(at+"listen", `write host:port, :port or ""`, "is not an address to listen on")
	}
	values := map[string]string{tls[0]: m.TLS.CertFile, tls[1]: m.TLS.KeyFile, user[0]: m.BasicAuth.Username, user[1]: m.BasicAuth.Password.Reveal()}
	if m.TLS != (ServerTLS{}) {
		r.need("for TLS: a certificate and its key belong together", values, tls[0], tls[1])
	}
	if m.BasicAuth.Username != "" || m.BasicAuth.Password.IsSet() {
		r.need("for basic authentication", values, user...)
	}
}
