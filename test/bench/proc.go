package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is what /proc counts CPU time in: USER_HZ is 100 on every Linux (time(7)).
const tick = time.Second / 100

// stat is the part of /proc/<pid>/stat that is used here (proc(5)).
type stat struct {
	pid, parent int
	own         time.Duration // user and system time of the process
	reaped      time.Duration // the same of its children that have ended and were waited for
}

func parseStat(text string) (stat, error) {
	head, tail, found := cutLast(text, ") ") // the name before it may hold anything
	fields := strings.Fields(tail)
	if !found || len(fields) < 15 {
		return stat{}, fmt.Errorf("stat of a process: %.40q", text)
	}
	var n [6]int64
	first, _, _ := strings.Cut(head, " ")
	for i, field := range []string{first, fields[1], fields[11], fields[12], fields[13], fields[14]} {
		var err error
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return stat{}, fmt.Errorf("stat of a process: %w", err)
		}
	}
	return stat{pid: int(n[0]), parent: int(n[1]), own: time.Duration(n[2]+n[3]) * tick, reaped: time.Duration(n[4]+n[5]) * tick}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// treeCPU is the CPU time of a process and all below it, those that have ended included; 0 for pid 0.
func treeCPU(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	all := map[int]stat{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it has just ended
		}
		if s, err := parseStat(string(text)); err == nil {
			all[s.pid] = s
		}
	}
	return sumTree(all, pid)
}

// processUse is the CPU time of one process; 0 of one that has ended.
func processUse(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	s, _ := parseStat(string(text))
	return s.own
}

func sumTree(all map[int]stat, root int) (sum time.Duration) {
	for _, s := range all {
		if below(all, s.pid, root) {
			sum += s.own + s.reaped
		}
	}
	return sum
}

func below(all map[int]stat, pid, root int) bool {
	for range len(all) {
		if pid == root {
			return true
		}
		s, known := all[pid]
		if !known {
			return false
		}
		pid = s.parent
	}
	return false
}

// systemBusy is the CPU time of the whole machine that was not idle.
func systemBusy() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseBusy(string(text))
}

// parseBusy adds user, nice, system, irq, softirq and steal of the first line; guests are in user already.
func parseBusy(text string) (time.Duration, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat: %.40q", text)
	}
	var sum int64
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * tick, nil
}

// memory reads a line of /proc/<pid>/status in MiB: VmHWM is the highest resident size so far, VmRSS that of now.
func memory(pid int, name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseMemory(string(text), name)
}

func parseMemory(text, name string) (float64, error) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name+":" && fields[2] == "kB" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("status of a process has no %s", name)
}
