package servers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// The launcher and the keeper talk over two pipes: life (launcher to keeper, lines of text) and report (keeper to
// launcher, JSON values). The end of life is the death of the launcher, however it died.

const (
	lifeDetach  = "detach"  // the launcher leaves, the servers stay
	lifeCommand = "command" // "command <pid>": end this process with its children if the launcher dies
)

// message is one value on the report pipe.
type message struct {
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
}

const (
	progress = "progress"
	ready    = "ready"
	failed   = "failed"
)

type messages struct {
	mu  sync.Mutex
	out io.WriteCloser
}

// send tells the launcher; that it has detached is no error.
func (m *messages) send(msg message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.out == nil {
		return nil
	}
	return json.NewEncoder(m.out).Encode(msg)
}

func (m *messages) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.out != nil {
		m.out.Close()
		m.out = nil
	}
}

// follow reads life until its end and then ends the keeper, unless the launcher has detached.
func (k *keeper) follow(life io.Reader) {
	lines := bufio.NewScanner(life)
	for lines.Scan() {
		var pid int
		if lines.Text() == lifeDetach {
			k.launcher.close()
			return
		}
		if _, err := fmt.Sscanf(lines.Text(), lifeCommand+" %d", &pid); err == nil {
			k.commands.set(identify(pid))
		}
	}
	k.over(errors.New("the launcher went away"))
}

// follower remembers the command that runs with the servers. Normally it has ended before the launcher does; after the
// launcher was killed it is ended here, with its children, so that no test goes on against servers that are gone.
type follower struct {
	mu      sync.Mutex
	process Process
}

func (f *follower) set(p Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.process = p
}

func (f *follower) kill() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.process.signalTree(os.Kill)
}
