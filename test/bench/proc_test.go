package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	got, err := parseStat("42 (a) b) c) S 7 42 42 0 -1 4194560 900 0 0 0 123 45 6 7 20 0 9 0 100 1 2\n")
	if want := (stat{pid: 42, parent: 7, own: 1680 * time.Millisecond, reaped: 130 * time.Millisecond}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "42 a S 7", "42 (a) S 7 42 42 0 -1 4194560 900 0 0 0 x 45 6 7 20"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestSumTree(t *testing.T) {
	t.Parallel()
	all := map[int]stat{
		1: {pid: 1, own: 1000}, 10: {pid: 10, parent: 1, own: 1, reaped: 2}, 11: {pid: 11, parent: 10, own: 4},
		12: {pid: 12, parent: 11, own: 8}, 20: {pid: 20, parent: 1, own: 1000}, 30: {pid: 30, parent: 31}, 31: {pid: 31, parent: 30, own: 1000},
	}
	if got := sumTree(all, 10); got != 15 {
		t.Errorf("%d, want 15", got)
	}
}

// A process that has worked and ended counts as its parent's once it was waited for.
func TestTreeCPU(t *testing.T) {
	t.Parallel()
	before := treeCPU(os.Getpid())
	if err := exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Fatal(err)
	}
	if after := treeCPU(os.Getpid()); after-before < 2*tick || after-before > time.Minute {
		t.Errorf("%v, then %v", before, after)
	}
	if treeCPU(0) != 0 {
		t.Error("pid 0 has CPU time")
	}
}

func TestParseBusy(t *testing.T) {
	t.Parallel()
	got, err := parseBusy("cpu  100 20 30 9999 888 4 5 6 77 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n")
	if want := 1650 * time.Millisecond; err != nil || got != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := parseBusy("intr 1 2 3 4 5 6 7 8 9"); err == nil {
		t.Error("another line is taken")
	}
	if n, err := systemBusy(); err != nil || n <= 0 {
		t.Errorf("this machine: %v, %v", n, err)
	}
}

func TestParseMemory(t *testing.T) {
	t.Parallel()
	const text = "Name:\tctbridge\nVmPeak:\t  999 kB\nVmHWM:\t   51200 kB\nVmRSS:\t   10240 kB\n"
	for name, want := range map[string]float64{"VmHWM": 50, "VmRSS": 10} {
		if got, err := parseMemory(text, name); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := parseMemory(text, "Vm"); err == nil {
		t.Error("a line that is not there was found")
	}
}
