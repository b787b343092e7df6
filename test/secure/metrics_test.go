package secure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctbridge/sink/embedded"
	"ctbridge/test/certs"
)

// The port of a real process, with TLS, client certificates and a password, as its own verbs see it.
func TestGuardedPort(t *testing.T) {
	t.Parallel()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	servers, err := embedded.Start(embedded.Options{NoRegistry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	ca := certs.New(t)
	pair, client := ca.Sign(nil), ca.Sign(nil)
	text := fmt.Sprintf(`task: guarded
source: {engine: sqlite, dsn: %q, poll_interval: 20ms, horizon: {settle: 0s}}
metrics:
  listen: "127.0.0.1:0"
  tls: {cert_file: %q, key_file: %q, client_ca_file: %q}
  basic_auth: {username: who, password: s3cret-port}
kafka: {brokers: %q}
`, source(t), pair.CertFile, pair.KeyFile, ca.File, servers.Brokers()[0])
	p := start(t, text)
	p.says("msg=started")
	file := filepath.Join(t.TempDir(), "task.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "https://" + metricsAddress.FindStringSubmatch(p.log.String())[1]
	shown := []string{"--address", address, "--ca", ca.File, "--cert", client.CertFile, "--key", client.KeyFile}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{append([]string{"status", file}, shown...), 0, "guarded"},
		{append([]string{"health", file}, shown...), 0, `"healthy":true`},
		{append([]string{"health"}, shown...), 0, ""}, // no password: its code alone
		{append([]string{"status"}, shown...), 3, "401"},
		{[]string{"status", file, "--address", address, "--ca", ca.File}, 3, "--cert with --key"},
		{[]string{"health", "--address", address}, 3, "--ca"},
	} {
		out, code := execute(c.args)
		if code != c.code || !strings.Contains(out, c.says) || strings.Contains(out, "s3cret-port") {
			t.Errorf("%v: code %d, want %d with %q:\n%s", c.args, code, c.code, c.says, out)
		}
	}
	p.stop()
	p.hides("s3cret-port")
}
