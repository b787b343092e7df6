package main

import (
	"os"
	"runtime"
	"strings"
)

// machine is what the figures depend on.
type machine struct {
	CPU       string  `json:"cpu"`
	Cores     int     `json:"cores"`
	MemoryGiB float64 `json:"memory_gib"`
	Kernel    string  `json:"kernel"`
	Go        string  `json:"go"`
}

func thisMachine() machine {
	m := machine{CPU: "unknown CPU", Cores: runtime.NumCPU(), Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = after(string(text), "model name", ":", m.CPU)
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if mib, err := parseMemory(string(text), "MemTotal"); err == nil {
			m.MemoryGiB = mib / 1024
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	return m
}

// after is the value of the first line that begins with a name.
func after(text, name, sep, otherwise string) string {
	for line := range strings.Lines(text) {
		if head, value, found := strings.Cut(line, sep); found && strings.TrimSpace(head) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}
