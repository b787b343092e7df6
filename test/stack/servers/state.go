package servers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Conditions of a server.
const (
	Starting = "starting"
	Running  = "running"
	Paused   = "paused"  // frozen on request: connections hang
	Stopped  = "stopped" // ended on request
	Exited   = "exited"  // ended by itself: a defect
)

// State is what the state file holds: all that a client needs to use and control one stack.
type State struct {
	Folder string `json:"folder"`
	// Owner is the keeper, or its launcher while the keeper is not yet there. A stack without a living owner is dead.
	Owner Process `json:"owner"`
	// Until is the end of the stack's life; zero for a stack that lives as long as its launcher.
	Until    time.Time `json:"until,omitzero"`
	Logs     string    `json:"logs"`
	Password string    `json:"password"`
	Tools    Tools     `json:"tools"`
	Servers  []Server  `json:"servers"`
}

// Server is one server of a stack.
type Server struct {
	Name      string         `json:"name"`
	Condition string         `json:"condition"`
	Process   Process        `json:"process"`
	Ports     map[string]int `json:"ports"`
	Log       string         `json:"log"`
}

// Find returns the named server of the stack.
func (s *State) Find(name string) (*Server, error) {
	for i := range s.Servers {
		if s.Servers[i].Name == name {
			return &s.Servers[i], nil
		}
	}
	return nil, fmt.Errorf("server %q is not part of this stack; it has %v", name, s.names())
}

func (s *State) names() []string {
	names := make([]string, len(s.Servers))
	for i, server := range s.Servers {
		names[i] = server.Name
	}
	return names
}

func (s *State) path() string    { return filepath.Join(s.Folder, stateFile) }
func (s *State) control() string { return filepath.Join(s.Folder, "control.sock") }

const stateFile = "state.json"

// readState reads one state file; the error is os.ErrNotExist when there is no such stack.
func readState(path string) (State, error) {
	var state State
	raw, err := os.ReadFile(path)
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return state, fmt.Errorf("state file %s: %w", path, err)
	}
	return state, nil
}

// save replaces the state file in one step, so that a reader never sees half of it. It holds a password: mode 0600.
func (s *State) save() error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	next := s.path() + ".next"
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.path())
}
