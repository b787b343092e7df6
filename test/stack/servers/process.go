package servers

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrUnsupported is returned on systems without /proc and parent-death signals.
var ErrUnsupported = errors.New("the test stack needs Linux; start the servers with deploy/compose and set the CTBRIDGE_TEST_* variables")

// Process names one process for good: a pid alone may be reused, a pid with its start time is not.
type Process struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot (field 22 of /proc/<pid>/stat).
	Start uint64 `json:"start"`
}

// Self is the calling process.
func Self() Process { return identify(os.Getpid()) }

// identify looks a running pid up; the zero Process says that there is none.
func identify(pid int) Process {
	stat, err := readStat(pid)
	if err != nil || stat.state == 'Z' || stat.state == 'X' {
		return Process{}
	}
	return Process{PID: pid, Start: stat.start}
}

// Alive says whether this very process still runs.
func (p Process) Alive() bool { return p.PID > 0 && identify(p.PID) == p }

// signal sends sig to the process and to nobody else; a process that is gone is no error.
func (p Process) signal(sig os.Signal) error {
	if !p.Alive() {
		return nil
	}
	proc, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("process %d: %w", p.PID, err)
	}
	defer proc.Release()
	// FindProcess holds a pidfd where the kernel has them: checked again now, the signal cannot hit a reused pid.
	if !p.Alive() {
		return nil
	}
	if err := proc.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// signalTree signals the process and everything below it. All of them are frozen first, so that none starts a child
// that would be missed.
func (p Process) signalTree(sig os.Signal) error {
	var errs []error
	frozen := p.freeze()
	for _, each := range frozen {
		errs = append(errs, each.signal(sig))
	}
	if sig != sigPause {
		for _, each := range frozen {
			errs = append(errs, each.signal(sigResume))
		}
	}
	return errors.Join(errs...)
}

// freeze pauses the tree, parents first, and returns its processes.
func (p Process) freeze() []Process {
	if !p.Alive() {
		return nil
	}
	tree := []Process{p}
	p.halt()
	for known := 0; known < len(tree); {
		known = len(tree)
		for _, child := range descendants(p.PID) {
			if !slices.Contains(tree, child) {
				tree = append(tree, child)
				child.halt()
			}
		}
	}
	return tree
}

// halt pauses one process and waits until it stands, because a fork that is under way still brings its child. One that
// waits in the kernel (D) has its child already. A process that we may not signal comes back as the caller's error.
func (p Process) halt() {
	p.signal(sigPause)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range 100 {
		stat, err := readStat(p.PID)
		if err != nil || stat.start != p.Start || strings.IndexByte("TtDZX", stat.state) >= 0 {
			return
		}
		<-ticker.C
	}
}

// procStat is the part of /proc/<pid>/stat that is used here.
type procStat struct {
	state  byte
	parent int
	start  uint64
}

func readStat(pid int) (procStat, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(string(raw))
}

// parseStat reads a line of proc(5) stat. The command name in field 2 may hold spaces and parentheses, so the fields
// are counted from the last closing one.
func parseStat(line string) (procStat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return procStat{}, fmt.Errorf("process stat %q: no command name", line)
	}
	fields := strings.Fields(line[end+1:])
	const state, parent, start = 0, 1, 19 // fields 3, 4 and 22 of the line
	if len(fields) <= start {
		return procStat{}, fmt.Errorf("process stat %q: too few fields", line)
	}
	ppid, err := strconv.Atoi(fields[parent])
	if err != nil {
		return procStat{}, fmt.Errorf("process stat %q: parent: %w", line, err)
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("process stat %q: start time: %w", line, err)
	}
	return procStat{state: fields[state][0], parent: ppid, start: ticks}, nil
}

// descendants lists all processes below pid, parents before children.
func descendants(pid int) []Process {
	children := map[int][]Process{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if stat, err := readStat(child); err == nil {
			children[stat.parent] = append(children[stat.parent], Process{PID: child, Start: stat.start})
		}
	}
	found := children[pid]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	return found
}
