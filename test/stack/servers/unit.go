package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Deadlines are generous: a machine that builds and tests beside the servers is slow.
const (
	startWithin = 2 * time.Minute
	stopWithin  = 40 * time.Second
	abortWithin = 10 * time.Second
)

// unit is one server in the hands of the keeper. Its verbs are called one at a time (mu).
type unit struct {
	kind     kind
	site     site
	spawn    *spawner
	note     func(condition string, process Process) error // records a change in the state file
	lost     func(text string)                             // is told when the server ends by itself
	mu       sync.Mutex
	prepared bool
	process  *child // nil while the server does not run
}

// child is a started process; ended is closed when it has been waited for.
type child struct {
	cmd   *exec.Cmd
	id    Process
	ended chan struct{}
	err   error // valid after ended
}

func (u *unit) running() bool { return u.process != nil }

// start brings the server up and returns when it answers; a running server stays as it is.
func (u *unit) start(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err // the keeper ends
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := u.prepare(ctx); err != nil {
		return u.failed(err)
	}
	if err := u.launch(); err != nil {
		return u.failed(err)
	}
	if err := u.awaitReady(ctx); err != nil {
		return u.failed(errors.Join(err, u.end(u.kind.command(u.site).abort, abortWithin)))
	}
	go u.watch(u.process)
	return u.record(Running)
}

// watch waits beside a running server and reports its end, unless it was asked for.
func (u *unit) watch(process *child) {
	<-process.ended
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.process != process {
		return
	}
	u.process = nil
	text := fmt.Sprintf("%s ended by itself: %v; its log is %s", u.kind.name(), process.err, u.site.log.Name())
	if err := u.record(Exited); err != nil {
		text += "; " + err.Error()
	}
	u.lost(text)
}

// failed adds the end of the server's log, which is all that the user sees of it.
func (u *unit) failed(err error) error {
	raw, _ := os.ReadFile(u.site.log.Name())
	return fmt.Errorf("%s does not start: %w\n--- %s\n%s", u.kind.name(), err, u.site.log.Name(), tail(string(raw), 40))
}

func (u *unit) prepare(ctx context.Context) error {
	if u.prepared {
		return nil
	}
	if err := os.Mkdir(u.site.dir, 0o700); err != nil {
		return err
	}
	if err := giveTo(u.site.account, u.site.dir); err != nil {
		return err
	}
	if err := u.kind.prepare(ctx, u.site); err != nil {
		return fmt.Errorf("prepare its data: %w", err)
	}
	u.prepared = true
	return nil
}

func (u *unit) launch() error {
	command := u.kind.command(u.site)
	attr, err := attributes(u.site.account, command.abort)
	if err != nil {
		return err
	}
	cmd := exec.Command(command.path, command.args...)
	cmd.Dir, cmd.SysProcAttr = u.site.dir, attr
	cmd.Env = append(u.site.environ(), command.env...)
	cmd.Stdout, cmd.Stderr = u.site.log, u.site.log
	if err := u.spawn.start(cmd); err != nil {
		return err
	}
	u.process = &child{cmd: cmd, id: identify(cmd.Process.Pid), ended: make(chan struct{})}
	go u.process.wait()
	return u.record(Starting)
}

func (c *child) wait() {
	c.err = c.cmd.Wait()
	close(c.ended)
}

// awaitReady asks until the server answers, dies or runs out of time.
func (u *unit) awaitReady(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := u.kind.ready(ctx, u.site)
		if last == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-u.process.ended:
			return endedByItself(u.process.err)
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", ctx.Err(), last)
		}
	}
}

// stop lets the server finish its work and end; crash ends it at once. Both keep its data.
func (u *unit) stop() error  { return u.down(u.kind.command(u.site).stop, stopWithin) }
func (u *unit) crash() error { return u.down(u.kind.command(u.site).abort, abortWithin) }

func (u *unit) down(sig syscall.Signal, within time.Duration) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.running() {
		return nil
	}
	return errors.Join(u.end(sig, within), u.record(Stopped))
}

// end signals the process, waits for its end, and kills it when it takes too long. A paused process is woken first,
// because it would not see the signal.
func (u *unit) end(sig syscall.Signal, within time.Duration) error {
	process := u.process
	u.process = nil
	err := errors.Join(process.id.signalTree(sigResume), process.id.signal(sig))
	if process.endedWithin(within) {
		return err
	}
	err = errors.Join(err, process.id.signalTree(os.Kill))
	if !process.endedWithin(abortWithin) {
		err = errors.Join(err, fmt.Errorf("%s (process %d) does not end", u.kind.name(), process.id.PID))
	}
	return err
}

func (c *child) endedWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
		return false
	}
}

func (u *unit) pause() error  { return u.freeze(sigPause, Paused) }
func (u *unit) resume() error { return u.freeze(sigResume, Running) }

// freeze stops or wakes the server's processes; its connections stay open and silent meanwhile.
func (u *unit) freeze(sig syscall.Signal, condition string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.running() {
		return fmt.Errorf("%s does not run", u.kind.name())
	}
	return errors.Join(u.process.id.signalTree(sig), u.record(condition))
}

func (u *unit) record(condition string) error {
	var id Process
	if u.process != nil {
		id = u.process.id
	}
	return u.note(condition, id)
}

// newSite opens the log of a server and puts together what its kind needs.
func newSite(state State, server Server, k kind) (site, error) {
	log, err := os.OpenFile(server.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return site{}, err
	}
	return site{
		dir: filepath.Join(state.Folder, server.Name), log: log, ports: server.Ports, all: state.Servers, account: k.account(),
		password: state.Password, tools: state.Tools,
	}, nil
}

// endedByItself wraps how a process ended; nil is an end without error.
func endedByItself(err error) error {
	if err == nil {
		return errors.New("it ended by itself, without an error")
	}
	return fmt.Errorf("it ended by itself: %w", err)
}
