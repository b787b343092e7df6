package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const registryVersion = "3.0.9"

// registry is Apicurio Registry, asked through its Confluent-compatible API only.
type registry struct{}

func (registry) name() string                        { return Registry }
func (registry) ports() []string                     { return []string{"client"} }
func (registry) account() string                     { return "" }
func (registry) prepare(context.Context, site) error { return nil }

func (registry) command(s site) command {
	home := s.tools.RegistryHome
	classes := filepath.Join(home, "apicurio-registry-app-"+registryVersion+"-runner.jar") + ":" + filepath.Join(home, "lib", "*")
	return command{
		path: s.tools.Java,
		args: append(jvm(s), "-Xmx384m", "-XX:+UseSerialGC", "-cp", classes, "io.quarkus.runner.GeneratedMain"),
		env: []string{
			"QUARKUS_HTTP_HOST=" + loopback,
			"QUARKUS_HTTP_PORT=" + strconv.Itoa(s.ports["client"]),
			"APICURIO_DATASOURCE_URL=jdbc:h2:file:" + filepath.Join(s.dir, "data"),
		},
		stop: syscall.SIGTERM, abort: syscall.SIGKILL,
	}
}

func registryURL(port int) string { return "http://" + address(port) + "/apis/ccompat/v7" }

func (registry) ready(ctx context.Context, s site) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, registryURL(s.ports["client"])+"/subjects", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var subjects []string
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /subjects: %s", response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(&subjects); err != nil {
		return fmt.Errorf("GET /subjects: %w", err)
	}
	return nil
}
