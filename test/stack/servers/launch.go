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
	"time"
)

// Options of a new stack.
type Options struct {
	Parts    []string      // names of Parts; servers and programs
	Lifetime time.Duration // of Up; the servers are stopped then
	Logs     string        // folder for the logs; "" puts them into the stack's folder, which is deleted at the end
	Fresh    bool          // Run: start all parts, whatever the environment names already
	Report   Report        // progress; required
}

// KeeperVerb is the argument with which a launcher starts its own executable again; main must then call [Keep] with the
// next argument. Standard input is then the life pipe and file 3 the report pipe.
const KeeperVerb = "keeper"

// Up starts a stack that stays up until Down or the end of its lifetime. One that is up already and has all the
// servers asked for is fine as it is.
func Up(ctx context.Context, opts Options) (*Stack, error) {
	if stack, err := already(opts); stack != nil || err != nil {
		return stack, err
	}
	until := time.Now().Add(opts.Lifetime)
	l, err := launch(ctx, opts, upName, until)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(l.life, lifeDetach); err != nil {
		return nil, errors.Join(err, l.close())
	}
	io.Copy(io.Discard, l.report) // until the keeper has understood and closed its end
	l.life.Close()
	return &Stack{path: l.state.path()}, l.cmd.Process.Release()
}

func already(opts Options) (*Stack, error) {
	path, err := upState()
	if err != nil {
		return nil, err
	}
	stack, err := Open(path)
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state, err := stack.State()
	if err != nil {
		return nil, err
	}
	for _, k := range kindsOf(opts.Parts) {
		if _, err := state.Find(k.name()); err != nil {
			return nil, fmt.Errorf("a stack is up already, but: %w; take it down first", err)
		}
	}
	opts.Report("already up: " + state.Folder)
	return stack, nil
}

// launched is a keeper as its launcher sees it.
type launched struct {
	state  State
	cmd    *exec.Cmd
	life   *os.File
	report *os.File
	lines  *json.Decoder // over report
}

// launch installs the parts, starts a keeper and waits until all servers answer.
func launch(ctx context.Context, opts Options, name string, until time.Time) (*launched, error) {
	if err := Check(opts.Parts); err != nil {
		return nil, err
	}
	tools, err := Install(ctx, opts.Parts, opts.Report)
	if err != nil {
		return nil, err
	}
	if opts.Logs != "" {
		if opts.Logs, err = filepath.Abs(opts.Logs); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(opts.Logs, 0o755); err != nil {
			return nil, err
		}
	}
	state, err := reserve(State{Until: until, Tools: tools, Logs: opts.Logs}, kindsOf(opts.Parts), name)
	if err != nil {
		return nil, err
	}
	l, err := startKeeper(state)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(state.Folder))
	}
	// A launcher that is told to stop closes life; the keeper then gives up and says so.
	stop := context.AfterFunc(ctx, func() { l.life.Close() })
	defer stop()
	if err := l.awaitReady(opts.Report); err != nil {
		l.close() // its error would only say once more that the keeper failed
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return l, nil
}

func startKeeper(state State) (*launched, error) {
	log, err := os.Create(filepath.Join(state.Logs, "keeper.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	lifeEnd, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer lifeEnd.Close()
	report, reportEnd, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, life.Close())
	}
	defer reportEnd.Close()
	// Not os.Executable: "go run" may have deleted the file by now, and this link works all the same.
	cmd := exec.Command("/proc/self/exe", KeeperVerb, state.path())
	cmd.Args[0] = "ctbridge-stack"
	cmd.Dir, cmd.SysProcAttr = state.Folder, detached()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = lifeEnd, log, log
	cmd.ExtraFiles = []*os.File{reportEnd}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, life.Close(), report.Close())
	}
	return &launched{state: state, cmd: cmd, life: life, report: report, lines: json.NewDecoder(report)}, nil
}

// awaitReady passes progress on until the keeper says that the servers answer or that one does not.
func (l *launched) awaitReady(report Report) error {
	for {
		var msg message
		if err := l.lines.Decode(&msg); err != nil {
			return fmt.Errorf("the keeper of %s ended early: %w", l.state.Folder, err)
		}
		switch msg.Kind {
		case ready:
			return nil
		case failed:
			return errors.New(msg.Text)
		}
		report(msg.Text)
	}
}

// relay passes on what the keeper says while the servers run.
func (l *launched) relay(report Report) {
	for {
		var msg message
		if l.lines.Decode(&msg) != nil {
			return
		}
		report(msg.Text)
	}
}

// close ends the stack and waits for its keeper.
func (l *launched) close() error {
	l.life.Close()
	err := l.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("the keeper of %s: %w", l.state.Folder, err)
	}
	return err
}
