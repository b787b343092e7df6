package demo

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/show"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/sink/embedded"
)

// The Kafka client's metrics library keeps one goroutine for the whole process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// screen collects what a demo writes and lets a test wait for it.
type screen struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{}
}

func newScreen() *screen { return &screen{written: make(chan struct{}, 1)} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.written <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// wait returns when the screen shows a text.
func (s *screen) wait(t *testing.T, what string) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for !strings.Contains(s.String(), what) {
		select {
		case <-s.written:
		case <-timeout:
			t.Fatalf("%q does not come:\n%s", what, s)
		}
	}
}

func options(o Options) Options {
	o.Width, o.Log, o.Version, o.Seed = func() int { return 0 }, slog.New(slog.NewTextHandler(io.Discard, nil)), "test", 7
	if o.Format == "" {
		o.Format = config.FormatAvro
	}
	return o
}

// A demo of 200 changes ends by itself, finds everything right, and leaves neither files nor ports behind.
func TestDemoOfRows(t *testing.T) {
	for _, format := range []string{config.FormatAvro, config.FormatJSON} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			out := newScreen()
			if err := Run(t.Context(), out, options(Options{Rows: 200, Format: format})); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text := out.String()
			if strings.Count(text, "\nPASS  ") != 3 || strings.Contains(text, "FAIL") {
				t.Error(text)
			}
			total := regexp.MustCompile(`(?m)^all +(\d+) +(\d+) +(\d+) +2\d\d +\d+ +\S+ m?s +\S+ m?s$`).FindStringSubmatch(text)
			if total == nil || total[1] == "0" || total[2] == "0" || total[3] == "0" {
				t.Errorf("totals %v in\n%s", total, text)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
			portsAreFree(t, text)
		})
	}
}

// portsAreFree listens on every address that the screen shows.
func portsAreFree(t *testing.T, text string) {
	t.Helper()
	found := map[string]bool{}
	for _, address := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(text, -1) {
		if found[address] {
			continue
		}
		found[address] = true
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("port still taken: %v", err)
			continue
		}
		ln.Close()
	}
	if len(found) < 2 {
		t.Errorf("addresses %v", found)
	}
}

// A change by another program is carried and marked; a stop by the user is no failure.
func TestChangeByHand(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := newScreen()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, out, options(Options{Keep: dir, Rate: 20})) }()
	out.wait(t, "customers[0]@0")
	byOther(t, filepath.Join(dir, "shop.db"), "UPDATE customers SET name = 'By Hand', born = '2000-02-29' WHERE id = 1; DELETE FROM order_lines WHERE line = 0")
	out.wait(t, `→ "By Hand"`)
	stop()
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := out.String()
	_, shown, marked := strings.Cut(text, "▶ changed by hand\n")
	if !marked || !strings.Contains(strings.Join(strings.SplitN(shown, "\n", 3)[:2], "\n"), "customers[0]") || strings.Count(text, "▶") != 1 {
		t.Errorf("not marked:\n%s", text)
	}
	if strings.Count(text, "\nPASS  ") != 3 || !strings.Contains(text, "Kept in "+dir) {
		t.Error(text)
	}
	portsAreFree(t, text)
}

// Others may change rows as fast as they can, before, while and after the demo ends.
func TestOthersNeverStop(t *testing.T) {
	dir := t.TempDir()
	out := newScreen()
	ended := make(chan error, 1)
	go func() { ended <- Run(t.Context(), out, options(Options{Keep: dir, Rows: 500})) }()
	out.wait(t, "customers[0]@0")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(5000)&_pragma=synchronous(off)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for changes := 0; ; changes++ {
		select {
		case err := <-ended:
			if err != nil || strings.Count(out.String(), "\nPASS  ") != 3 || changes == 0 {
				t.Errorf("%v, %d changes\n%s", err, changes, out)
			}
			return
		default:
		}
		if _, err := db.Exec("UPDATE customers SET credit = round(credit % 1000 + 1, 2) WHERE id <= ?", 1+changes%3); err != nil {
			t.Fatal(err)
		}
	}
}

func byOther(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// A kept demo goes on where it ended, in another format too, and finds out that its past was changed.
func TestKeptDemoGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	run := func(format string) (string, error) {
		var out bytes.Buffer
		err := Run(t.Context(), &out, options(Options{Keep: dir, Rows: 30, Format: format}))
		return out.String(), err
	}
	for _, format := range []string{config.FormatAvro, config.FormatJSON, config.FormatAvro} {
		if text, err := run(format); err != nil || strings.Count(text, "\nPASS  ") != 3 {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	if _, err := config.Load(filepath.Join(dir, "ctbridge.yaml")); err != nil {
		t.Error(err)
	}
	byOther(t, filepath.Join(dir, "shop.db"), "DELETE FROM customers__ct WHERE header__change_oper = 'I' AND id = 2")
	text, err := run(config.FormatAvro)
	if !errors.Is(err, ErrFailed) || !regexp.MustCompile(`FAIL  every change at the source arrived, once and in order \(\d+\)\n      customers: \d+ changes at the source, \d+ messages\n`).MatchString(text) {
		t.Errorf("%v\n%s", err, text)
	}
}

// The configuration that a demo leaves runs against other servers, too: everything is carried there from the beginning.
func TestKeptConfigurationRuns(t *testing.T) {
	dir := t.TempDir()
	if err := Run(t.Context(), io.Discard, options(Options{Keep: dir, Rows: 20})); err != nil {
		t.Fatal(err)
	}
	servers, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	t.Setenv("KAFKA_BROKERS", servers.Brokers()[0])
	t.Setenv("REGISTRY_URL", servers.RegistryURL())
	file, err := config.Load(filepath.Join(dir, "ctbridge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := openShop(t.Context(), filepath.Join(dir, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	d := &demo{shop: s, ledger: newLedger(), options: options(Options{Log: slog.New(slog.DiscardHandler)})}
	carry(t, d, file, servers)
	checks, err := d.ledger.verify(t.Context(), s, d.boundary)
	if err != nil || !checks[0].ok || !checks[1].ok || !checks[2].ok || d.ledger.complete == 0 {
		t.Errorf("%v %v", checks, err)
	}
}

// carry runs a bridge and a consumer until everything has arrived.
func carry(t *testing.T, d *demo, file *config.Task, servers *embedded.Servers) {
	t.Helper()
	history, err := openTopics(servers)
	if err != nil {
		t.Fatal(err)
	}
	decoder, closeRegistry, err := newDecoder(servers.RegistryURL(), d.options.Log)
	if err != nil {
		t.Fatal(err)
	}
	defer closeRegistry()
	c, err := wiring.KafkaConfig(&file.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	task, err := wiring.New(file, "test", d.options.Log)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	d.consumer = &consumer{kafka: c, history: history, decoder: decoder, each: func(_ context.Context, a *arrival, _ *show.Message) error {
		d.ledger.arrive(a)
		return nil
	}}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return task.Run(ctx) })
	group.Go(func() error { return d.consumer.run(ctx) })
	group.Go(func() error {
		defer stop()
		return d.settle(ctx)
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A stop before anything happened is fine, too.
func TestStopAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	out := newScreen()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, out, options(Options{Duration: time.Hour})) }()
	out.wait(t, "ctbridge demo")
	stop()
	if err := <-ended; err != nil || strings.Contains(out.String(), "FAIL") {
		t.Errorf("%v\n%s", err, out)
	}
	portsAreFree(t, out.String())
}

func TestDurationEndsIt(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	if err := Run(t.Context(), &out, options(Options{Duration: 500 * time.Millisecond, Rate: 50})); err != nil || strings.Count(out.String(), "\nPASS  ") != 3 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// While another program holds the database the shop waits and then goes on.
func TestHeldDatabaseIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := newScreen()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, out, options(Options{Keep: dir, Rate: 50})) }()
	out.wait(t, "customers[0]@0")
	other, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out.wait(t, "another program holds the database")
	if _, err := tx.Exec("UPDATE customers SET name = 'Patience' WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	out.wait(t, `→ "Patience"`)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Paths with characters that YAML, SQLite's URIs or shells see more in.
func TestOddFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's 100% $HOME ${X} #1?")
	var out bytes.Buffer
	if err := Run(t.Context(), &out, options(Options{Keep: dir, Rows: 1})); err != nil || strings.Count(out.String(), "\nPASS  ") != 3 {
		t.Errorf("%v\n%s", err, out.String())
	}
}
