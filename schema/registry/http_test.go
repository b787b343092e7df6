package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr/srfake"

	"ctbridge/bridge/fault"
)

func TestSilence(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the client go
		<-r.Context().Done()
		return true
	})
	var log strings.Builder
	c := f.client(func(c *Config) {
		c.Timeout, c.Attempts, c.Log = 30*time.Millisecond, 3, slog.New(slog.NewTextHandler(&log, nil))
	})
	_, err := c.Register(t.Context(), "s", schemaOne)
	if fault.ClassOf(err) != fault.Retry || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "within 30ms") || strings.Count(log.String(), "trying again") != 2 {
		t.Errorf("%v\n%s", err, &log)
	}

	why := errors.New("the operator stopped it")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { stop(why) })
	if _, err = f.client(nil).Register(ctx, "s", schemaOne); !errors.Is(err, why) || strings.Contains(err.Error(), "running") {
		t.Errorf("%v", err)
	}
}

func TestWaitingForTheSameSubjectEnds(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	arrived := make(chan struct{}, 10)
	f.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
		return true
	})
	c := f.client(nil)
	first, stopFirst := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.Register(first, "s", schemaOne); done <- err }()
	<-arrived
	second, stopSecond := context.WithCancel(t.Context())
	stopSecond()
	if _, err := c.Register(second, "s", schemaTwo); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	stopFirst()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	basic := func(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }
	for _, c := range []struct {
		header string
		set    func(*Config)
		class  fault.Class
	}{
		{basic("joe:s3cret"), func(c *Config) { c.Username, c.Password = "joe", "s3cret" }, fault.Retry},
		{basic("joe:s3cret"), func(c *Config) { c.URL = strings.Replace(c.URL, "://", "://joe:s3cret@", 1) }, fault.Retry},
		{basic("joe:"), func(c *Config) { c.Username = "joe" }, fault.Retry},
		{"Bearer t0ken", func(c *Config) { c.Bearer = "t0ken" }, fault.Retry},
		{basic("joe:s3cret"), func(c *Config) { c.Username, c.Password = "joe", "wr0ng" }, fault.Fatal},
		{"Bearer t0ken", func(*Config) {}, fault.Fatal},
	} {
		f := newFake(t, srfake.WithAuth(c.header))
		var log strings.Builder
		_, err := f.client(func(config *Config) {
			c.set(config)
			config.Log = slog.New(slog.NewTextHandler(&log, nil))
		}).Register(t.Context(), "s", schemaOne)
		if (err == nil) != (c.class == fault.Retry) || fault.ClassOf(err) != c.class {
			t.Errorf("%s: %v", c.header, err)
		}
		if text := log.String() + errorText(err); strings.Contains(text, "wr0ng") || strings.Contains(text, "s3cret") || strings.Contains(text, "t0ken") {
			t.Errorf("a secret in: %s", text)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRedirectsKeepCredentials(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	c := newClient(t, Config{URL: moved.URL, Username: "joe", Password: "s3cret"})
	if err := c.Ping(t.Context()); fault.ClassOf(err) != fault.Config || leaked.Load() != 0 {
		t.Errorf("%v, %d requests went elsewhere", err, leaked.Load())
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(srfake.NewRegistry().Handler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	own := server.TLS.Certificates
	if err := newClient(t, Config{URL: server.URL, TLS: &tls.Config{RootCAs: roots, Certificates: own}}).Ping(t.Context()); err != nil {
		t.Errorf("with CA and certificate: %v", err)
	}
	for name, config := range map[string]*tls.Config{"no CA": {Certificates: own}, "no certificate": {RootCAs: roots}} {
		if err := newClient(t, Config{URL: server.URL, TLS: config}).Ping(t.Context()); err == nil || fault.ClassOf(err) != fault.Fatal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.client(nil)
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("an empty registry: %v", err)
	}
	if _, err := c.Register(t.Context(), "s", schemaOne); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("with schemas: %v", err)
	}
	f.stop()
	if err := c.Ping(t.Context()); fault.ClassOf(err) != fault.Retry || err == nil {
		t.Errorf("without a registry: %v", err)
	}
}

func TestSubjectsOfAnyName(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c, ctx := f.client(nil), t.Context()
	for _, subject := range []string{"a.b.C", "Acme Ltd$Item-value", "größe", "50%", "a?b#c"} {
		id, err := c.Register(ctx, subject, schemaOne)
		if err != nil {
			t.Errorf("%q: %v", subject, err)
			continue
		}
		if stored, ok := f.GetSchema(subject, 1); !ok || stored.ID != id {
			t.Errorf("%q: %+v", subject, stored)
		}
	}
}

func TestHugeAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		block := make([]byte, 1<<20)
		for range maxAnswer/len(block) + 2 {
			if _, err := w.Write(block); err != nil {
				break
			}
		}
		return true
	})
	if err := f.client(nil).Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for says, config := range map[string]Config{
		"is not a plain one":                  {URL: "ftp://host"},
		"://":                                 {URL: ""},
		"cannot be read":                      {URL: "http://joe:s3cret@ho st"},
		"both a bearer token and a user":      {URL: "http://host", Bearer: "t0ken", Username: "joe"},
		"compatibility SIDEWAYS":              {URL: "http://host", Compatibility: "sideways"},
		"the URL http://host is not a plain":  {URL: "http://joe:s3cret@host?key=s3cret"},
		"the URL https://host is not a plain": {URL: "https://host#s3cret"},
	} {
		_, err := New(config)
		if err == nil || fault.ClassOf(err) != fault.Config || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", says, err)
		}
	}
	c := newClient(t, Config{URL: "http://joe:s3cret@host:8081/apis/ccompat/v7/", Compatibility: "full"})
	if got := c.config; got.URL != "http://host:8081/apis/ccompat/v7" || got.Username != "joe" || got.Password != "s3cret" || got.Compatibility != "FULL" || got.Timeout != defaultTimeout {
		t.Errorf("%+v", got)
	}
}
