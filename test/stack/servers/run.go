package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Run starts the parts that the environment does not name yet, runs argv with their variables set, and stops them
// whatever happens to argv or to us. It returns the exit code of argv; an error says that argv did not run to its end
// or that the stack misbehaved. When ctx ends, argv gets SIGTERM and, after a while, SIGKILL.
func Run(ctx context.Context, opts Options, argv []string) (code int, err error) {
	if err := Check(opts.Parts); err != nil {
		return 1, err
	}
	if !opts.Fresh {
		if opts.Parts, err = stillMissing(opts); err != nil {
			return 1, err
		}
	}
	if len(opts.Parts) == 0 {
		return foreground(ctx, argv, nil, func(int) error { return nil })
	}
	l, err := launch(ctx, opts, "", time.Time{})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		l.relay(opts.Report)
		cancel(errors.New("the keeper of the servers went away"))
	}()
	return foreground(ctx, argv, l.state.Env(), func(pid int) error {
		_, err := fmt.Fprintln(l.life, lifeCommand, pid)
		return err
	})
}

// stillMissing leaves out the parts that the environment names, and refuses names that point at a dead stack.
func stillMissing(opts Options) ([]string, error) {
	given, missing := Given(opts.Parts)
	if len(given) == 0 {
		return missing, nil
	}
	if _, err := FromEnv(); os.Getenv(StateVariable) != "" && err != nil {
		return nil, fmt.Errorf("the environment names servers of a stack that is gone; unset CTBRIDGE_TEST_* and %s: %w", StateVariable, err)
	}
	opts.Report("given by the environment: " + strings.Join(given, ", "))
	return missing, nil
}

// foreground runs argv in the foreground; started is told its process.
func foreground(ctx context.Context, argv, env []string, started func(pid int) error) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = overlay(env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.WaitDelay = 15 * time.Second
	cmd.Cancel = func() error { return identify(cmd.Process.Pid).signalTree(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	told := started(cmd.Process.Pid)
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 1, errors.Join(fmt.Errorf("%s: %w", argv[0], context.Cause(ctx)), told)
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), told
	case err != nil:
		return 1, errors.Join(err, told)
	}
	return 0, told
}
