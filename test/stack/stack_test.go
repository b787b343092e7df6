//go:build linux

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctbridge/test/stack/servers"
)

// These tests start real servers, several times: a minute on two cores once the downloads are cached.
const guard = "CTBRIDGE_TEST_STACK"

// program is the built command with a folder for its stacks, apart from those of the machine's user.
type program struct {
	path string
	env  []string
}

func build(t *testing.T) program {
	t.Helper()
	if os.Getenv(guard) == "" {
		t.Skipf("%s is not set: it starts real servers and may install them", guard)
	}
	path := filepath.Join(t.TempDir(), "stack")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	temporary, err := os.MkdirTemp("", "ctb") // not t.TempDir: the database accounts must be able to pass
	if err == nil {
		err = os.Chmod(temporary, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"TMPDIR=" + temporary}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "CTBRIDGE_TEST_") && !strings.HasPrefix(pair, servers.StateVariable) && !strings.HasPrefix(pair, "TMPDIR=") {
			env = append(env, pair)
		}
	}
	p := program{path, env}
	t.Cleanup(func() {
		p.command("status").Run() // sweeps: a test that fails leaves nothing either
		os.RemoveAll(temporary)
	})
	return p
}

func (p program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Env = p.env
	return cmd
}

// must runs the program to its end and returns its standard output.
func (p program) must(t *testing.T, args ...string) string {
	t.Helper()
	cmd := p.command(args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("stack %v: %v\n%s", args, err, complaint.String())
	}
	t.Logf("stack %v:\n%s", args, complaint.String())
	return string(out)
}

// idle runs cmd, which must be a "run" of announce, until its servers answer, and returns their state.
func idle(t *testing.T, cmd *exec.Cmd) servers.State {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the command was not run: %v", err)
	}
	stack, err := servers.Open(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	state, err := stack.State()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

var announce = []string{"--", "sh", "-c", "echo $CTBRIDGE_STACK_STATE; exec sleep 1000"}

// nothingLeft waits until every process of the stack is gone.
func nothingLeft(t *testing.T, state servers.State) {
	t.Helper()
	if len(state.Servers) == 0 {
		t.Fatal("there was no server: the test shows nothing")
	}
	for _, server := range state.Servers {
		await(t, server.Name+" is gone", func() bool { return !server.Process.Alive() })
	}
	await(t, "the keeper is gone", func() bool { return !state.Owner.Alive() })
}

func await(t *testing.T, what string, fact func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for !fact() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("still not so after a minute: %s", what)
		}
	}
}

func gone(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist)
}

func TestRunSetsTheEnvironmentAndCleansUp(t *testing.T) {
	p := build(t)
	out := p.must(t, "run", "--", "sh", "-c", "env; cat $CTBRIDGE_STACK_STATE")
	for _, name := range []string{
		servers.KafkaVariable, servers.RegistryVariable, servers.PostgresVariable, servers.MariaDBVariable, servers.PythonVariable,
		servers.KcatVariable, servers.StateVariable,
	} {
		if !strings.Contains(out, "\n"+name+"=") {
			t.Errorf("the command did not see %s", name)
		}
	}
	if left := p.must(t, "status"); left != "" {
		t.Errorf("left after the run:\n%s", left)
	}
}

func TestRunPassesTheExitCodeOn(t *testing.T) {
	p := build(t)
	err := p.command("run", "-only", "postgres", "--", "sh", "-c", "exit 7").Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("run: %v; want exit status 7", err)
	}
	if left := p.must(t, "status"); left != "" {
		t.Errorf("left after the run:\n%s", left)
	}
}

func TestRunStopsOnASignal(t *testing.T) {
	cmd := build(t).command(append([]string{"run", "-only", "postgres,mariadb"}, announce...)...)
	state := idle(t, cmd)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("run was ended by a signal and reports success")
	}
	nothingLeft(t, state)
	if !gone(state.Folder) {
		t.Error("the folder is still there")
	}
}

func TestNothingSurvivesAKilledLauncher(t *testing.T) {
	cmd := build(t).command(append([]string{"run"}, announce...)...)
	state := idle(t, cmd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, state)
	await(t, "the folder is gone", func() bool { return gone(state.Folder) })
}

func TestNothingSurvivesAKilledGoRun(t *testing.T) {
	p := build(t)
	cmd := exec.Command("go", append([]string{"run", ".", "run", "-only", "postgres"}, announce...)...)
	cmd.Env = p.env
	state := idle(t, cmd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, state)
	await(t, "the folder is gone", func() bool { return gone(state.Folder) })
}

func TestNothingSurvivesAKilledKeeper(t *testing.T) {
	p := build(t)
	cmd := p.command(append([]string{"run"}, announce...)...)
	state := idle(t, cmd)
	if err := syscall.Kill(state.Owner.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, state)
	if err := cmd.Wait(); err == nil {
		t.Error("run goes on without its servers")
	}
	if left := p.must(t, "status"); left != "" || !gone(state.Folder) {
		t.Errorf("the next launcher did not sweep: %s", left)
	}
}

func TestRunsSideBySide(t *testing.T) {
	p := build(t)
	args := append([]string{"run", "-only", "postgres,mariadb"}, announce...)
	one, two := idle(t, p.command(args...)), idle(t, p.command(args...))
	used := map[int]bool{}
	for _, server := range append(one.Servers, two.Servers...) {
		if port := server.Ports["client"]; used[port] {
			t.Errorf("port %d is used twice", port)
		} else {
			used[port] = true
		}
	}
	if one.Folder == two.Folder {
		t.Error("both runs use one folder")
	}
}
