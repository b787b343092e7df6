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

// gate is a shell that becomes argv once a line arrives on file 3, with the same pid; if none arrives, it ends.
const gate = `read -r line <&3 || exit 1; exec 3<&-; exec "$@"`

// foreground runs argv with our files; started is told its process before argv begins, so that a launcher that is
// killed at any instant has either told the keeper or started nothing.
func foreground(ctx context.Context, argv, env []string, started func(pid int) error) (int, error) {
	if _, err := exec.LookPath(argv[0]); err != nil {
		return 1, err
	}
	closed, open, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	defer open.Close()
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", gate, "sh"}, argv...)...)
	cmd.Env, cmd.ExtraFiles = overlay(env), []*os.File{closed}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.WaitDelay = 15 * time.Second
	cmd.Cancel = func() error { return identify(cmd.Process.Pid).signalTree(syscall.SIGTERM) }
	err = cmd.Start()
	closed.Close()
	if err != nil {
		return 1, err
	}
	told := started(cmd.Process.Pid)
	if told == nil {
		_, told = fmt.Fprintln(open)
	}
	open.Close()
	return outcome(ctx, argv[0], cmd.Wait(), told)
}

func outcome(ctx context.Context, name string, err, told error) (int, error) {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 1, errors.Join(fmt.Errorf("%s: %w", name, context.Cause(ctx)), told)
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1), told
	case err != nil:
		return 1, errors.Join(err, told)
	}
	return 0, told
}
