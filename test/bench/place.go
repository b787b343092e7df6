package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"ctbridge/test/stack/servers"
)

// place is where the measurements run: the built program and the servers of test/stack.
type place struct {
	dir, binary       string
	brokers, registry string
	out               string         // folder of the results
	pids              map[string]int // of the servers; none where they are somebody else's
	poll              time.Duration  // poll interval of the tasks
	profiles          bool
	servers           map[string]string // their versions, by engine
	starts            map[string]start  // what only starting costs, by what it was measured with
}

func newPlace(ctx context.Context, o options) (*place, error) {
	p := &place{
		brokers: os.Getenv(servers.KafkaVariable), registry: os.Getenv(servers.RegistryVariable), out: o.out, poll: o.poll, profiles: o.profiles,
		pids: map[string]int{}, servers: map[string]string{}, starts: map[string]start{},
	}
	if p.brokers == "" || p.registry == "" {
		return nil, fmt.Errorf("%s or %s is not set: go run ./test/stack run -- go run ./test/bench", servers.KafkaVariable, servers.RegistryVariable)
	}
	stack, err := servers.FromEnv()
	if err == nil {
		err = p.findServers(stack)
	}
	if err != nil && !errors.Is(err, servers.ErrNone) {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "ctbridge-bench-"); err != nil {
		return nil, err
	}
	p.binary = filepath.Join(p.dir, "ctbridge")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.binary, "ctbridge/cmd/ctbridge")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build
	if output, err := build.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build: %w\n%s", err, output), p.close())
	}
	return p, nil
}

func (p *place) findServers(stack *servers.Stack) error {
	state, err := stack.State()
	if err != nil {
		return err
	}
	for _, s := range state.Servers {
		p.pids[s.Name] = s.Process.PID
	}
	if version := regexp.MustCompile(`^kafka-([0-9.]+)`).FindStringSubmatch(filepath.Base(state.Tools.KafkaJars)); version != nil {
		p.servers["broker"] = "Apache Kafka " + version[1]
	}
	return nil
}

func (p *place) pid(server string) int { return p.pids[server] }

func (p *place) close() error { return os.RemoveAll(p.dir) }
