//go:build linux

package servers

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	rest := " S 41 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 100 1"
	for name, tc := range map[string]struct {
		line string
		want procStat
		fail bool
	}{
		"plain":                 {line: "7 (sh)" + rest, want: procStat{'S', 41, 123456}},
		"spaces in the name":    {line: "7 (a b c)" + rest, want: procStat{'S', 41, 123456}},
		"parentheses":           {line: "7 (x) R 1 (y))" + rest, want: procStat{'S', 41, 123456}},
		"newline in the name":   {line: "7 (a\nb)" + rest, want: procStat{'S', 41, 123456}},
		"no name":               {line: "7 sh S 41", fail: true},
		"cut":                   {line: "7 (sh) S 41 7", fail: true},
		"parent not a number":   {line: "7 (sh) S x 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456", fail: true},
		"start time negative":   {line: "7 (sh) S 41 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 -5", fail: true},
		"nothing after the end": {line: "7 (sh)", fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat(tc.line)
			if (err != nil) != tc.fail || got != tc.want {
				t.Errorf("parseStat(%q) = %v, %v; want %v, failure %v", tc.line, got, err, tc.want, tc.fail)
			}
		})
	}
}

func TestSelfIsAlive(t *testing.T) {
	t.Parallel()
	if self := Self(); !self.Alive() || self.PID != os.Getpid() || self.Start == 0 {
		t.Errorf("Self() = %+v, alive %v; want this process, alive", self, self.Alive())
	}
}

// A pid that now belongs to another process must not be signalled.
func TestReusedPidIsNotSignalled(t *testing.T) {
	t.Parallel()
	real := shell(t, "exec sleep 1000")
	old := Process{PID: real.PID, Start: real.Start - 1}
	if old.Alive() {
		t.Error("a process with another start time counts as alive")
	}
	mustDo(t, "signal the old one", old.signal(os.Kill))
	mustDo(t, "signal the old one's tree", old.signalTree(os.Kill))
	if !real.Alive() {
		t.Fatal("the process with the reused pid was killed")
	}
	mustDo(t, "signal the real one", real.signal(os.Kill))
	await(t, "the real one is dead", func() bool { return !real.Alive() })
}

func TestZombieIsDead(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	mustDo(t, "start", cmd.Start())
	defer cmd.Wait()
	await(t, "the ended, not yet waited for process counts as dead", func() bool { return !identify(cmd.Process.Pid).Alive() })
	if _, err := readStat(cmd.Process.Pid); err != nil {
		t.Errorf("it was no zombie: %v", err)
	}
}

func TestSignalTreeReachesGrandchildren(t *testing.T) {
	t.Parallel()
	top := shell(t, "sh -c 'sleep 1000 & wait' & wait")
	var below []Process
	await(t, "two processes below the first", func() bool { below = descendants(top.PID); return len(below) >= 2 })
	below = below[:2]
	mustDo(t, "end the tree", top.signalTree(syscall.SIGKILL))
	for _, p := range append(below, top) {
		await(t, "a process of the tree is dead", func() bool { return !p.Alive() })
	}
}
