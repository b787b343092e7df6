package main

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
)

// memoryFiles are where Linux tells the memory limit of the container: control groups of version 2, then of version 1.
var memoryFiles = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// noLimit is more memory than any machine has: version 1 writes such a number where there is no limit.
const noLimit = 1 << 50

// containerLimit gives the memory limit of the container in bytes, 0 where there is none.
func containerLimit(files []string) int64 {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
		if err != nil || n <= 0 || n >= noLimit {
			return 0 // "max"
		}
		return n
	}
	return 0
}

// gcPercent lets the heap grow by so much before it is collected. Nearly all memory of the line is used again by itself, so that collecting earlier
// than Go does by default costs about 2 % of the time and saves a tenth of the memory.
const gcPercent = 80

// limitMemory lets the garbage collector work earlier, and harder before the kernel ends the process: nine tenths of the container's limit are for
// Go's memory. GOGC and GOMEMLIMIT in the environment go before it.
func (a *app) limitMemory() {
	if _, set := a.env("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := a.env("GOMEMLIMIT"); set {
		return
	}
	if limit := containerLimit(memoryFiles); limit > 0 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}
