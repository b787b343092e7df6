//go:build linux

package servers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ownBase moves the folder of all stacks into the test.
func ownBase(t *testing.T) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := base()
	mustDo(t, "base", err)
	return dir
}

func TestReserveGivesEachStackItsOwn(t *testing.T) {
	ownBase(t)
	one, err := reserve(State{}, kinds(), "")
	mustDo(t, "first", err)
	two, err := reserve(State{}, kinds(), "")
	mustDo(t, "second", err)
	if one.Folder == two.Folder || one.Password == two.Password {
		t.Error("two stacks share a folder or a password")
	}
	used := map[int]bool{}
	for _, server := range append(one.Servers, two.Servers...) {
		for name, port := range server.Ports {
			if used[port] {
				t.Errorf("port %d (%s of %s) was given twice", port, name, server.Name)
			}
			used[port] = true
		}
	}
	if len(used) != 20 {
		t.Errorf("%d ports in two stacks; want 20", len(used))
	}
	if info, err := os.Stat(one.Folder); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("folder: %v %v; want mode 711, so that database accounts can pass", info.Mode(), err)
	}
}

func TestOnlyOneStackIsUp(t *testing.T) {
	ownBase(t)
	first, err := reserve(State{}, kinds(), upName)
	mustDo(t, "first", err)
	if _, err := reserve(State{}, kinds(), upName); !errors.Is(err, os.ErrExist) {
		t.Fatalf("second: %v; want ErrExist", err)
	}
	if _, err := Open(first.path()); err != nil {
		t.Errorf("the first stack suffered: %v", err)
	}
}

func TestSweepTakesOnlyTheDead(t *testing.T) {
	dir := ownBase(t)
	orphan := shell(t, "exec sleep 1000")
	stranger := shell(t, "exec sleep 1000")
	living, err := reserve(State{}, []kind{sleeper("a")}, "")
	mustDo(t, "reserve", err)
	dead := State{Folder: filepath.Join(dir, "run-dead"), Owner: Process{PID: Self().PID, Start: 1}, Servers: []Server{
		{Name: "a", Process: orphan, Ports: map[string]int{"client": 1}},
		{Name: "b", Process: Process{PID: stranger.PID, Start: stranger.Start + 1}},
	}}
	mustDo(t, "mkdir", os.Mkdir(dead.Folder, 0o700))
	mustDo(t, "save", dead.save())
	half := filepath.Join(dir, "run-half") // its launcher died before it wrote a state
	mustDo(t, "mkdir", os.Mkdir(half, 0o700))

	taken, err := sweep(dir)
	mustDo(t, "sweep", err)
	for _, gone := range []string{dead.Folder, half} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v; want it gone", gone, err)
		}
	}
	await(t, "the server of the dead stack is dead", func() bool { return !orphan.Alive() })
	if !stranger.Alive() {
		t.Error("a process that only had the pid of an old server was killed")
	}
	if port := living.Servers[0].Ports["client"]; len(taken) != 1 || !taken[port] {
		t.Errorf("taken ports %v; want the living stack's %d", taken, port)
	}
	if all, err := All(); err != nil || len(all) != 1 || all[0].Folder != living.Folder {
		t.Errorf("All = %v, %v; want the living stack", all, err)
	}
}

func TestHome(t *testing.T) {
	t.Setenv(HomeVariable, "/somewhere")
	if home, err := Home(); err != nil || home != "/somewhere" {
		t.Errorf("Home = %q, %v; want the variable's folder", home, err)
	}
	t.Setenv(HomeVariable, "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	if home, err := Home(); err != nil || home != "/cache/ctbridge-stack" {
		t.Errorf("Home = %q, %v; want a folder in the user's cache", home, err)
	}
}

func TestNoStack(t *testing.T) {
	ownBase(t)
	t.Setenv(StateVariable, "")
	if _, err := FromEnv(); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), StateVariable) {
		t.Errorf("FromEnv: %v; want ErrNone that names the variable", err)
	}
	if _, err := Current(); !errors.Is(err, ErrNone) {
		t.Errorf("Current: %v; want ErrNone", err)
	}
	state, err := reserve(State{}, nil, "")
	mustDo(t, "reserve", err)
	state.Owner.Start--
	mustDo(t, "save", state.save())
	if _, err := Open(state.path()); !errors.Is(err, ErrNone) {
		t.Errorf("Open of a dead stack: %v; want ErrNone", err)
	}
}
