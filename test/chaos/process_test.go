package chaos

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is the bridge as it runs; it may be started several times.
type process struct {
	testing.TB
	program, config string
	env             []string
	log             logBuffer

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of the end
	peak  int64 // resident bytes of former processes, at their highest
}

func (p *process) start() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.reset()
	cmd, ended := exec.Command(p.program, "run", p.config), make(chan struct{})
	cmd.Stdout, cmd.Stderr, cmd.Env = &p.log, &p.log, append(os.Environ(), p.env...)
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.cmd, p.ended, p.err = cmd, ended, nil
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(ended)
	}()
}

func (p *process) signal(s syscall.Signal) {
	p.Helper()
	p.memory()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// wait waits for the end of the process and gives its error.
func (p *process) wait(patience time.Duration) error {
	p.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.Fatalf("the process runs on after %v", patience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *process) kill() {
	p.Helper()
	p.signal(syscall.SIGKILL)
	_ = p.wait(10 * time.Second) // killed
}

// drain ends the process with SIGTERM, and it must end well.
func (p *process) drain() {
	p.Helper()
	p.signal(syscall.SIGTERM)
	if err := p.wait(60 * time.Second); err != nil {
		p.Fatalf("the drain ended with %v", err)
	}
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// abandon kills what a failed test left behind.
func (p *process) abandon() {
	if p.cmd != nil && p.alive() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// memory is the highest resident size so far, in bytes, of all processes of the scenario.
func (p *process) memory() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)) // gone with the process
	if found := peakLine.FindSubmatch(text); found != nil {
		kilobytes, _ := strconv.ParseInt(string(found[1]), 10, 64)
		p.peak = max(p.peak, kilobytes<<10)
	}
	return p.peak
}

var metricsLine = regexp.MustCompile(`metrics=(\S+)`)

// metric sums the series of a metric; false while the process does not answer.
func (p *process) metric(name string) (float64, bool) {
	address := metricsLine.FindStringSubmatch(p.log.String())
	if address == nil {
		return 0, false
	}
	client := http.Client{Timeout: 2 * time.Second}
	response, err := client.Get("http://" + address[1] + "/metrics")
	if err != nil {
		return 0, false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, false
	}
	sum, found := 0.0, false
	for line := range strings.Lines(string(body)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if series, _, _ = strings.Cut(series, "{"); series == name {
			number, _ := strconv.ParseFloat(value, 64)
			sum, found = sum+number, true
		}
	}
	return sum, found
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }
func (l *logBuffer) reset()         { l.mu.Lock(); defer l.mu.Unlock(); l.b.Reset() }

// tail is the end of the log, which is what a failure shows.
func (l *logBuffer) tail() string {
	lines := strings.Split(l.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}
