//go:build linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestKeeperEndsWithItsLauncher(t *testing.T) {
	t.Parallel()
	kinds := []kind{sleeper("a"), sleeper("b")}
	state := draft(t, kinds...)
	k := startKept(t, state, kinds...)
	k.until(t, ready)
	a, b := k.server(t, "a"), k.server(t, "b")
	if a.Condition != Running || !a.Process.Alive() || !b.Process.Alive() {
		t.Fatalf("after the start: %+v, %+v; want both running", a, b)
	}
	command := shell(t, "sleep 1000 & wait")
	var below []Process
	await(t, "the command has a child", func() bool { below = descendants(command.PID); return len(below) > 0 })
	fmt.Fprintln(k.life, lifeCommand, command.PID)
	k.life.Close()
	mustDo(t, "end of the keeper", k.over(t, state.Folder))
	for _, p := range []Process{a.Process, b.Process, command, below[0]} {
		await(t, "nothing is left", func() bool { return !p.Alive() })
	}
}

func TestKeeperOutlivesALauncherThatDetached(t *testing.T) {
	t.Parallel()
	state := draft(t, sleeper("a"))
	k := startKept(t, state, sleeper("a"))
	k.until(t, ready)
	fmt.Fprintln(k.life, lifeDetach)
	k.life.Close()
	for range k.told { // until the keeper has closed its end
	}
	if server := k.server(t, "a"); !server.Process.Alive() {
		t.Error("the server ended with the launcher")
	}
	mustDo(t, "down", call(t.Context(), state.control(), request{Verb: verbDown}))
	mustDo(t, "end of the keeper", k.over(t, state.Folder))
}

func TestKeeperEndsWithItsLifetime(t *testing.T) {
	t.Parallel()
	state := draft(t, sleeper("a"))
	state.Until = time.Now().Add(time.Second)
	k := startKept(t, state, sleeper("a"))
	k.until(t, ready)
	process := k.server(t, "a").Process
	mustDo(t, "end of the keeper", k.over(t, state.Folder))
	if process.Alive() || time.Now().Before(state.Until) {
		t.Error("the server outlived the keeper, or the keeper ended early")
	}
}

func TestServerKeepsPlaceThroughOutages(t *testing.T) {
	t.Parallel()
	state := draft(t, sleeper("a"))
	k := startKept(t, state, sleeper("a"))
	k.until(t, ready)
	ctx, stack, first := t.Context(), k.stack, k.server(t, "a")
	for _, step := range []struct {
		name string
		do   func(context.Context, string) error
		want string
	}{
		{"start again", stack.Start, Running}, {"stop", stack.Stop, Stopped}, {"stop again", stack.Stop, Stopped},
		{"start", stack.Start, Running}, {"kill", stack.Kill, Stopped}, {"start after kill", stack.Start, Running},
		{"pause", stack.Pause, Paused}, {"resume", stack.Resume, Running}, {"restart", stack.Restart, Running},
		{"pause", stack.Pause, Paused}, {"stop while paused", stack.Stop, Stopped}, {"restart", stack.Restart, Running},
	} {
		mustDo(t, step.name, step.do(ctx, "a"))
		now := k.server(t, "a")
		if now.Condition != step.want || now.Process.Alive() != (step.want != Stopped) || now.Ports["client"] != first.Ports["client"] {
			t.Fatalf("after %s: %+v; want it %s on port %d", step.name, now, step.want, first.Ports["client"])
		}
	}
	starts, err := os.ReadFile(filepath.Join(state.Folder, "a", "starts"))
	if lines := strings.Count(string(starts), "\n"); err != nil || lines != 5 {
		t.Errorf("%d starts on the same data, %v; want 5", lines, err)
	}
	if err := stack.Pause(ctx, "b"); err == nil {
		t.Error("pause of an unknown server succeeded")
	}
}

func TestPausedServerIsFrozen(t *testing.T) {
	t.Parallel()
	state := draft(t, sleeper("a"))
	k := startKept(t, state, sleeper("a"))
	k.until(t, ready)
	mustDo(t, "pause", k.stack.Pause(t.Context(), "a"))
	process := k.server(t, "a").Process
	await(t, "the process is stopped", func() bool { stat, err := readStat(process.PID); return err == nil && stat.state == 'T' })
	mustDo(t, "resume", k.stack.Resume(t.Context(), "a"))
	await(t, "the process goes on", func() bool { stat, err := readStat(process.PID); return err == nil && stat.state != 'T' })
	k.life.Close()
	mustDo(t, "end", k.over(t, state.Folder))
}

func TestServerThatEndsByItselfIsReported(t *testing.T) {
	t.Parallel()
	state := draft(t, sleeper("a"))
	k := startKept(t, state, sleeper("a"))
	k.until(t, ready)
	mustDo(t, "crash", k.server(t, "a").Process.signal(os.Kill))
	msg := <-k.told
	if msg.Kind != progress || !strings.Contains(msg.Text, "a ended by itself: signal: killed") {
		t.Errorf("told %+v; want the end of a", msg)
	}
	if server := k.server(t, "a"); server.Condition != Exited || server.Process != (Process{}) {
		t.Errorf("state %+v; want exited, without a process", server)
	}
	mustDo(t, "start", k.stack.Start(t.Context(), "a"))
	if server := k.server(t, "a"); server.Condition != Running || !server.Process.Alive() {
		t.Errorf("state %+v; want it running again", server)
	}
}

func TestFailedStartShowsTheLogAndLeavesNothing(t *testing.T) {
	t.Parallel()
	broken := fake{label: "b", script: `echo "no such thing as $FAKE"; exit 3`, answer: errors.New("no answer")}
	kinds := []kind{sleeper("a"), broken}
	state := draft(t, kinds...)
	k := startKept(t, state, kinds...)
	text := k.until(t, failed).Text
	for _, part := range []string{"b does not start", "exit status 3", "no such thing as b"} {
		if !strings.Contains(text, part) {
			t.Errorf("told %q; want %q in it", text, part)
		}
	}
	if err := k.over(t, state.Folder); err == nil {
		t.Error("the keeper ended without an error")
	}
}

func TestStartStopsWhenTheLauncherGoesAway(t *testing.T) {
	t.Parallel()
	slow := sleeper("a")
	slow.answer = errors.New("not yet")
	state := draft(t, slow)
	k := startKept(t, state, slow)
	var process Process
	await(t, "the process is there", func() bool { process = k.server(t, "a").Process; return process.Alive() })
	k.life.Close()
	if text := k.until(t, failed).Text; !strings.Contains(text, "launcher went away") {
		t.Errorf("told %q; want the reason", text)
	}
	if err := k.over(t, state.Folder); err == nil || process.Alive() {
		t.Errorf("the keeper ended with %v, server alive %v; want an error and no server", err, process.Alive())
	}
}
