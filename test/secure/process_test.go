package secure

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"ctbridge/test/qlikwriter"
	"ctbridge/test/stack/servers"
)

var binary string // the built program

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(servers.StateVariable) == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "ctbridge-secure-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "ctbridge")
	if out, err := exec.Command("go", "build", "-o", binary, "ctbridge/cmd/ctbridge").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// private starts a server for this test, or skips it where there are no programs.
func private(t *testing.T, set servers.Setting) *servers.Private {
	t.Helper()
	if os.Getenv(servers.StateVariable) == "" {
		t.Skip(servers.StateVariable + " is not set: make test starts the servers")
	}
	stack, err := servers.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	state, err := stack.State()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.Find(set.Part); err != nil {
		t.Skip(err)
	}
	p, err := servers.StartPrivate(t.Context(), state.Tools, set)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// scratch is a name of its own.
func scratch() string { return "t" + strings.ToLower(rand.Text()[:8]) }

// source is an SQLite database with one row in one change table, parcel.
func source(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "changes.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	fill(t, &qlikwriter.Writer{DB: db, Dialect: qlikwriter.SQLite})
	return file
}

// fill makes table parcel and writes its first row.
func fill(t *testing.T, w *qlikwriter.Writer) {
	t.Helper()
	w.Create(t, qlikwriter.Parcel("parcel"))
	w.Add(t, w.DB, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(1), Oper: "I", Tx: "1", Values: []any{1, "new", "1.00"}})
}

// process is the program at work.
type process struct {
	testing.TB
	cmd   *exec.Cmd
	log   *buffer
	ended chan struct{}
}

// start runs the task of a configuration.
func start(t testing.TB, text string, env ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "task.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{TB: t, cmd: exec.Command(binary, "run", file), log: new(buffer), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = p.log, p.log, append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the code is read where it matters
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("log of the bridge:\n%s", p.log)
		}
	})
	return p
}

// code waits for the end and gives the exit code.
func (p *process) code() int {
	p.Helper()
	select {
	case <-p.ended:
	case <-time.After(90 * time.Second):
		p.Fatal("it does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

var metricsAddress = regexp.MustCompile(`metrics=(\S+)`)

// moves waits until n events are published.
func (p *process) moves(n int) {
	p.Helper()
	published := regexp.MustCompile(`(?m)^ctbridge_events_published_total\{.*\} ` + fmt.Sprint(n) + `$`)
	p.eventually(fmt.Sprintf("%d events", n), func() bool { return published.MatchString(p.metrics()) })
}

// says waits for words in the log.
func (p *process) says(words ...string) {
	p.Helper()
	p.eventually(fmt.Sprintf("%q in the log", words), func() bool {
		text := p.log.String()
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

func (p *process) metrics() string {
	at := metricsAddress.FindStringSubmatch(p.log.String())
	if at == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at[1]+"/metrics", nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var body bytes.Buffer
	_, _ = body.ReadFrom(response.Body)
	return body.String()
}

func (p *process) eventually(what string, fact func() bool) {
	p.Helper()
	deadline := time.After(90 * time.Second)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !fact() {
		select {
		case <-deadline:
			p.Fatalf("waited for %s", what)
		case <-p.ended:
			if !fact() {
				p.Fatalf("it ended while waiting for %s", what)
			}
			return
		case <-look.C:
		}
	}
}

// stop drains.
func (p *process) stop() {
	p.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if code := p.code(); code != 0 {
		p.Errorf("the drain ended with code %d", code)
	}
}

// hides fails the test where a secret shows.
func (p *process) hides(secrets ...string) {
	p.Helper()
	for _, s := range secrets {
		if strings.Contains(p.log.String(), s) {
			p.Errorf("the log shows %q", s)
		}
	}
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *buffer) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// badSource is source with a second row that cannot become a message.
func badSource(t *testing.T) string {
	t.Helper()
	file := source(t)
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w := &qlikwriter.Writer{DB: db, Dialect: qlikwriter.SQLite}
	w.Add(t, db, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "I", Tx: "2", Values: []any{"not a number", "new", "1.00"}})
	return file
}
