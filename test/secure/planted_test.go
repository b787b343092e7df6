package secure

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"ctbridge/bridge/config"
	"ctbridge/sink/embedded"
	"ctbridge/sink/kafka"
)

// built is the program, built once where TestMain has not done so.
var built = sync.OnceValue(func() error {
	if binary != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "ctbridge-secure-")
	if err != nil {
		return err
	}
	binary = filepath.Join(dir, "ctbridge")
	out, err := exec.Command("go", "build", "-o", binary, "ctbridge/cmd/ctbridge").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
})

// forms are what a secret looks like on its way: plain, escaped, in hexadecimal, and in base64 at each of the three places that it can have in
// what is encoded together with it.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	out := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), string(quoted[1 : len(quoted)-1]), fmt.Sprintf("%q", secret)[1 : len(fmt.Sprintf("%q", secret))-1], hex.EncodeToString([]byte(secret))}
	for lead := range 3 {
		padded := append(make([]byte, lead), secret...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(padded)
			first := (lead*8 + 5) / 6 // characters that hold none of the lead
			out = append(out, text[first:len(text)-2])
		}
	}
	return out
}

// planted are secrets by the key that holds them, each unlike every other: in characters that need no care, and in those that do.
func planted(keys []string, style string) map[string]string {
	out := map[string]string{}
	for i, key := range keys {
		out[key] = fmt.Sprintf(style, i)
	}
	return out
}

var styles = map[string]string{"plain": "pl4nted-s3cret-%d-zq", "odd": `pl4n"t%%41;:@/?'#{}&=ü%d zq`}

// secretKeys are the keys of the configuration that hold secrets, by their types.
func secretKeys(t reflect.Type, path string) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case f.Type == reflect.TypeFor[config.Secret]():
			keys = append(keys, at)
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]() && name != "":
			keys = append(keys, secretKeys(f.Type, at)...)
		}
	}
	return keys
}

// worlds are configurations that together use every key that holds a secret. %s stands for the value.
func worlds(secrets map[string]string, broker, refusing string) map[string]string {
	escape := func(key string) string { return url.QueryEscape(secrets[key]) }
	yaml := func(text string) string { return fmt.Sprintf("%q", text) }
	base := func(engine, dsn, kafka, rest string) string {
		return fmt.Sprintf(`task: planted
source: {engine: %s, dsn: %s, startup_timeout: 1s}
metrics: {listen: "127.0.0.1:0", basic_auth: {username: who, password: %s}}
log: {level: debug}
columns: {salt: %s, rules: [{hash: [email]}]}
kafka: {brokers: %q, sasl: {%s}}
%s`, engine, yaml(dsn), yaml(secrets["metrics.basic_auth.password"]), yaml(secrets["columns.salt"]), broker, kafka, rest)
	}
	registry := "format: avro\nschema_registry: {url: " + yaml(refusing) + ", %s}\n"
	plain := "mechanism: PLAIN, username: reader, password: " + yaml(secrets["kafka.sasl.password"])
	scram := strings.Replace(plain, "PLAIN", "SCRAM-SHA-256", 1)
	grant := fmt.Sprintf("mechanism: OAUTHBEARER, oauth: {token_url: %q, client_id: reader, client_secret: %s}", refusing, yaml(secrets["kafka.sasl.oauth.client_secret"]))
	token := "mechanism: OAUTHBEARER, token: " + yaml(secrets["kafka.sasl.token"])
	user := fmt.Sprintf(registry, "username: reader, password: "+yaml(secrets["schema_registry.password"]))
	bearer := fmt.Sprintf(registry, "bearer: "+yaml(secrets["schema_registry.bearer"]))
	stored := fmt.Sprintf("delivery: at_least_once\ncheckpoint: {store: sql, engine: postgres, dsn: %s}\n", yaml("postgres://reader:"+escape("checkpoint.dsn")+"@127.0.0.1:1/x"))
	unreadable := fmt.Sprintf("delivery: at_least_once\ncheckpoint: {store: sql, engine: mysql, dsn: %s}\n", yaml("reader:"+secrets["checkpoint.dsn"]+"@tcp(127.0.0.1:1/x"))
	dsn := secrets["source.dsn"]
	return map[string]string{
		"postgres, PLAIN":              base("postgres", "postgres://reader:"+escape("source.dsn")+"@127.0.0.1:1/x", plain, user),
		"postgres list, SCRAM":         base("postgres", "host=127.0.0.1 port=1 user=reader password='"+strings.ReplaceAll(dsn, "'", `\'`)+"'", scram, bearer),
		"postgres unreadable, grant":   base("postgres", "postgres://reader:"+dsn+"@127.0.0.1:port/x", grant, ""),
		"mysql, token":                 base("mysql", "reader:"+dsn+"@tcp(127.0.0.1:1)/x", token, stored),
		"mysql unreadable":             base("mysql", "reader:"+dsn+"@tcp(127.0.0.1:1/x", plain, unreadable),
		"sqlserver":                    base("sqlserver", "sqlserver://reader:"+escape("source.dsn")+"@127.0.0.1:1?database=x", plain, user),
		"sqlserver list":               base("sqlserver", "server=127.0.0.1;port=1;user id=reader;password={"+strings.ReplaceAll(dsn, "}", "}}")+"};database=x", scram, ""),
		"sqlserver unreadable":         base("sqlserver", "sqlserver://reader:"+dsn+"@127.0.0.1:port?database=x", grant, ""),
		"wrong keys, so no validation": base("postgres", "postgres://reader:"+escape("source.dsn")+"@127.0.0.1:1/x", plain, "delivery: at_most_once\n"),
	}
}

// verbs are all that read a configuration; {file} stands for it.
var verbs = [][]string{
	{"run"}, {"validate"}, {"status"}, {"status", "--json"}, {"health"}, {"snapshot", "--table", "x.y", "--timeout", "1s"}, {"replay", "--dry-run"},
	{"render", "--table", "x.y"}, {"tail", "--exit", "--topic", "x", "--config"}, {"doctor"}, {"plan"}, {"reset", "--table", "x.y", "--to", "earliest", "--yes"},
	{"verify"}, {"verify", "--table", "x.y"},
}

// Wherever a secret stands and however its neighbour fails, no verb shows it in any form.
func TestPlantedSecretsOfFailingVerbs(t *testing.T) {
	t.Parallel()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	servers, err := embedded.Start(embedded.Options{NoRegistry: true, Broker: []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "other", "other"), kfake.Superuser("SCRAM-SHA-256", "other", "other")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // with all it was sent in its answer
		w.WriteHeader(http.StatusUnauthorized)
		_ = r.Write(w)
	}))
	t.Cleanup(refusing.Close)
	keys := secretKeys(reflect.TypeFor[config.Task](), "")
	places := make(chan struct{}, 4)
	for style, form := range styles {
		secrets := planted(keys, form)
		used := map[string]bool{}
		for name, text := range worlds(secrets, servers.Brokers()[0], refusing.URL) {
			for key, secret := range secrets {
				used[key] = used[key] || strings.Contains(text, fmt.Sprintf("%q", secret)) || strings.Contains(text, url.QueryEscape(secret)) || strings.Contains(text, fmt.Sprintf("%q", secret)[1:len(secret)])
			}
			file := filepath.Join(t.TempDir(), "task.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, verb := range verbs {
				t.Run(style+"/"+name+"/"+strings.Join(verb, " "), func(t *testing.T) {
					t.Parallel()
					places <- struct{}{}
					defer func() { <-places }()
					out, code := execute(append(verb, file))
					if code == 0 && verb[0] != "validate" {
						t.Errorf("it did not fail, so nothing was tested:\n%s", out)
					}
					expectHidden(t, out, secrets)
				})
			}
		}
		for _, key := range keys {
			if !used[key] {
				t.Errorf("no configuration holds %s: add it", key)
			}
		}
	}
}

func execute(args []string) (out string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	text, _ := cmd.CombinedOutput()
	return string(text), cmd.ProcessState.ExitCode()
}

// expectHidden looks for every secret in every form.
func expectHidden(t *testing.T, text string, secrets map[string]string) {
	t.Helper()
	for key, secret := range secrets {
		for _, form := range forms(secret) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s shows as %q: …%s…", key, form, text[max(0, at-150):min(len(text), at+150)])
				break
			}
		}
	}
}

// A task that works shows its secrets nowhere either: not on its port, not in a dump of all goroutines, not in any topic, checkpoint and dead
// letters among them.
func TestPlantedSecretsOfARunningTask(t *testing.T) {
	t.Parallel()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	for style, form := range styles {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			secrets := planted([]string{"kafka.sasl.password", "schema_registry.password", "metrics.basic_auth.password", "columns.salt"}, form)
			servers, err := embedded.Start(embedded.Options{Broker: []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "reader", secrets["kafka.sasl.password"])}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = servers.Close() })
			p := start(t, fmt.Sprintf(`task: planted
source: {engine: sqlite, dsn: %q, poll_interval: 20ms, horizon: {settle: 0s}}
metrics: {listen: "127.0.0.1:0", basic_auth: {username: who, password: %q}}
log: {level: debug}
format: avro
columns: {salt: %q, rules: [{hash: [status]}]}
schema_registry: {url: %q, username: reader, password: %q}
bad_records: {policy: dead_letter}
kafka: {brokers: %q, sasl: {mechanism: PLAIN, username: reader, password: %q}}
`, badSource(t), secrets["metrics.basic_auth.password"], secrets["columns.salt"], servers.RegistryURL(), secrets["schema_registry.password"], servers.Brokers()[0], secrets["kafka.sasl.password"]), "GOTRACEBACK=all")
			p.says("dead-letter topic")
			var pages strings.Builder
			for _, path := range []string{"/metrics", "/api/status", "/healthz", "/readyz", "/"} {
				for _, who := range []string{secrets["metrics.basic_auth.password"], "wrong"} {
					page(t, &pages, "http://"+metricsAddress.FindStringSubmatch(p.log.String())[1]+path, who)
				}
			}
			_ = p.cmd.Process.Signal(syscall.SIGQUIT)
			p.code()
			if !strings.Contains(p.log.String(), "goroutine ") {
				t.Error("no dump of the goroutines")
			}
			expectHidden(t, p.log.String(), secrets)
			expectHidden(t, pages.String(), secrets)
			expectHidden(t, topics(t, servers, secrets["kafka.sasl.password"]), secrets)
		})
	}
}

func page(t *testing.T, into io.Writer, address, password string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("who", password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_ = response.Write(into)
}

// topics is everything that the broker holds.
func topics(t *testing.T, servers *embedded.Servers, password string) string {
	t.Helper()
	var all strings.Builder
	kinds := map[string]bool{}
	for _, topic := range []string{"main.parcel", "parcel", "planted.metadata", "planted.dead_letters", "ctbridge.planted.checkpoint", "ctbridge.planted.shards"} {
		err := kafka.Tail(t.Context(), kafka.Config{Brokers: servers.Brokers(), SASL: kafka.SASL{Mechanism: "PLAIN", Username: "reader", Password: password}},
			kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
				kinds[topic] = true
				fmt.Fprintf(&all, "%s %s %v\n", m.Key, m.Value, m.Headers)
				return nil
			})
		if err != nil {
			continue // not every task has every topic
		}
	}
	if !kinds["planted.dead_letters"] || !kinds["ctbridge.planted.checkpoint"] {
		t.Errorf("read only %v", kinds)
	}
	return all.String()
}
