package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// HomeVariable names the environment variable that moves the download cache.
const HomeVariable = "CTBRIDGE_STACK_HOME"

// Home is the folder for downloads that outlive a stack: $CTBRIDGE_STACK_HOME or ctbridge-stack in the user's cache.
func Home() (string, error) {
	if home := os.Getenv(HomeVariable); home != "" {
		return filepath.Abs(home)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder; set %s: %w", HomeVariable, err)
	}
	return filepath.Join(cache, "ctbridge-stack"), nil
}

// base is the folder of all stacks of this account. It sits in the temporary folder and not in the cache because the
// database servers may run as accounts that cannot enter a home folder, and because socket paths must be short.
func base() (string, error) {
	dir := filepath.Join(os.TempDir(), "ctbridge-stack-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || !ownedByUs(info) {
		return "", fmt.Errorf("%s belongs to somebody else; set TMPDIR to a folder of your own", dir)
	}
	return dir, nil
}

// upState is the state file of the stack that [Up] starts.
func upState() (string, error) {
	dir, err := base()
	return filepath.Join(dir, upName, stateFile), err
}

const upName = "up"

// reserve makes the folder, the ports and the first state of a new stack. Everything happens under one lock, so that
// stacks that start at the same time get different ports and two "up" cannot both win.
func reserve(draft State, kinds []kind, name string) (State, error) {
	dir, err := base()
	if err != nil {
		return draft, err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return draft, err
	}
	defer unlock()
	taken, err := sweep(dir)
	if err != nil {
		return draft, err
	}
	if draft.Servers, err = assignPorts(kinds, taken); err != nil {
		return draft, err
	}
	if draft.Folder, err = newFolder(dir, name); err != nil {
		return draft, err
	}
	draft.Owner, draft.Password = Self(), rand.Text()
	if draft.Logs == "" {
		draft.Logs = draft.Folder
	}
	for i := range draft.Servers {
		draft.Servers[i].Log = filepath.Join(draft.Logs, draft.Servers[i].Name+".log")
	}
	return draft, draft.save()
}

func newFolder(dir, name string) (string, error) {
	if name == "" {
		folder, err := os.MkdirTemp(dir, "run-")
		if err != nil {
			return "", err
		}
		return folder, os.Chmod(folder, 0o711)
	}
	folder := filepath.Join(dir, name)
	if err := os.Mkdir(folder, 0o711); err != nil {
		return "", fmt.Errorf("a stack is already up, or is being started: %w", err)
	}
	return folder, nil
}

func assignPorts(kinds []kind, taken map[int]bool) ([]Server, error) {
	var servers []Server
	for _, k := range kinds {
		names := k.ports()
		ports, err := freePorts(len(names), taken)
		if err != nil {
			return nil, err
		}
		server := Server{Name: k.name(), Condition: Starting, Ports: map[string]int{}}
		for i, name := range names {
			server.Ports[name], taken[ports[i]] = ports[i], true
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// sweep removes the folders of stacks whose keeper was killed, with any server that outlived it, and returns the
// ports of the living ones. The caller holds the lock.
func sweep(dir string) (map[int]bool, error) {
	taken := map[int]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		folder := filepath.Join(dir, entry.Name())
		state, err := readState(filepath.Join(folder, stateFile))
		if err != nil || !state.Owner.Alive() {
			if err := bury(state, folder); err != nil {
				return nil, err
			}
			continue
		}
		for _, server := range state.Servers {
			for _, port := range server.Ports {
				taken[port] = true
			}
		}
	}
	return taken, nil
}

// bury ends servers whose keeper is gone, each as a crash would, and deletes their folder.
func bury(state State, folder string) error {
	for _, server := range state.Servers {
		if err := endOrphan(server); err != nil {
			return err
		}
	}
	return os.RemoveAll(folder)
}

func endOrphan(server Server) error {
	sig := syscall.SIGKILL
	for _, k := range kindsOf([]string{server.Name}) {
		sig = k.command(site{}).abort
	}
	err := errors.Join(server.Process.signalTree(sigResume), server.Process.signal(sig))
	ctx, cancel := context.WithTimeout(context.Background(), abortWithin)
	defer cancel()
	if awaitEnd(ctx, server.Process) != nil {
		err = errors.Join(err, server.Process.signalTree(os.Kill))
	}
	return err
}
