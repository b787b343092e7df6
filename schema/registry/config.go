package registry

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ctbridge/bridge/fault"
)

// Config says where the registry is and how to talk to it. Only URL is required.
type Config struct {
	URL                string // base URL, with the path of the API: http://registry:8081, http://apicurio:8080/apis/ccompat/v7
	Username, Password string // basic authentication
	Bearer             string // token, instead of user and password
	TLS                *tls.Config
	Timeout            time.Duration // of one request, default 10 s
	Attempts           int           // how often a request is made that fails with 5xx, 429 or a time-out, default 4
	Backoff            time.Duration // pause after the first failure, doubled after each more, default 200 ms
	Compatibility      string        // level of subjects that this client creates; empty leaves the registry's own
	Registered         func()        // called after each registration of a schema that the registry did not have; may be nil
	Log                *slog.Logger  // may be nil
}

const (
	defaultTimeout  = 10 * time.Second
	defaultAttempts = 4
	defaultBackoff  = 200 * time.Millisecond
	maxBackoff      = 5 * time.Second
	maxConcurrent   = 8
	maxAnswer       = 16 << 20 // bytes
)

// levels are the compatibility modes of the API.
var levels = []string{"NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"}

// withDefaults checks the configuration, fills in the defaults and takes the credentials out of the URL, so that no error shows them.
func (c Config) withDefaults() (Config, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // the error would show the URL with its credentials
		return c, wrong(errors.New("schema registry: the URL cannot be read"), "write it like http://registry:8081")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return c, wrong(errors.New("schema registry: the URL "+u.Scheme+"://"+u.Host+" is not a plain one of http or https"), "write it like http://registry:8081")
	}
	if u.User != nil && c.Username == "" {
		c.Username = u.User.Username()
		c.Password, _ = u.User.Password()
	}
	u.User = nil
	c.URL = strings.TrimRight(u.String(), "/")
	if c.Bearer != "" && c.Username != "" {
		return c, wrong(errors.New("schema registry: both a bearer token and a user are set"), "remove one of them")
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Attempts <= 0 {
		c.Attempts = defaultAttempts
	}
	if c.Backoff <= 0 {
		c.Backoff = defaultBackoff
	}
	if c.Registered == nil {
		c.Registered = func() {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Compatibility, err = level(c.Compatibility)
	return c, err
}

// level checks a compatibility level; empty is none.
func level(name string) (string, error) {
	name = strings.ToUpper(name)
	if name == "" {
		return "", nil
	}
	for _, known := range levels {
		if name == known {
			return name, nil
		}
	}
	return "", wrong(errors.New("schema registry: compatibility "+name+" does not exist"), "choose one of "+strings.Join(levels, ", "))
}

func wrong(err error, hint string) error { return fault.New(fault.Config, "", err, hint) }

// transport is the connection pool of one client. Its own time-outs are only for what a context does not reach.
func transport(c *tls.Config) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = c
	t.MaxIdleConnsPerHost = maxConcurrent
	return t
}
