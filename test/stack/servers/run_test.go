//go:build linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestForegroundTellsBeforeItRuns(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	told := 0
	code, err := foreground(t.Context(), []string{"sh", "-c", `echo $$ > "$0"; test "$X" = "a b" && exit 7`, mark}, []string{"X=a b"}, func(pid int) error {
		if _, err := os.Stat(mark); err == nil {
			t.Error("the command ran before the keeper was told")
		}
		told = pid
		return nil
	})
	raw, _ := os.ReadFile(mark)
	if code != 7 || err != nil || string(raw) != fmt.Sprintln(told) {
		t.Errorf("foreground = %d, %v; told process %d, ran as %s; want 7 and one process", code, err, told, raw)
	}
}

func TestForegroundDoesNotRunUntold(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	broken := errors.New("the keeper is gone")
	code, err := foreground(t.Context(), []string{"touch", mark}, nil, func(int) error { return broken })
	if _, stat := os.Stat(mark); code == 0 || !errors.Is(err, broken) || !errors.Is(stat, os.ErrNotExist) {
		t.Errorf("foreground = %d, %v; command ran: %v; want a failure and no run", code, err, stat == nil)
	}
}

func TestForegroundUnknownProgram(t *testing.T) {
	t.Parallel()
	code, err := foreground(t.Context(), []string{"no-such-program"}, nil, func(int) error { t.Error("told of nothing"); return nil })
	if code == 0 || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("foreground = %d, %v; want ErrNotFound", code, err)
	}
}

func TestForegroundEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("told to stop")
	var id Process
	code, err := foreground(ctx, []string{"sh", "-c", "sleep 1000 & wait"}, nil, func(pid int) error {
		id = identify(pid)
		cancel(reason)
		return nil
	})
	if code == 0 || !errors.Is(err, reason) || id.Alive() {
		t.Errorf("foreground = %d, %v, alive %v; want the reason and a dead command", code, err, id.Alive())
	}
}
