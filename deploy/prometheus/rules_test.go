// Package prometheus holds the alert rules; its tests let them fire and resolve.
package prometheus

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func promtool(t *testing.T, args ...string) {
	t.Helper()
	path := os.Getenv("CTBRIDGE_TEST_PROMTOOL")
	if path == "" {
		t.Skip("CTBRIDGE_TEST_PROMTOOL is not set: make test installs it")
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "alerts.yaml")
	promtool(t, "test", "rules", "alerts_test.yaml")
}

type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func read(t *testing.T, file string, into any) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if into == nil {
		return string(text)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each alert has a severity, a test that fires and resolves it, and a section of the runbook.
func TestEveryAlertIsTestedAndExplained(t *testing.T) {
	t.Parallel()
	var all rules
	read(t, "alerts.yaml", &all)
	tests := read(t, "alerts_test.yaml", nil)
	runbook := read(t, filepath.Join("../../docs/runbook.md"), nil)
	count := 0
	for _, group := range all.Groups {
		for _, rule := range group.Rules {
			count++
			if s := rule.Labels["severity"]; s != "critical" && s != "warning" {
				t.Errorf("%s: severity %q", rule.Alert, s)
			}
			if !strings.Contains(tests, "alertname: "+rule.Alert+"\n") || !strings.Contains(tests, "{alertname: "+rule.Alert+",") {
				t.Errorf("%s: no test fires and resolves it", rule.Alert)
			}
			file, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "#")
			if file != "docs/runbook.md" || !sectionOf(runbook, anchor) {
				t.Errorf("%s: no section for %s", rule.Alert, rule.Annotations["runbook_url"])
			}
		}
	}
	if count == 0 {
		t.Error("no alerts")
	}
}

// sectionOf finds the heading whose anchor it is: lower case, as renderers of Markdown make it.
func sectionOf(markdown, anchor string) bool {
	for _, line := range strings.Split(markdown, "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok && strings.ToLower(strings.TrimSpace(title)) == anchor {
			return true
		}
	}
	return false
}
