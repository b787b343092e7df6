package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Names of the parts of a stack. Those from Python on are programs for tests, not servers.
const (
	Kafka    = "kafka"
	Registry = "registry"
	Postgres = "postgres"
	MariaDB  = "mariadb"
	Kafka3   = "kafka3" // three brokers and a controller, servers of their own: see nodes.go
	Python   = "python"
	Kcat     = "kcat"
	Helm     = "helm"
	Promtool = "promtool"
	Buildah  = "buildah"
	Chromium = "chromium"
)

// Parts lists all parts, in the order in which they are shown.
func Parts() []string {
	return append(Usual(), Kafka3)
}

// Usual lists the parts that everyday tests use: all but those that are heavy.
func Usual() []string {
	return []string{Kafka, Registry, Postgres, MariaDB, Python, Kcat, Helm, Promtool, Buildah, Chromium}
}

// kind is what the keeper must know about one sort of server. Implementations hold no state.
type kind interface {
	name() string
	// ports names the ports that the server needs; "client" is the one that tests connect to.
	ports() []string
	// account is the user that the server runs as when we are root.
	account() string
	// prepare makes the data folder, once in the life of a stack.
	prepare(context.Context, site) error
	command(site) command
	// ready asks the server one question of its own protocol; nil says that clients can work with it.
	ready(context.Context, site) error
}

// site is the place of one server within a stack.
type site struct {
	dir      string // the server's own folder
	log      *os.File
	ports    map[string]int
	all      []Server // of the stack, for those that must find each other
	account  string
	password string
	tools    Tools
}

// command is how a server is started, and which signals end it: stop lets it finish its work, abort ends it at once
// as a crash would, but without leaving children or shared memory.
type command struct {
	path        string
	args        []string
	env         []string // added to our own environment
	stop, abort syscall.Signal
}

func kinds() []kind {
	return []kind{kafka{}, registry{}, postgres{}, mariadb{}, controller{}, node{1}, node{2}, node{3}}
}

// kindsOf selects the servers of the parts, in the fixed order; servers may also be named singly.
func kindsOf(names []string) []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool {
		return !slices.Contains(names, k.name()) && !slices.Contains(names, partOf(k.name()))
	})
}

// partOf is the part that a server belongs to: those of one part have a name behind it, after a hyphen.
func partOf(server string) string {
	part, _, _ := strings.Cut(server, "-")
	return part
}

// Check reports parts that do not exist.
func Check(parts []string) error {
	for _, part := range parts {
		if !slices.Contains(Parts(), part) {
			return fmt.Errorf("no part named %q; there are %s", part, strings.Join(Parts(), ", "))
		}
	}
	return nil
}

// helper runs a short program of the server's installation, in its folder and as its account; its output goes to the
// server's log. The end of ctx does not end it: initdb and the like have children and shared memory that a kill would
// leave behind, and they take a second or two.
func (s site) helper(ctx context.Context, path string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startWithin)
	defer cancel()
	cmd, err := s.program(ctx, path, args...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ask runs a client program and returns its complaint as an error, without touching the log.
func (s site) ask(ctx context.Context, env []string, path string, args ...string) error {
	cmd, err := s.program(ctx, path, args...)
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (s site) program(ctx context.Context, path string, args ...string) (*exec.Cmd, error) {
	attr, err := attributes(s.account, 0)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.SysProcAttr, cmd.WaitDelay = s.dir, attr, 5*time.Second
	cmd.Env = s.environ()
	return cmd, nil
}

// environ keeps temporary files in the server's folder: they go away with it, and its account may write there.
func (s site) environ() []string { return append(os.Environ(), "TMPDIR="+s.dir) }
