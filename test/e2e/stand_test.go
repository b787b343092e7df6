package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/sink/embedded"
	"ctbridge/test/qlikwriter"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")                                                                        // these tests wait more than they compute; the command line has the last word
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")) // one for the whole process, for ever
}

// patience is how long a test waits for a fact.
const patience = 20 * time.Second

// stand is a source with a writer, a broker and a registry, around which tasks run.
type stand struct {
	testing.TB
	*embedded.Servers
	db   *qlikwriter.Writer
	file string // the SQLite database
	task string
	cdc  *sql.DB // behind SQL Server's own change tables, where there are any
}

func newStand(t testing.TB, options ...func(*embedded.Options)) *stand {
	t.Helper()
	var o embedded.Options
	for _, set := range options {
		set(&o)
	}
	servers, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	s := &stand{TB: t, Servers: servers, file: filepath.Join(t.TempDir(), "changes.db"), task: fmt.Sprintf("task%06x", rand.Uint32N(1<<24))}
	s.db = &qlikwriter.Writer{DB: openSQLite(t, s.file), Dialect: qlikwriter.SQLite}
	return s
}

func openSQLite(t testing.TB, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.PingContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// set is configuration by dotted key; values are YAML. An empty value takes a key of the stand's own away.
type set map[string]string

// text is the configuration of the stand's task with changes.
func (s *stand) text(changes ...set) string {
	keys := set{
		"task": s.task, "server": "test-server",
		"source.engine": "sqlite", "source.dsn": quote(s.file), "source.poll_interval": "10ms", "source.rediscover_interval": "1s", "source.horizon.settle": "0s",
		"kafka.brokers": quote(strings.Join(s.Brokers(), ",")), "kafka.topic": `"{task}.{table}"`,
		"metrics.listen": `"127.0.0.1:0"`,
	}
	for _, c := range changes {
		maps.Copy(keys, c)
	}
	var b strings.Builder
	var open []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if keys[key] == "" {
			continue
		}
		path := strings.Split(key, ".")
		same := 0
		for same < len(path)-1 && same < len(open) && open[same] == path[same] {
			same++
		}
		for depth := same; depth < len(path)-1; depth++ {
			fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", depth), path[depth])
		}
		open = path[:len(path)-1]
		fmt.Fprintf(&b, "%s%s: %s\n", strings.Repeat("  ", len(path)-1), path[len(path)-1], keys[key])
	}
	return b.String()
}

func quote(text string) string { return fmt.Sprintf("%q", text) }

// avro is the configuration of Avro through the stand's registry.
func (s *stand) avro() set { return set{"format": "avro", "schema_registry.url": s.RegistryURL()} }

// build wires a task from its configuration.
func (s *stand) build(text string) (*wiring.Task, *buffer, error) {
	s.Helper()
	parsed, err := config.Parse([]byte(text), os.LookupEnv)
	if err != nil {
		s.Fatalf("%v\n%s", err, text)
	}
	log := new(buffer)
	task, err := wiring.New(parsed, "test", slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return task, log, err
}

// buildIfValid wires a task from a text that passes validation; nil and no error where it does not pass.
func buildIfValid(text string) (*wiring.Task, error) {
	parsed, err := config.Parse([]byte(text), nil)
	if err != nil {
		return nil, nil
	}
	return wiring.New(parsed, "test", slog.New(slog.DiscardHandler))
}

// running is a task at work.
type running struct {
	testing.TB
	*wiring.Task
	log  *buffer
	stop func() error // drains and gives the error of Run
	done chan struct{}
	err  error // of Run, once done is closed
}

// start runs the stand's task with changes to its configuration.
func (s *stand) start(changes ...set) *running {
	s.Helper()
	task, log, err := s.build(s.text(changes...))
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{TB: s.TB, Task: task, log: log, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = task.Run(ctx)
		if err := task.Close(); err != nil {
			s.Errorf("close: %v", err)
		}
	}()
	r.stop = func() error { cancel(); return r.ends() }
	s.Cleanup(func() {
		_ = r.stop()
		if s.Failed() {
			s.Logf("log of the task:\n%s", log)
		}
	})
	return r
}

// ends waits for the end of Run and gives its error.
func (r *running) ends() error {
	r.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.Fatalf("the task runs on after %s\n%s", patience, r.log)
	}
	return r.err
}

// drain stops the task, which must end well.
func (r *running) drain() {
	r.Helper()
	if err := r.stop(); err != nil {
		r.Fatalf("the drain ended with %v", err)
	}
}

// says waits for a text in the log.
func (r *running) says(parts ...string) {
	r.Helper()
	eventually(r, func() bool {
		text := r.log.String()
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	}, "the log to say %q; it says\n%s", parts, r.log)
}

// eventually looks again and again until a fact is there.
func eventually(t testing.TB, fact func() bool, format string, args ...any) {
	t.Helper()
	deadline := time.After(patience)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !fact() {
		select {
		case <-deadline:
			t.Fatalf("waited %s for "+format, append([]any{patience}, args...)...)
		case <-look.C:
		}
	}
}

// buffer is a log that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *buffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// create makes base and change tables of the parcel kind.
func (s *stand) create(tables ...string) {
	s.Helper()
	for _, table := range tables {
		s.db.Create(s, qlikwriter.Parcel(table))
	}
}

// add commits one row (id, status, fee) of a parcel table, with a mask over all its columns.
func (s *stand) add(table, oper string, n int, tx string, values ...any) {
	s.Helper()
	s.addTo(qlikwriter.Parcel(table), oper, n, tx, values...)
}

func (s *stand) addTo(shape qlikwriter.Shape, oper string, n int, tx string, values ...any) {
	s.Helper()
	s.db.Add(s, s.db.DB, shape, qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: oper, Tx: tx, Values: values})
}
