package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Keep is the keeper's whole life: it starts the servers of the state file, obeys the control socket, and ends
// everything when ctx ends, when the launcher goes away without detaching, when the lifetime is over, or on "down". It
// returns an error when a server did not start. The launcher is at standard input and file 3, see [KeeperVerb].
func Keep(ctx context.Context, path string) error {
	if !supported {
		return ErrUnsupported
	}
	state, err := readState(path)
	if err != nil {
		return err
	}
	return keep(ctx, state, kindsOf(state.names()), os.Stdin, inherited(3))
}

func keep(ctx context.Context, state State, kinds []kind, life io.Reader, report io.WriteCloser) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := &keeper{state: state, units: map[string]*unit{}, over: cancel, launcher: messages{out: report}}
	err := k.open(kinds)
	if err == nil {
		defer k.listener.Close()
		go k.follow(life)
		err = k.startAll(ctx)
	}
	if err != nil {
		return errors.Join(err, k.launcher.send(message{Kind: failed, Text: err.Error()}), k.shutdown())
	}
	go k.serve(ctx)
	if err := k.launcher.send(message{Kind: ready}); err != nil {
		cancel(err)
	}
	k.await(ctx)
	return k.shutdown()
}

type keeper struct {
	mu       sync.Mutex // guards state and its file
	state    State
	units    map[string]*unit
	listener net.Listener
	over     context.CancelCauseFunc // ends the keeper
	launcher messages
	commands follower
}

// open takes the stack over from the launcher.
func (k *keeper) open(kinds []kind) (err error) {
	k.state.Owner = Self()
	spawn := newSpawner()
	for _, kind := range kinds {
		server, err := k.state.Find(kind.name())
		if err != nil {
			return err
		}
		site, err := newSite(k.state, *server, kind)
		if err != nil {
			return err
		}
		note := func(condition string, process Process) error { return k.note(kind.name(), condition, process) }
		k.units[kind.name()] = &unit{kind: kind, site: site, spawn: spawn, note: note, lost: k.lost}
	}
	if k.listener, err = net.Listen("unix", k.state.control()); err != nil {
		return err
	}
	return k.state.save()
}

func (k *keeper) note(name, condition string, process Process) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	server, err := k.state.Find(name)
	if err != nil {
		return err
	}
	server.Condition, server.Process = condition, process
	return k.state.save()
}

// startAll starts the servers side by side; the first that fails gives the others up, and only its error matters.
func (k *keeper) startAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for _, u := range k.units {
		group.Go(func() {
			if err := k.startOne(ctx, u); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

func (k *keeper) startOne(ctx context.Context, u *unit) error {
	begin := time.Now()
	if err := u.start(ctx); err != nil {
		return err
	}
	line := fmt.Sprintf("%-9s %s  %.1f s", u.kind.name(), address(u.site.ports["client"]), time.Since(begin).Seconds())
	return k.launcher.send(message{Kind: progress, Text: line})
}

// lost tells the launcher, and the keeper's own log, that a server ended without having been asked to.
func (k *keeper) lost(text string) {
	fmt.Fprintln(os.Stderr, text)
	if err := k.launcher.send(message{Kind: progress, Text: text}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// await blocks until the keeper's life is over.
func (k *keeper) await(ctx context.Context) {
	until := k.state.Until
	if until.IsZero() {
		<-ctx.Done()
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// shutdown ends the servers as a crash would, because their data goes away with the folder.
func (k *keeper) shutdown() error {
	errs := make(chan error, len(k.units)+1)
	go func() { errs <- k.commands.kill() }()
	for _, u := range k.units {
		go func() { errs <- u.crash() }()
	}
	var all error
	for range cap(errs) {
		all = errors.Join(all, <-errs)
	}
	return errors.Join(all, os.RemoveAll(k.state.Folder))
}
