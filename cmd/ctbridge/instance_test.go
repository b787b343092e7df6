package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"ctbridge/metrics"
	"ctbridge/test/certs"
)

// guarded is an instance of task orders behind a guard, and its configuration.
func guarded(t *testing.T, g metrics.Guard) (address, file string) {
	t.Helper()
	document := metrics.New(metrics.Options{Task: "orders", StallTimeout: time.Minute}).Status()
	document.State = metrics.StateOK
	server := metrics.NewServer("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/status" {
			_ = json.NewEncoder(w).Encode(document)
			return
		}
		_, _ = w.Write([]byte("{\"healthy\":true}\n"))
	}), g)
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	address = server.Addr().String()
	file = filepath.Join(t.TempDir(), "orders.yaml")
	text := fmt.Sprintf("task: orders\nsource: {engine: sqlite, dsn: /none/x.db}\nkafka: {brokers: \"127.0.0.1:1\"}\nmetrics:\n  listen: %q\n", address)
	if g.Username != "" {
		text += fmt.Sprintf("  basic_auth: {username: %s, password: %q}\n", g.Username, g.Password)
	}
	if g.CertFile != "" {
		text += fmt.Sprintf("  tls: {cert_file: %q, key_file: %q, client_ca_file: %q}\n", g.CertFile, g.KeyFile, g.ClientCAFile)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return address, file
}

// The verbs get in with what the configuration says, and say what is missing without it.
func TestVerbsOfAGuardedInstance(t *testing.T) {
	t.Parallel()
	const password = "s3cret-m3trics"
	ca := certs.New(t)
	pair, client := ca.Sign(certs.Elsewhere), ca.Sign(nil)
	named := ca.Sign(nil)
	locked, lockedFile := guarded(t, metrics.Guard{Username: "who", Password: password})
	secure, secureFile := guarded(t, metrics.Guard{Username: "who", Password: password, CertFile: pair.CertFile, KeyFile: pair.KeyFile})
	mutual, mutualFile := guarded(t, metrics.Guard{CertFile: named.CertFile, KeyFile: named.KeyFile, ClientCAFile: ca.File})
	shown := []string{"--cert", client.CertFile, "--key", client.KeyFile}
	tests := map[string]struct {
		args []string
		code int
		says string
	}{
		"password":                  {[]string{"status", lockedFile}, exitFine, "orders"},
		"no password":               {[]string{"status", "--address", locked}, exitEnvironment, "401 Unauthorized"},
		"health knows it":           {[]string{"health", lockedFile}, exitFine, "healthy"},
		"health without":            {[]string{"health", "--address", locked}, exitFine, ""},
		"its own certificate":       {[]string{"status", secureFile}, exitFine, "orders"},
		"health, too":               {[]string{"health", secureFile}, exitFine, "healthy"},
		"of an unknown authority":   {[]string{"health", "--address", "https://" + secure}, exitEnvironment, "--ca"},
		"of another host":           {[]string{"health", "--address", "https://" + secure, "--ca", ca.File}, exitEnvironment, "an address of the task that its certificate names"},
		"plain question":            {[]string{"health", "--address", secure}, exitFailed, "400 Bad Request"},
		"certificate shown":         {append([]string{"status", mutualFile}, shown...), exitFine, "orders"},
		"certificate shown, by URL": {append([]string{"status", "--address", "https://" + mutual, "--ca", ca.File}, shown...), exitFine, "orders"},
		"no certificate":            {[]string{"status", "--address", "https://" + mutual, "--ca", ca.File}, exitEnvironment, "--cert with --key"},
		"health needs none":         {[]string{"health", mutualFile}, exitFine, ""},
		"no such file":              {[]string{"health", mutualFile, "--ca", "/none"}, exitUsage, "--ca"},
		"no pair":                   {[]string{"health", mutualFile, "--cert", client.CertFile}, exitUsage, "--cert and --key"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			a := &app{out: &out, err: &errs, env: noEnv}
			code := a.execute(t.Context(), c.args)
			if text := out.String() + errs.String(); code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, password) {
				t.Errorf("code %d, want %d with %q: %s", code, c.code, c.says, text)
			}
		})
	}
}

// What a stranger answers is shown, not obeyed.
func TestWordsOfStrangersAreNotObeyed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("{\"format\":1,\"task\":\"\x1b[2J\",\"x\":\"\\u001b[31m\",\"state\":\"\\u001b]0;title\\u0007\",\"problems\":[\"\\u009b2J\"]}\n"))
	}))
	t.Cleanup(server.Close)
	for _, args := range [][]string{{"health", "--address", server.URL}, {"status", "--address", server.URL}} {
		var out, errs bytes.Buffer
		a := &app{out: &out, err: &errs, env: noEnv}
		a.execute(t.Context(), args)
		if text := out.String() + errs.String(); strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("%v: %q", args, text)
		}
	}
}
