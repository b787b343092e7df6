package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrNone says that there is no stack to control: none is up and CTBRIDGE_STACK_STATE is not set.
var ErrNone = errors.New("no stack is up")

// Stack controls the servers of a stack that runs. Its methods return when the thing is done: Start when the server
// answers, Stop when its process is gone. A server keeps its port and its data throughout. Calls for different
// servers may run side by side.
type Stack struct{ path string }

// Open looks at a state file. It returns ErrNone when there is none or its stack is dead.
func Open(path string) (*Stack, error) {
	if !supported {
		return nil, ErrUnsupported
	}
	stack := &Stack{path: path}
	state, err := stack.State()
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	if !state.Owner.Alive() {
		return nil, fmt.Errorf("%s: its keeper is gone: %w", path, ErrNone)
	}
	return stack, nil
}

// FromEnv opens the stack whose servers the CTBRIDGE_TEST_* variables name; ErrNone when the environment names none,
// for instance because the servers are somebody else's.
func FromEnv() (*Stack, error) {
	path := os.Getenv(StateVariable)
	if path == "" {
		return nil, fmt.Errorf("%s is not set: %w", StateVariable, ErrNone)
	}
	return Open(path)
}

// Current opens the stack of the environment, or else the one that is up.
func Current() (*Stack, error) {
	if os.Getenv(StateVariable) != "" {
		return FromEnv()
	}
	path, err := upState()
	if err != nil {
		return nil, err
	}
	return Open(path)
}

// State reads the state file anew.
func (s *Stack) State() (State, error) { return readState(s.path) }

// Start starts a stopped server and waits until it answers; one that runs stays as it is.
func (s *Stack) Start(ctx context.Context, server string) error { return s.ask(ctx, verbStart, server) }

// Stop ends a server in its orderly way.
func (s *Stack) Stop(ctx context.Context, server string) error { return s.ask(ctx, verbStop, server) }

// Restart is Stop and Start.
func (s *Stack) Restart(ctx context.Context, server string) error {
	return s.ask(ctx, verbRestart, server)
}

// Kill ends a server as a crash does: no goodbye to clients, no last write.
func (s *Stack) Kill(ctx context.Context, server string) error { return s.ask(ctx, verbKill, server) }

// Pause freezes a server: its connections stay open and nothing answers, until Resume.
func (s *Stack) Pause(ctx context.Context, server string) error { return s.ask(ctx, verbPause, server) }

// Resume wakes a paused server.
func (s *Stack) Resume(ctx context.Context, server string) error {
	return s.ask(ctx, verbResume, server)
}

func (s *Stack) ask(ctx context.Context, verb, server string) error {
	state, err := s.State()
	if err != nil {
		return err
	}
	return call(ctx, state.control(), request{Verb: verb, Server: server})
}

// Down ends the stack, deletes its data and returns when its keeper is gone.
func (s *Stack) Down(ctx context.Context) error {
	state, err := s.State()
	if err != nil {
		return err
	}
	if err := call(ctx, state.control(), request{Verb: verbDown}); err != nil {
		return err
	}
	return awaitEnd(ctx, state.Owner)
}

func awaitEnd(ctx context.Context, p Process) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for p.Alive() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end: %w", p.PID, ctx.Err())
		}
	}
	return nil
}

// All lists the living stacks of this account and removes what killed ones left.
func All() ([]State, error) {
	if !supported {
		return nil, ErrUnsupported
	}
	dir, err := base()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := sweep(dir); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", stateFile))
	if err != nil {
		return nil, err
	}
	var all []State
	for _, file := range files {
		if state, err := readState(file); err == nil {
			all = append(all, state)
		}
	}
	return all, nil
}
