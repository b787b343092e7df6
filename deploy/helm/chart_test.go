// Package helm holds the chart; its tests lint it, render it, and check what comes out as an API server would.
package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"ctbridge/bridge/config"
)

const (
	chart = "ctbridge"
	// kubernetes is the cluster that charts are rendered for; manifests are checked by the schemas of the oldest and the newest, too.
	kubernetes = "1.34.0"
	oldest     = "1.25"
	newest     = "1.37"
	sidecars   = "1.29" // the first that knows native sidecars
	// operator has the definitions of the Prometheus Operator's resources.
	operator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
)

func tool(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skip(variable + " is not set: make test installs the tools")
	}
	return path
}

func run(t *testing.T, stdin []byte, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, problem.String())
	}
	return out
}

// operatorDefinitions gives the folder of the definitions, from the module of the operator.
func operatorDefinitions(t *testing.T) string {
	t.Helper()
	var module struct{ Dir string }
	if err := json.Unmarshal(run(t, nil, "go", "mod", "download", "-json", operator), &module); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(module.Dir, "example/prometheus-operator-crd")
}

// valuesFiles are those of real life, and none: the defaults.
func valuesFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "ci/*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	return append(files, "")
}

// Every set of values lints, renders, and gives objects without an unknown field or an invalid value.
func TestChart(t *testing.T) {
	t.Parallel()
	helm, python := tool(t, "CTBRIDGE_TEST_HELM"), tool(t, "CTBRIDGE_TEST_PYTHON")
	definitions := operatorDefinitions(t)
	for _, values := range valuesFiles(t) {
		t.Run(filepath.Base(values), func(t *testing.T) {
			t.Parallel()
			args := []string{chart}
			if values != "" {
				args = append(args, "-f", values)
			}
			run(t, nil, helm, append([]string{"lint", "--strict"}, args...)...)
			args = append([]string{"template", "release", "--namespace", "data", "--kube-version", kubernetes}, args...)
			manifests := run(t, nil, helm, args...)
			t.Logf("%s", run(t, manifests, python, "validate.py", definitions, oldest, kubernetes, newest))
			checkConfigs(t, manifests, values != "ctbridge/ci/mysql-proxy.yaml") // which takes its configuration from elsewhere
			checkMounts(t, manifests)
		})
	}
}

// The validator must be able to fail, or the test above proves nothing.
func TestValidatorRefuses(t *testing.T) {
	t.Parallel()
	helm, python := tool(t, "CTBRIDGE_TEST_HELM"), tool(t, "CTBRIDGE_TEST_PYTHON")
	definitions := operatorDefinitions(t)
	good := string(run(t, nil, helm, "template", "release", chart, "--kube-version", kubernetes, "-f", filepath.Join(chart, "ci/sqlserver-cdc.yaml")))
	for what, bad := range map[string]string{
		"an unknown field":             strings.Replace(good, "minReadySeconds:", "minimumReadySeconds:", 1),
		"a wrong type":                 strings.Replace(good, "revisionHistoryLimit: 3", "revisionHistoryLimit: three", 1),
		"an unknown field of a rule":   strings.Replace(good, "expr: absent", "expression: absent", 1),
		"an unknown field of scraping": strings.Replace(good, "scrapeTimeout:", "timeout:", 1),
		"an unknown kind":              strings.Replace(good, "kind: ServiceMonitor", "kind: ServiceWatcher", 1),
	} {
		if bad == good {
			t.Fatalf("%s: the manifest is unchanged", what)
		}
		cmd := exec.Command(python, "validate.py", definitions, newest)
		cmd.Stdin = strings.NewReader(bad)
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s passes: %s", what, out)
		}
	}
}

// Values that no cluster could use are refused before anything is rendered.
func TestValuesSchemaRefuses(t *testing.T) {
	t.Parallel()
	helm := tool(t, "CTBRIDGE_TEST_HELM")
	for _, set := range []string{
		"replica=2", "image.digest=sha256:12", "service.type=Ingress", "metricsPort=0", "config.task=x", "fullnameOverride=" + strings.Repeat("x", 60),
		"serviceMonitor.interval=fast", "secretMounts[0].name=Kafka", "podDisruptionBudget.maxUnavailable=some",
	} {
		if out, err := exec.Command(helm, "template", "release", chart, "--kube-version", kubernetes, "--set", set).CombinedOutput(); err == nil {
			t.Errorf("%s is accepted", set)
		} else if !bytes.Contains(out, []byte("schema")) {
			t.Errorf("%s: %s", set, out)
		}
	}
}

// The sidecar examples are what they claim to be.
func TestSidecars(t *testing.T) {
	t.Parallel()
	python := tool(t, "CTBRIDGE_TEST_PYTHON")
	definitions := operatorDefinitions(t)
	files, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		manifests, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", file, run(t, manifests, python, "validate.py", definitions, sidecars, kubernetes, newest))
		checkConfigs(t, manifests, true)
		checkMounts(t, manifests)
	}
}

// manifest is what the checks look at.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Template struct {
			Spec struct {
				Containers, InitContainers []container
				Volumes                    []struct{ Name string }
			}
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type container struct {
	Name         string
	VolumeMounts []struct{ Name string } `yaml:"volumeMounts"`
}

func objects(t *testing.T, manifests []byte) []manifest {
	t.Helper()
	var all []manifest
	decoder := yaml.NewDecoder(bytes.NewReader(manifests))
	for {
		var m manifest
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
}

// checkConfigs lets ctbridge itself judge the configuration that a ConfigMap holds.
func checkConfigs(t *testing.T, manifests []byte, want bool) {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		if strings.HasSuffix(name, "DSN") {
			name = map[bool]string{true: "sqlserver://u:p@db?database=erp", false: "postgres://u:p@db/shop"}[bytes.Contains(manifests, []byte("engine: sqlserver"))]
		}
		return name, true
	}
	found := false
	for _, m := range objects(t, manifests) {
		text := m.Data["ctbridge.yaml"]
		if text == "" {
			continue
		}
		found = true
		text = strings.NewReplacer("file:/run/secrets/kafka/password", "file:"+secret, "/run/secrets/kafka/ca.crt", secret).Replace(text)
		if _, err := config.Parse([]byte(text), env); err != nil {
			t.Errorf("%s: %v\n%s", m.Metadata.Name, err, text)
		}
	}
	if found != want {
		t.Errorf("a configuration is there: %v, want %v", found, want)
	}
}

// checkMounts finds mounts of volumes that nobody declares.
func checkMounts(t *testing.T, manifests []byte) {
	t.Helper()
	for _, m := range objects(t, manifests) {
		volumes := map[string]bool{}
		for _, v := range m.Spec.Template.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, v := range m.Spec.VolumeClaimTemplates {
			volumes[v.Metadata.Name] = true
		}
		for _, c := range append(m.Spec.Template.Spec.Containers, m.Spec.Template.Spec.InitContainers...) {
			for _, mount := range c.VolumeMounts {
				if !volumes[mount.Name] {
					t.Errorf("%s %s: container %s mounts %s, which is not declared", m.Kind, m.Metadata.Name, c.Name, mount.Name)
				}
			}
		}
	}
}
