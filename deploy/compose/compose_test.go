// Package compose holds the Docker Compose file; this test keeps its promises.
package compose

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

type composeFile struct {
	Services map[string]struct {
		Image       string
		Ports       []string
		Volumes     []string
		Environment map[string]string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck struct{ Test []string }
	}
	Volumes map[string]any
}

func load(t *testing.T) composeFile {
	t.Helper()
	raw, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file composeFile
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEveryServiceIsLocalPinnedAndWatched(t *testing.T) {
	t.Parallel()
	file := load(t)
	for _, name := range []string{"kafka", "registry", "postgres", "mariadb", "sqlserver"} {
		if _, ok := file.Services[name]; !ok {
			t.Errorf("service %s is missing", name)
		}
	}
	local := regexp.MustCompile(`^127\.0\.0\.1:\d+:\d+$`)
	pinned := regexp.MustCompile(`:\d[\w.-]*$`)
	for name, service := range file.Services {
		for _, port := range service.Ports {
			if !local.MatchString(port) {
				t.Errorf("%s: port %q is open to the network; want 127.0.0.1:…", name, port)
			}
		}
		if !pinned.MatchString(service.Image) {
			t.Errorf("%s: image %q has no version", name, service.Image)
		}
		if len(service.Ports) == 0 || len(service.Healthcheck.Test) < 2 {
			t.Errorf("%s: ports %v, health check %v; want both", name, service.Ports, service.Healthcheck.Test)
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, ok := file.Volumes[source]; !ok {
				t.Errorf("%s: volume %q is not declared", name, source)
			}
		}
		for needed := range service.DependsOn {
			if _, ok := file.Services[needed]; !ok {
				t.Errorf("%s depends on %q, which is not there", name, needed)
			}
		}
	}
}

// A fixed password would end up in somebody's network.
func TestPasswordsComeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, service := range load(t).Services {
		for variable, value := range service.Environment {
			if strings.Contains(variable, "PASSWORD") && !strings.HasPrefix(value, "${") {
				t.Errorf("%s: %s is fixed; want ${NAME:-default}", name, variable)
			}
		}
	}
}

// The commented service must be valid once its marks are gone.
func TestSampleServiceParses(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, found := strings.Cut(string(raw), "  #\n")
	if !found {
		t.Fatal("no sample service")
	}
	sample, _, _ = strings.Cut(sample, "\nvolumes:")
	plain := "services:\n" + regexp.MustCompile(`(?m)^  # `).ReplaceAllString(sample, "  ")
	var file composeFile
	if err := yaml.Unmarshal([]byte(plain), &file); err != nil {
		t.Fatalf("%v in:\n%s", err, plain)
	}
	bridge, ok := file.Services["ctbridge"]
	if !ok || len(bridge.Volumes) != 1 || len(bridge.DependsOn) == 0 {
		t.Errorf("sample service: %+v; want ctbridge with its configuration mounted", file.Services)
	}
	for needed := range bridge.DependsOn {
		if _, ok := load(t).Services[needed]; !ok {
			t.Errorf("the sample depends on %q, which is not there", needed)
		}
	}
}
