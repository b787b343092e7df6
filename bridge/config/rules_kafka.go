package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
)

func (r *rules) checkKafka() {
	for i, broker := range r.Kafka.Brokers {
		if !hostPort(broker, false) {
			path := fmt.Sprintf("kafka.brokers[%d]", i)
			r.wrong(path, "write host:port, like kafka:9092", "is not the address of a broker")
		}
	}
	if !supported(r.Kafka.Version) {
		r.wrong("kafka.version", "write three numbers, like 3.6.0", "is not a version from 2.5.0 on")
	}
	if policy := r.Kafka.Topics.Checkpoint.Config["cleanup.policy"]; policy != "compact" {
		r.wrong("kafka.topics.checkpoint.config.cleanup.policy", "remove it", "would lose the checkpoint: only compact keeps it")
	}
	r.checkTLS("kafka.tls", r.Kafka.TLS, r.Kafka.TLS.Enabled, "set kafka.tls.enabled: true")
}

var versionPattern = regexp.MustCompile(`^(\d{1,4})\.(\d{1,4})\.\d{1,4}$`)

func supported(version string) bool {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > 2 || major == 2 && minor >= 5
}

func (r *rules) checkTLS(path string, t TLS, on bool, fix string) {
	if !on {
		r.noEffect("without TLS", fix, path+".ca_file", path+".cert_file", path+".key_file", path+".server_name", path+".insecure_skip_verify")
		return
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		missing := map[bool]string{true: ".cert_file", false: ".key_file"}[t.CertFile == ""]
		r.wrong(path+missing, "", "is missing: a client's certificate and its key belong together")
	}
}

func (r *rules) checkSASL() {
	const at = "kafka.sasl."
	if r.broken(at + "mechanism") {
		return
	}
	s := &r.Kafka.SASL
	values := map[string]string{at + "username": s.Username, at + "password": s.Password.Reveal(), at + "oauth.client_id": s.OAuth.ClientID, at + "oauth.client_secret": s.OAuth.ClientSecret.Reveal()}
	user := []string{at + "username", at + "password"}
	client := []string{at + "oauth.client_id", at + "oauth.client_secret"}
	grant := append([]string{at + "oauth.token_url", at + "oauth.scopes"}, client...)
	why := "with mechanism " + s.Mechanism
	switch s.Mechanism {
	case SASLNone:
		fix := "set kafka.sasl.mechanism"
		r.noEffect("without a mechanism", fix, append(append(user, at+"token"), grant...)...)
	case SASLOAuthBearer:
		r.noEffect(why, "remove it", user...)
		switch {
		case s.Token.IsSet() && s.OAuth.TokenURL != "":
			r.wrong(at+"token", "remove one", "is set beside kafka.sasl.oauth.token_url")
		case s.Token.IsSet():
			r.noEffect("with a fixed token", "remove it", grant...)
		case s.OAuth.TokenURL == "":
			r.wrong(at+"oauth.token_url", "or set kafka.sasl.token", "is needed %s", why)
		default:
			r.checkURL(at+"oauth.token_url", s.OAuth.TokenURL)
			r.need("beside token_url", values, client...)
		}
	default:
		r.noEffect(why, "remove it", append([]string{at + "token"}, grant...)...)
		r.need(why, values, user...)
	}
}

// checkURL wants http or https, a host and no password.
func (r *rules) checkURL(path, text string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		r.wrong(path, "write http://host:port or https://host:port", "is not a URL")
	case u.User != nil:
		r.wrong(path, "take them out of the URL; they have keys of their own", "holds a user or a password")
	}
}

func (r *rules) checkCheckpoint() {
	c := &r.Checkpoint
	const at = "checkpoint."
	if r.broken(at + "store") {
		return
	}
	values := map[string]string{at + "path": c.Path, at + "engine": c.Engine, at + "dsn": c.DSN.Reveal(), at + "table": c.Table}
	if r.Delivery == ExactlyOnce && c.Store != StoreKafka {
		r.wrong(at+"store", "use store kafka, or delivery: at_least_once", "is impossible with delivery exactly_once, which writes the checkpoint in the records' transaction")
	}
	why := "with store " + c.Store
	sql := []string{at + "engine", at + "dsn", at + "table"}
	switch c.Store {
	case StoreKafka:
		r.noEffect(why, "remove it", append([]string{at + "path", at + "tls.enabled"}, sql...)...)
	case StoreFile:
		r.noEffect(why, "remove it", append([]string{at + "topic", at + "tls.enabled"}, sql...)...)
		r.need(why, values, at+"path")
	case StoreSQL:
		r.noEffect(why, "remove it", at+"topic", at+"path")
		r.need(why, values, sql...)
	}
	if c.Engine == EngineSQLite {
		r.noEffect("with engine sqlite, which is a file", "remove it", at+"tls.enabled")
	}
	r.checkTLS(at+"tls", c.TLS, c.TLS.Enabled, "set checkpoint.tls.enabled: true")
}

func (r *rules) checkRegistry() {
	s := &r.SchemaRegistry
	const at = "schema_registry."
	if !s.Enabled() {
		r.noEffect("without schema_registry.url", "set the URL", at+"username", at+"password", at+"bearer", at+"subject_strategy", at+"compatibility")
		r.checkTLS(at+"tls", s.TLS, false, "set schema_registry.url")
		return
	}
	r.checkURL(at+"url", s.URL)
	if s.Bearer.IsSet() {
		r.noEffect("beside a bearer token", "remove one", at+"username", at+"password")
	} else if (s.Username == "") != !s.Password.IsSet() {
		missing := map[bool]string{true: "username", false: "password"}[s.Username == ""]
		r.wrong(at+missing, "", "is missing: user and password belong together")
	}
	secure := isHTTPS(s.URL)
	if s.TLS.Enabled && !secure {
		r.wrong(at+"tls.enabled", "write the URL with https", "contradicts an http URL")
	}
	r.checkTLS(at+"tls", s.TLS, secure, "write the URL with https")
}

func isHTTPS(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https"
}
