//go:build linux

package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// await polls a fact until it holds; the deadline is far beyond what a loaded machine needs.
func await(t *testing.T, what string, fact func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(30 * time.Second)
	for !fact() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("still not so after 30 s: %s", what)
		}
	}
}

// shell starts a script that the end of the test kills.
func shell(t *testing.T, script string) Process {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := identify(cmd.Process.Pid)
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	t.Cleanup(func() { id.signalTree(os.Kill); <-done })
	return id
}

// fake stands in for a server: a shell that runs script and answers when ready says so.
type fake struct {
	label  string
	script string
	answer error
}

func (f fake) name() string    { return f.label }
func (f fake) ports() []string { return []string{"client"} }
func (f fake) account() string { return "" }

// prepare fails when it is called twice for one stack.
func (f fake) prepare(_ context.Context, s site) error {
	file, err := os.OpenFile(filepath.Join(s.dir, "data"), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// command is asked for before each start: what an earlier start said is no answer of the new one.
func (f fake) command(s site) command {
	os.Remove(filepath.Join(s.dir, "up"))
	return command{path: "/bin/sh", args: []string{"-c", f.script}, env: []string{"FAKE=" + f.label}, stop: syscall.SIGTERM, abort: syscall.SIGKILL}
}

func (f fake) ready(_ context.Context, s site) error {
	if _, err := os.Stat(filepath.Join(s.dir, "up")); err != nil {
		return errors.Join(f.answer, err)
	}
	return f.answer
}

// sleeper is a fake that counts its starts, says that it is up, and runs until it is told to end.
func sleeper(label string) fake {
	return fake{label: label, script: `echo "$FAKE starts"; echo $$ >> starts; touch up; exec sleep 1000`}
}

// draft makes the folder and the state of a stack of these kinds, as a launcher does.
func draft(t *testing.T, kinds ...kind) State {
	t.Helper()
	servers, err := assignPorts(kinds, map[int]bool{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "ctb") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	state := State{Folder: folder, Owner: Self(), Logs: t.TempDir(), Servers: servers}
	for i := range servers {
		servers[i].Log = filepath.Join(state.Logs, servers[i].Name+".log")
	}
	if err := state.save(); err != nil {
		t.Fatal(err)
	}
	return state
}

// kept is a keeper that runs within the test.
type kept struct {
	stack  *Stack
	life   *io.PipeWriter
	told   chan message
	result chan error
}

func startKept(t *testing.T, state State, kinds ...kind) *kept {
	t.Helper()
	lifeEnd, life := io.Pipe()
	report, reportEnd, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{stack: &Stack{path: state.path()}, life: life, told: make(chan message, 100), result: make(chan error, 1)}
	go func() { k.result <- keep(t.Context(), state, kinds, lifeEnd, reportEnd); reportEnd.Close() }()
	go func() {
		lines := json.NewDecoder(report)
		for {
			var msg message
			if lines.Decode(&msg) != nil {
				close(k.told)
				return
			}
			k.told <- msg
		}
	}()
	t.Cleanup(func() { life.Close(); report.Close() })
	return k
}

// until reads the report up to the first message of the kind.
func (k *kept) until(t *testing.T, kind string) message {
	t.Helper()
	for msg := range k.told {
		if msg.Kind == kind {
			return msg
		}
	}
	t.Fatalf("the keeper ended without a message %q: %v", kind, <-k.result)
	return message{}
}

func (k *kept) server(t *testing.T, name string) Server {
	t.Helper()
	state, err := k.stack.State()
	if err != nil {
		t.Fatal(err)
	}
	server, err := state.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return *server
}

// over waits for the keeper's end and checks that its folder is gone.
func (k *kept) over(t *testing.T, folder string) error {
	t.Helper()
	err := <-k.result
	if _, stat := os.Stat(folder); !errors.Is(stat, os.ErrNotExist) {
		t.Errorf("folder of the stack after its end: %v, want it gone", stat)
	}
	return err
}

func mustDo(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", what, err))
	}
}
