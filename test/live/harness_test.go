package live

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"ctbridge/test/qlikwriter"
)

var binary string // the built program

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("CTBRIDGE_TEST_KAFKA") == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "ctbridge-live-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "ctbridge")
	build := exec.Command("go", "build", "-o", binary, "ctbridge/cmd/ctbridge")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// need gives an environment variable of the real stack, or skips the test.
func need(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skip(name + " is not set: make test starts the servers")
	}
	return value
}

// database is a scratch database with a writer to it.
type database struct {
	*qlikwriter.Writer
	engine, dsn string
}

func scratch() string { return fmt.Sprintf("live%08x", rand.Uint32()) }

func postgres(t testing.TB) database {
	t.Helper()
	dsn := need(t, "CTBRIDGE_TEST_POSTGRES")
	name := scratch()
	admin := open(t, "pgx", dsn)
	execute(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { execute(t, admin, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	writer := *u // tables change under its feet: no statement may outlive its use
	query := writer.Query()
	query.Set("default_query_exec_mode", "describe_exec")
	writer.RawQuery = query.Encode()
	return database{&qlikwriter.Writer{DB: open(t, "pgx", writer.String()), Dialect: qlikwriter.Postgres, Schema: "public"}, "postgres", u.String()}
}

func mariadb(t testing.TB) database {
	t.Helper()
	dsn := need(t, "CTBRIDGE_TEST_MARIADB")
	name := scratch()
	admin := open(t, "mysql", dsn)
	execute(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { execute(t, admin, "DROP DATABASE "+name) })
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DBName = name
	return database{&qlikwriter.Writer{DB: open(t, "mysql", config.FormatDSN()), Dialect: qlikwriter.MariaDB, Schema: name}, "mysql", config.FormatDSN()}
}

func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { db.Close() })
	return db
}

func execute(t testing.TB, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// bridge is one task: its configuration and the process that runs it.
type bridge struct {
	testing.TB
	task, config string
	log          *logBuffer

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan error
}

// newBridge writes the configuration of a task with a name of its own: its topics are "<task>.<table>". LIVE_DSN in the environment goes before the
// database's own login.
func newBridge(t testing.TB, db database, extra string) *bridge {
	t.Helper()
	b := &bridge{TB: t, task: scratch(), log: &logBuffer{}}
	b.config = filepath.Join(t.TempDir(), "ctbridge.yaml")
	text := fmt.Sprintf(`
task: %s
source:
  engine: %s
  dsn: %q
  poll_interval: 20ms
  horizon: {settle: "${LIVE_SETTLE:-0s}"}
  on_reset: ${LIVE_ON_RESET:-fail}
kafka:
  brokers: [%q]
  topic: "{task}.{table}"
  topics:
    data: {partitions: 3}
metrics: {listen: "127.0.0.1:0"}
%s`, b.task, db.engine, "${LIVE_DSN:-"+strings.ReplaceAll(db.dsn, "$", "$$")+"}", need(t, "CTBRIDGE_TEST_KAFKA"), extra)
	if err := os.WriteFile(b.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Logf("log of the bridge:\n%s", b.log.String())
		}
	})
	return b
}

// registry is the configuration of Avro through the real registry.
func registry(t testing.TB) string {
	return fmt.Sprintf("format: avro\nschema_registry: {url: %q}\n", need(t, "CTBRIDGE_TEST_REGISTRY"))
}

func (b *bridge) start() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.process = exec.Command(binary, "run", b.config)
	b.process.Stdout, b.process.Stderr = b.log, b.log
	if err := b.process.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func(p *exec.Cmd) { ended <- p.Wait() }(b.process)
	b.ended = ended
}

// kill ends the process with SIGKILL.
func (b *bridge) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.process == nil {
		return
	}
	_ = b.process.Process.Kill()
	<-b.ended
	b.process = nil
}

// stop drains the process, which must end well.
func (b *bridge) stop() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.process.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-b.ended:
		if err != nil {
			b.Fatalf("the drain ended with %v", err)
		}
	case <-time.After(60 * time.Second):
		b.Fatal("no drain within 60 s")
	}
	b.process = nil
}

// metric sums the series of a counter, as a scrape sees them.
func (b *bridge) metric(name string) float64 {
	b.Helper()
	address := regexp.MustCompile(`metrics=(\S+)`).FindStringSubmatch(b.log.String())
	if address == nil {
		b.Fatal("the log does not tell the address of the metrics")
	}
	response, err := http.Get("http://" + address[1] + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for _, series := range regexp.MustCompile(`(?m)^`+name+`(?:\{.*\})? (\S+)$`).FindAllStringSubmatch(string(body), -1) {
		value, err := strconv.ParseFloat(series[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += value
	}
	return sum
}

func (b *bridge) hasLogged(text string) bool { return strings.Contains(b.log.String(), text) }

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// reset forgets what was logged, before another process begins.
func (l *logBuffer) reset()         { l.mu.Lock(); defer l.mu.Unlock(); l.b.Reset() }
func (l *logBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// message is what the other client read.
type message struct {
	Topic     string          `json:"topic"`
	Partition int             `json:"partition"`
	Offset    int64           `json:"offset"`
	Key       *string         `json:"key"`
	Value     json.RawMessage `json:"value"`
}

// consume reads the topics of the bridge's tables to their end with the Confluent client.
func (b *bridge) consume(tables ...string) []message {
	b.Helper()
	registry := os.Getenv("CTBRIDGE_TEST_REGISTRY")
	args := []string{"consume.py", os.Getenv("CTBRIDGE_TEST_KAFKA"), registry}
	for _, table := range tables {
		args = append(args, b.task+"."+table)
	}
	reader := exec.Command(need(b, "CTBRIDGE_TEST_PYTHON"), args...)
	var problem bytes.Buffer
	reader.Stderr = &problem
	out, err := reader.Output()
	if err != nil {
		b.Fatalf("consume: %v\n%s", err, problem.String())
	}
	var messages []message
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var m message
		if err := decoder.Decode(&m); err == io.EOF {
			return messages
		} else if err != nil {
			b.Fatal(err)
		}
		m.Topic = strings.TrimPrefix(m.Topic, b.task+".")
		messages = append(messages, m)
	}
}

// until consumes again and again until there are enough messages.
func (b *bridge) until(n int, tables ...string) []message {
	b.Helper()
	deadline := time.Now().Add(60 * time.Second)
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	for {
		b.checkAlive()
		if b.topicsExist(tables) {
			messages := b.consume(tables...)
			if len(messages) >= n {
				return messages
			}
			if time.Now().After(deadline) {
				b.Fatalf("%d messages after 60 s, want %d", len(messages), n)
			}
		} else if time.Now().After(deadline) {
			b.Fatalf("no topics after 60 s")
		}
		<-pause.C
	}
}

// checkAlive fails the test at once when the process has ended by itself.
func (b *bridge) checkAlive() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-b.ended:
		b.process = nil
		b.Fatalf("the bridge ended: %v", err)
	default:
	}
}

func (b *bridge) topicsExist(tables []string) bool {
	out, err := exec.Command(need(b, "CTBRIDGE_TEST_KCAT"), "-b", os.Getenv("CTBRIDGE_TEST_KAFKA"), "-L").Output()
	if err != nil {
		b.Fatalf("kcat -L: %v", err)
	}
	for _, table := range tables {
		if !strings.Contains(string(out), fmt.Sprintf("topic \"%s.%s\"", b.task, table)) {
			return false
		}
	}
	return true
}
