package servers

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Environment variables that tests read.
const (
	KafkaVariable    = "CTBRIDGE_TEST_KAFKA"         // host:port
	GuardedVariable  = "CTBRIDGE_TEST_KAFKA_GUARDED" // kafka:// URL of the same broker with a user who has no rights
	Kafka3Variable   = "CTBRIDGE_TEST_KAFKA3"        // host:port of three brokers, with commas between
	RegistryVariable = "CTBRIDGE_TEST_REGISTRY"      // base URL of the Confluent API
	PostgresVariable = "CTBRIDGE_TEST_POSTGRES"      // postgres:// URL of a superuser
	MariaDBVariable  = "CTBRIDGE_TEST_MARIADB"       // go-sql-driver DSN of a user with all rights
	PythonVariable   = "CTBRIDGE_TEST_PYTHON"        // path of a Python with confluent-kafka
	KcatVariable     = "CTBRIDGE_TEST_KCAT"          // path of kcat, and so on
	HelmVariable     = "CTBRIDGE_TEST_HELM"
	PromtoolVariable = "CTBRIDGE_TEST_PROMTOOL"
	BuildahVariable  = "CTBRIDGE_TEST_BUILDAH"
	ChromiumVariable = "CTBRIDGE_TEST_CHROMIUM"
	StateVariable    = "CTBRIDGE_STACK_STATE" // path of the state file, for Open
)

var variables = map[string]string{
	Kafka: KafkaVariable, Registry: RegistryVariable, Postgres: PostgresVariable, MariaDB: MariaDBVariable, Kafka3: Kafka3Variable,
	Python: PythonVariable, Kcat: KcatVariable, Helm: HelmVariable, Promtool: PromtoolVariable, Buildah: BuildahVariable, Chromium: ChromiumVariable,
}

// Env is the environment of a stack as NAME=value, in the order of Parts, the state file last.
func (s *State) Env() []string {
	t := &s.Tools
	values := map[string]string{
		Python: t.Python, Kcat: t.Kcat, Helm: t.Helm, Promtool: t.Promtool, Buildah: t.Buildah, Chromium: t.Chromium,
	}
	for _, server := range s.Servers {
		values[server.Name] = s.value(server.Name, server.Ports["client"])
	}
	values[Kafka3] = strings.Join(brokers(s.Servers), ",")
	var env []string
	for _, part := range Parts() {
		if values[part] != "" {
			env = append(env, variables[part]+"="+values[part])
		}
	}
	for _, server := range s.Servers {
		if port := server.Ports[guarded]; port != 0 {
			target := url.URL{Scheme: "kafka", User: url.UserPassword(User, s.Password), Host: address(port)}
			env = append(env, GuardedVariable+"="+target.String())
		}
	}
	return append(env, StateVariable+"="+s.path())
}

func (s *State) value(name string, port int) string {
	switch name {
	case Kafka:
		return address(port)
	case Registry:
		return registryURL(port)
	case Postgres:
		target := url.URL{Scheme: "postgres", User: url.UserPassword(User, s.Password), Host: address(port), Path: "/postgres", RawQuery: "sslmode=disable"}
		return target.String()
	case MariaDB:
		query := url.Values{"charset": {"utf8mb4"}, "time_zone": {"'+00:00'"}}
		return fmt.Sprintf("%s:%s@tcp(%s)/?%s", User, s.Password, address(port), query.Encode())
	}
	return ""
}

// Given splits the parts into those whose variable the environment has already and those that are still missing.
func Given(parts []string) (given, missing []string) {
	for _, part := range parts {
		if os.Getenv(variables[part]) != "" {
			given = append(given, part)
		} else {
			missing = append(missing, part)
		}
	}
	return given, missing
}

// Exports renders the environment as lines for a POSIX shell.
func Exports(env []string) string {
	var out strings.Builder
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&out, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return out.String()
}

// overlay puts env over our own environment.
func overlay(env []string) []string {
	own := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.ContainsFunc(env, func(over string) bool { return strings.HasPrefix(over, name+"=") })
	})
	return append(own, env...)
}
