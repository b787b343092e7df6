package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/sink/embedded"
)

// Secrets in characters that survive a URL and in characters that do not, so that they break what parses them, too.
const (
	planted = "c0rrect-horse-battery"
	unusual = `c0rrect %zz"h;rse:@/battery`
)

// spilled gives the surroundings of a secret, in the clear or as clients encode it; "" where there is none.
func spilled(text string) string {
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text))[:12] }
	for _, part := range []string{"c0rrect", "h;rse", "battery", encoded("reader:c0rrect"), encoded("\x00reader\x00c0rrect")} {
		if at := strings.Index(text, part); at >= 0 {
			return text[max(0, at-100):min(len(text), at+100)]
		}
	}
	return ""
}

// away are connection strings for every engine, the secret to be filled in: of servers that are not there, and of forms that no driver
// takes.
var away = map[string][]string{
	"sqlserver": {"sqlserver://reader:%s@127.0.0.1:1?database=shop", "server=127.0.0.1;port=1;user id=reader;password=%s;database=shop", "sqlserver://reader:%s@127.0.0.1:port?database=shop"},
	"postgres":  {"postgres://reader:%s@127.0.0.1:1/shop", "postgres://reader:%s@127.0.0.1:port/shop", "pstgres://reader:%s@127.0.0.1:1/shop"},
	"mysql":     {"reader:%s@tcp(127.0.0.1:1)/shop", "reader:%s@tcp(127.0.0.1:1/shop"},
	"sqlite":    {"file:/none/shop.db?_auth_pass=%s", "file:/none/shop.db?key=%s"},
}

// secrets are configurations with a secret in each place that takes one, in front of neighbours that are away or let nobody in.
func secrets(secret, refusing string) map[string]set {
	sasl := func(mechanism string) set {
		return set{"kafka.sasl.mechanism": mechanism, "kafka.sasl.username": "reader", "kafka.sasl.password": quote(secret)}
	}
	oauth := func(url string) set {
		return set{"kafka.sasl.mechanism": "OAUTHBEARER", "kafka.sasl.oauth": fmt.Sprintf("{token_url: %q, client_id: reader, client_secret: %q}", url, secret)}
	}
	registry := func(format string, args ...any) set {
		return set{"format": "avro", "schema_registry": "{" + fmt.Sprintf(format, args...) + "}"}
	}
	out := map[string]set{
		"sasl PLAIN": sasl("PLAIN"), "sasl SCRAM": sasl("SCRAM-SHA-512"), "sasl brokers away": sasl("PLAIN"), "sasl oauth refused": oauth(refusing),
		"sasl oauth away": oauth("http://127.0.0.1:1/token"), "sasl token": {"kafka.sasl.mechanism": "OAUTHBEARER", "kafka.sasl.token": quote(secret)},
		"registry refused": registry("url: %q, username: reader, password: %q", refusing, secret), "bearer refused": registry("url: %q, bearer: %q", refusing, secret),
		"registry away": registry("url: 'http://127.0.0.1:1', username: reader, password: %q", secret),
	}
	out["sasl brokers away"]["kafka.brokers"] = quote("127.0.0.1:1")
	escaped := strings.NewReplacer("%", "%25", `"`, "%22", ":", "%3A", "@", "%40", "/", "%2F", " ", "%20", ";", "%3B").Replace(secret)
	for engine, forms := range away {
		for _, form := range forms {
			for _, text := range []string{secret, escaped} {
				dsn := quote(fmt.Sprintf(form, text))
				out["source "+engine+" "+dsn] = set{"source.engine": engine, "source.dsn": dsn}
				out["checkpoint "+engine+" "+dsn] = set{"delivery": "at_least_once", "checkpoint": fmt.Sprintf("{store: sql, engine: %s, dsn: %s}", engine, dsn)}
			}
		}
	}
	return out
}

// Wherever a secret stands, and however its neighbour fails: no log line, error, metric or health report shows it. The log of these tasks
// blacks nothing out.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	open := newStand(t)
	locked := newStand(t, func(o *embedded.Options) {
		o.Broker = []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "other", "other"), kfake.Superuser("SCRAM-SHA-512", "other", "other")}
	})
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	open.create("parcel")
	locked.create("parcel")
	var all sync.WaitGroup
	for _, secret := range []string{planted, unusual} {
		for name, changes := range secrets(secret, refusing.URL) {
			s := open
			if strings.HasPrefix(name, "sasl") {
				s = locked
			}
			task, log, err := s.build(s.text(set{"source.startup_timeout": "1s", "high_availability.enabled": "false"}, changes)) // else most would wait for the first
			all.Go(func() {
				shown, failed := everything(task, log, err)
				if found := spilled(shown); found != "" {
					t.Errorf("%s (%s): …%s…", name, secret, found)
				}
				if !failed {
					t.Errorf("%s: nothing failed, so nothing was tested", name)
				}
			})
		}
	}
	all.Wait()
}

// everything is what a task that cannot work shows until it ends, and whether it ended with an error.
func everything(task *wiring.Task, log *buffer, err error) (shown string, failed bool) {
	if err != nil {
		return fmt.Sprintf("%v\n%+v\n%#v", err, err, err), true
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- task.Run(ctx) }()
	look := time.NewTicker(300 * time.Millisecond)
	defer look.Stop()
	var pages strings.Builder
	for {
		for _, path := range []string{"/metrics", "/healthz", "/readyz", "/api/status"} {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			if resp, err := client.Get("http://" + task.MetricsAddr() + path); err == nil {
				_ = resp.Write(&pages)
				_ = resp.Body.Close()
			}
		}
		select {
		case err := <-ended:
			closing := task.Close()
			return fmt.Sprintf("%v\n%+v\n%v\n%s\n%s", err, err, closing, &pages, log), err != nil
		case <-look.C:
		}
	}
}
