package chaos

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	_ "modernc.org/sqlite"

	"ctbridge/sink/embedded"
	"ctbridge/test/chaos/proxy"
	"ctbridge/test/qlikwriter"
	"ctbridge/test/stack/servers"
)

const partitions = 3 // of each topic

// stage is what a scenario plays on: a database of its own, the bridge behind proxies, a workload and a reader.
type stage struct {
	testing.TB
	*process
	scenario
	random   *rand.Rand
	task     string
	dir      string // {dir} of the configuration
	work     *workload
	read     *reader
	servers  *servers.Stack
	embedded *embedded.Servers // three brokers in this process, where the scenario asks for them
	database *proxy.Proxy      // between bridge and database; nil for SQLite
	broker   *proxy.Proxy      // between bridge and broker; nil for embedded ones
	registry *proxy.Registry
	admin    *sql.DB
	operator *kgo.Client   // asks the cluster and gives it orders
	lifted   time.Time     // when the fault was over
	mark     int           // events above this number were begun after that
	recovery time.Duration // from then to the first of those
}

func newStage(t testing.TB, s scenario, seed uint64) *stage {
	t.Helper()
	st := &stage{TB: t, scenario: s, random: rand.New(rand.NewPCG(seed, 1)), task: fmt.Sprintf("chaos%08x", rand.Uint32())}
	var err error
	if st.servers, err = servers.FromEnv(); err != nil {
		t.Fatal(err)
	}
	st.folder()
	db, dsn := st.openDatabase()
	st.work = newWorkload(t, db, seed)
	for _, table := range allTables[:3] {
		st.create(table)
	}
	brokers, behind := st.openBrokers()
	registry := ""
	if s.avro {
		registry = os.Getenv(servers.RegistryVariable)
		if st.registry, err = proxy.NewRegistry(registry); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(st.registry.Close)
	}
	st.process = &process{TB: t, program: binary, config: filepath.Join(t.TempDir(), "ctbridge.yaml"), env: append(s.env, "CHAOS_DSN="+dsn)}
	st.configure(behind)
	st.read = newReader(t, st.work.ledger, brokers, st.task, registry, !strings.Contains(s.config, "at_least_once"))
	t.Cleanup(func() {
		st.abandon()
		if t.Failed() {
			t.Logf("seed %d; end of the log of the bridge:\n%s", seed, st.log.tail())
		}
	})
	return st
}

func (st *stage) create(table string) {
	shape := qlikwriter.Parcel(table)
	st.work.db.Create(st, shape)
}

func (st *stage) configure(brokers []string) {
	st.Helper()
	text := fmt.Sprintf(`
task: %s
source:
  engine: %s
  dsn: ${CHAOS_DSN}
  poll_interval: %s
  rediscover_interval: %s
  horizon: {settle: 0s}
commit: {max_records: 200}
kafka:
  brokers: ["%s"]
  topic: "{task}.{table}"
  topics:
    data: {partitions: %d}
metrics: {listen: "127.0.0.1:0"}
%s
`, st.task, st.engineName(), cmp.Or(st.poll, "20ms"), cmp.Or(st.discover, "1s"), strings.Join(brokers, `", "`), partitions, strings.ReplaceAll(st.scenario.config, "{dir}", st.dir))
	if st.registry != nil {
		text += fmt.Sprintf("format: avro\nschema_registry: {url: %q}\n", st.registry.URL())
	}
	if err := os.WriteFile(st.process.config, []byte(text), 0o600); err != nil {
		st.Fatal(err)
	}
}

// folder makes {dir}; where the scenario is about a disk it is a small one of its own.
func (st *stage) folder() {
	st.Helper()
	st.dir = st.TempDir()
	if !st.disk {
		return
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", st.dir).CombinedOutput(); err != nil {
		st.Skipf("a disk of its own needs the right to mount: %v %s", err, out)
	}
	st.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", st.dir).CombinedOutput(); err != nil {
			st.Logf("umount: %v %s", err, out)
		}
	})
}

// goroot is where the sources of the standard library are.
func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (st *stage) engineName() string {
	if st.engine == "" {
		return "postgres"
	}
	return st.engine
}

// openDatabase makes a database and gives a writer to it, and the DSN with which the bridge comes through the proxy.
func (st *stage) openDatabase() (db *qlikwriter.Writer, dsn string) {
	st.Helper()
	switch st.engineName() {
	case "sqlite":
		file := filepath.Join(st.TempDir(), "changes.db")
		return &qlikwriter.Writer{DB: st.open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(0)"), Dialect: qlikwriter.SQLite}, file
	case "mysql":
		config, err := mysqldriver.ParseDSN(os.Getenv(servers.MariaDBVariable))
		if err != nil {
			st.Fatal(err)
		}
		st.admin = st.open("mysql", config.FormatDSN())
		st.createDatabase()
		config.DBName = st.task
		direct := config.FormatDSN()
		st.database = st.proxy(proxy.New(config.Addr))
		config.Addr = st.database.Addr()
		if name, value, more := strings.Cut(st.dsn, "="); more {
			config.Params[name] = value
		}
		return &qlikwriter.Writer{DB: st.open("mysql", direct), Dialect: qlikwriter.MariaDB, Schema: st.task}, config.FormatDSN()
	}
	st.admin = st.open("pgx", os.Getenv(servers.PostgresVariable))
	st.createDatabase()
	u, err := url.Parse(os.Getenv(servers.PostgresVariable))
	if err != nil {
		st.Fatal(err)
	}
	u.Path = "/" + st.task
	direct := *u
	query := direct.Query()
	query.Set("default_query_exec_mode", "simple_protocol")
	direct.RawQuery = query.Encode()
	st.database = st.proxy(proxy.New(u.Host))
	u.Host = st.database.Addr()
	if name, value, more := strings.Cut(st.dsn, "="); more {
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = query.Encode()
	}
	return &qlikwriter.Writer{DB: st.open("pgx", direct.String()), Dialect: qlikwriter.Postgres, Schema: "public"}, u.String()
}

func (st *stage) createDatabase() {
	st.Helper()
	if _, err := st.admin.Exec("CREATE DATABASE " + st.task); err != nil {
		st.Fatal(err)
	}
	drop := "DROP DATABASE " + st.task
	if st.engineName() == "postgres" {
		drop += " WITH (FORCE)"
	}
	st.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if _, err := st.admin.ExecContext(ctx, drop); err != nil {
			st.Logf("%s: %v", drop, err)
		}
	})
}

func (st *stage) open(driver, dsn string) *sql.DB {
	st.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		st.Fatal(err)
	}
	db.SetMaxOpenConns(4)
	st.Cleanup(func() { db.Close() })
	return db
}

// openBrokers gives the brokers for the reader, and those for the bridge.
func (st *stage) openBrokers() (direct, behind []string) {
	st.Helper()
	if st.threeBrokers {
		var err error
		if st.embedded, err = embedded.Start(embedded.Options{NoRegistry: true, Broker: []kfake.Opt{kfake.NumBrokers(3)}}); err != nil {
			st.Fatal(err)
		}
		st.Cleanup(func() { _ = st.embedded.Close() })
		return st.embedded.Brokers(), st.embedded.Brokers()
	}
	if st.nodes {
		cluster := strings.Split(os.Getenv(servers.Kafka3Variable), ",")
		var err error
		if st.operator, err = kgo.NewClient(kgo.SeedBrokers(cluster...), kgo.MetadataMinAge(100*time.Millisecond)); err != nil {
			st.Fatal(err)
		}
		st.Cleanup(st.operator.Close)
		st.whole()
		return cluster, cluster
	}
	broker := os.Getenv(servers.KafkaVariable)
	st.broker = st.proxy(proxy.NewKafka(broker))
	return []string{broker}, []string{st.broker.Addr()}
}

func (st *stage) proxy(p *proxy.Proxy, err error) *proxy.Proxy {
	st.Helper()
	if err != nil {
		st.Fatal(err)
	}
	st.Cleanup(p.Close)
	return p
}

// flows waits until so many more events have come through.
func (st *stage) flows(events int) {
	st.Helper()
	from, _ := st.read.state()
	eventually(st, 60*time.Second, func() bool {
		st.mustLive()
		now, _ := st.read.state()
		return now >= from+events
	}, func() string { return fmt.Sprintf("%d events to come through", events) })
}

// mustLive fails at once when the process has ended by itself.
func (st *stage) mustLive() {
	st.Helper()
	if !st.alive() {
		st.Fatalf("the bridge ended by itself: %v", st.wait(time.Second))
	}
}

// lift says that the fault is over. Recovery is the time from then until an event is readable that was written afterwards.
func (st *stage) lift() {
	_, _, next := st.work.sums()
	st.lifted, st.mark = time.Now(), next
}

// endures keeps a fault going: short in every day's run, long in the whole campaign.
func (st *stage) endures(short, long time.Duration) {
	if full() {
		short = long
	}
	<-time.After(short)
}

// happens waits until an armed fault has struck.
func (st *stage) happens(fired <-chan struct{}) {
	st.Helper()
	select {
	case <-fired:
	case <-st.ended:
		st.mustLive()
	case <-time.After(60 * time.Second):
		st.Fatal("the fault found no occasion within 60 s")
	}
}

// control does something to a server.
func (st *stage) control(do func(*servers.Stack, context.Context, string) error, server string) {
	st.Helper()
	if err := do(st.servers, context.Background(), server); err != nil {
		st.Fatal(err)
	}
}
