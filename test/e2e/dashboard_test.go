package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// The dashboard and the alerts ask for nothing that a running bridge does not expose: a real Prometheus scrapes two tasks (one of each
// layout, so that every metric is there) and evaluates every expression.
func TestDashboardAndAlertsAskForWhatIsThere(t *testing.T) {
	t.Parallel()
	promtool := os.Getenv("CTBRIDGE_TEST_PROMTOOL")
	if promtool == "" {
		t.Skip("CTBRIDGE_TEST_PROMTOOL is not set: make test installs Prometheus")
	}
	sqlite, cdc := troubledTask(t), cdcTask(t)
	prometheus := scrape(t, filepath.Join(filepath.Dir(promtool), "prometheus"), sqlite.MetricsAddr(), cdc.MetricsAddr())
	expressions := dashboardExpressions(t)
	if len(expressions) < 20 {
		t.Fatalf("only %d expressions in the dashboard", len(expressions))
	}
	for _, e := range append(expressions, alertExpressions(t)...) {
		e = asked(e)
		if _, err := prometheus.query(e); err != nil {
			t.Errorf("%s: %v", e, err)
		}
		for _, name := range metricNames(e) {
			if n, err := prometheus.query(name); err != nil || n == 0 {
				t.Errorf("%s asks for %s, which nobody exposes: %v", e, name, err)
			}
		}
	}
	for _, e := range expressions { // what must show something on a busy day
		if n, _ := prometheus.query(asked(e)); n == 0 && !strings.Contains(e, " > 0") {
			t.Errorf("%s shows nothing", asked(e))
		}
	}
}

// troubledTask has a full load, changes, a row that no message can hold, and a table that cannot go on. What it writes goes on until the test ends.
func troubledTask(t *testing.T) *running {
	t.Helper()
	s := newStand(t)
	s.create("parcel")
	s.badTable("change_oper", "timestamp")
	s.db.Exec(s, "INSERT INTO parcel (id, status) VALUES (1, 'loaded')")
	r := s.start(s.avro(), set{"full_load.mode": "initial", "bad_records.policy": "dead_letter"})
	s.read(1, "parcel")
	s.add("parcel", "TRUNCATE", 2, "t2", 0, nil, nil)
	s.add("parcel", "I", 3, "t3", 3, "x", "no number")
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for n := 4; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.add("parcel", "I", n, fmt.Sprint("t", n), n, "new", nil)
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return r
}

// cdcTask has read what SQL Server captured.
func cdcTask(t *testing.T) *running {
	t.Helper()
	s := newStand(t)
	_, changes := s.captured()
	r := s.start(changes)
	s.read(2, "parcel")
	r.drain()
	return s.start(changes) // the margin to the clean-up is measured from where a task stands
}

type prometheus struct{ base string }

// scrape starts Prometheus on the addresses and waits until it has seen each several times.
func scrape(t *testing.T, program string, addresses ...string) prometheus {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs:\n  - job_name: ctbridge\n    static_configs: [{targets: [%s]}]\n",
		strings.Join(addresses, ", "))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := port.Addr().String()
	_ = port.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		_ = log.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	p := prometheus{"http://" + address}
	eventually(t, func() bool {
		n, err := p.query(`count_over_time(up{job="ctbridge"}[1m]) > 4`)
		return err == nil && n == len(addresses)
	}, "Prometheus on %s to scrape %v", address, addresses)
	return p
}

// query gives how many series an expression has now.
func (p prometheus) query(expression string) (int, error) {
	answer, err := http.Get(p.base + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	var result struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal(body, &result); err != nil {
		return 0, fmt.Errorf("%w: %s", err, body)
	}
	if result.Status != "success" {
		return 0, fmt.Errorf("%s: %s", result.Status, result.Error)
	}
	return len(result.Data.Result), nil
}

// asked fills the variables of the dashboard in as Grafana does for "All".
func asked(expression string) string {
	return strings.NewReplacer("$__rate_interval", "5s", "$__range", "1m", "$job", ".*", "$instance", ".*", "$table", ".*").Replace(expression)
}

func dashboardExpressions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/ctbridge.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels      []struct{ Targets []struct{ Expr string } }
		Annotations struct{ List []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, annotation := range dashboard.Annotations.List {
		all = append(all, annotation.Expr)
	}
	return all
}

func alertExpressions(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []struct{ Expr string } }
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			all = append(all, rule.Expr)
		}
	}
	return all
}

var metricName = regexp.MustCompile(`\b(ctbridge|process|go)_[a-z0-9_]+`)

func metricNames(expression string) []string {
	names := metricName.FindAllString(expression, -1)
	slices.Sort(names)
	return slices.Compact(names)
}
