package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// task is one configuration of the bridge. Its name is its own, so that it starts from nothing.
type task struct {
	name             string
	db               *database
	tables           []string // base tables
	envelope, format string
	partitions       int // of each data topic
}

// topicSettings make the broker note when it got each batch: that is the clock of all measurements, and it costs the bridge nothing. Topics are
// deleted after use, and their data soon after. Brokers map two index files for each partition and touch them with its first records; at their
// default size of 10 MiB that takes milliseconds on some file systems, and a thousand new topics would be measured instead of the bridge.
var topicSettings = map[string]string{"message.timestamp.type": "LogAppendTime", "file.delete.delay.ms": "1000", "segment.index.bytes": "65536"}

func (t task) topic(table string) string { return t.name + "." + table }

func (t task) topics() (list []string) {
	for _, table := range t.tables {
		list = append(list, t.topic(table))
	}
	return list
}

// config is the file that the bridge gets. What it does not say is the bridge's default.
func (t task) config(p *place) string {
	var b strings.Builder
	fmt.Fprintf(&b, "task: %s\nsource:\n  engine: %s\n  dsn: %q\n  tables: [%s]\n  poll_interval: %s\n  horizon: {settle: 0s}\n",
		t.name, t.db.source, t.db.dsn, strings.Join(t.sourceTables(), ", "), p.poll)
	fmt.Fprintf(&b, "envelope: %s\nformat: %s\n", t.envelope, t.format)
	fmt.Fprintf(&b, "kafka:\n  brokers: [%q]\n  topic: \"{task}.{table}\"\n  topics:\n    data:\n      partitions: %d\n      config:\n", p.brokers, t.partitions)
	for name, value := range topicSettings {
		fmt.Fprintf(&b, "        %s: %q\n", name, value)
	}
	fmt.Fprintf(&b, "metrics: {listen: \"127.0.0.1:0\", profiling: %v}\nlog: {format: text}\n", p.profiles)
	if t.format == "avro" {
		fmt.Fprintf(&b, "schema_registry: {url: %q}\n", p.registry)
	}
	return b.String()
}

func (t task) sourceTables() (list []string) {
	for _, table := range t.tables {
		list = append(list, fmt.Sprintf("%q", t.db.sourceTable(table)))
	}
	return list
}

// bridge is the built program at work.
type bridge struct {
	command *exec.Cmd
	begun   time.Time
	address string // of its metrics
	log     *logTail
	ended   chan struct{}
	err     error // how it ended; good once ended is closed
}

// startBridge starts the program and waits until it tells where its metrics are.
func startBridge(ctx context.Context, p *place, t task) (*bridge, error) {
	config := filepath.Join(p.dir, t.name+".yaml")
	if err := os.WriteFile(config, []byte(t.config(p)), 0o600); err != nil {
		return nil, err
	}
	b := &bridge{command: exec.Command(p.binary, "run", config), log: &logTail{found: make(chan string, 1)}, ended: make(chan struct{})}
	stderr, err := b.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	b.begun = time.Now()
	if err := b.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		b.log.follow(stderr)
		b.err = b.command.Wait()
		close(b.ended)
	}()
	select {
	case b.address = <-b.log.found:
		return b, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), b.stop())
	case <-b.ended:
		return nil, b.died()
	}
}

func (b *bridge) pid() int { return b.command.Process.Pid }

func (b *bridge) died() error { return fmt.Errorf("the bridge ended: %w\n%s", b.err, b.log) }

// stop ends the program as a supervisor does; one that does not end in time is killed.
func (b *bridge) stop() error {
	_ = b.command.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case <-b.ended:
	case <-timer.C:
		_ = b.command.Process.Kill()
		<-b.ended
	}
	if b.err != nil {
		return b.died()
	}
	return nil
}

// logTail keeps the last lines of a log and finds the address of the metrics in it.
type logTail struct {
	mu    sync.Mutex
	lines []string
	found chan string
}

func (l *logTail) follow(log io.Reader) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		l.mu.Lock()
		if l.lines = append(l.lines, line); len(l.lines) > 20 {
			l.lines = l.lines[1:]
		}
		l.mu.Unlock()
		if _, rest, found := strings.Cut(line, "metrics="); found {
			address, _, _ := strings.Cut(rest, " ")
			select {
			case l.found <- address:
			default:
			}
		}
	}
	_, _ = io.Copy(io.Discard, log)
}

// String is the end of the log.
func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
