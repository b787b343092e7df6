package chaos

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"ctbridge/test/stack/servers"
)

const (
	chaosVariable = "CHAOS"              // all = every scenario as often and as long as it says; each = every scenario once, short
	seedVariable  = "CHAOS_SEED"         // of the campaign; default 1
	tableVariable = "CHAOS_TABLE"        // file for the results as a Markdown table
	soakVariable  = "CHAOS_SOAK"         // length of the soak, such as 30m; empty = none
	ownVariable   = "CTBRIDGE_CHAOS_OWN" // set in the inner run, which has servers of its own
)

var binary string // the built program

func TestMain(m *testing.M) { os.Exit(campaign(m)) }

func campaign(m *testing.M) int {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "4") // scenarios wait more than they compute; the command line has the last word
	}
	_ = mysqldriver.SetLogger(log.New(io.Discard, "", 0)) // broken connections are what we make
	if os.Getenv(ownVariable) != "" {
		return withBinary(m)
	}
	if os.Getenv(servers.KafkaVariable) == "" && os.Getenv(chaosVariable) == "" && os.Getenv(soakVariable) == "" {
		return m.Run() // without servers: each test says so
	}
	return ownStack()
}

// full tells whether faults last long and are repeated.
func full() bool { return os.Getenv(chaosVariable) == "all" }

// each tells whether scenarios are played that are not for every day.
func each() bool { return full() || os.Getenv(chaosVariable) == "each" }

// wanted tells whether the command line asks for scenarios of a group.
func wanted(group string) bool {
	names := strings.Split(flag.Lookup("test.run").Value.String(), "/")
	asked, err := regexp.MatchString(names[min(1, len(names)-1)], group)
	return len(names) < 2 || asked || err != nil
}

// ownStack runs the test program again inside a stack of its own: other tests must not meet our faults.
func ownStack() int {
	parts := "kafka,registry,postgres"
	if each() {
		parts += ",mariadb"
	}
	if each() && wanted(onNodes) {
		parts += "," + servers.Kafka3
	}
	inner := exec.Command("go", append([]string{"run", "ctbridge/test/stack", "run", "-fresh", "-only", parts, "--"}, os.Args...)...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "CTBRIDGE_TEST_") && !strings.HasPrefix(pair, servers.StateVariable+"=") {
			inner.Env = append(inner.Env, pair)
		}
	}
	inner.Env = append(inner.Env, ownVariable+"=1")
	inner.Stdout, inner.Stderr = os.Stdout, os.Stderr
	var exit *exec.ExitError
	err := inner.Run()
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func withBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ctbridge-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "ctbridge")
	if err := build(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := results.write(os.Getenv(tableVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func build(to string, flags ...string) error {
	args := append([]string{"build", "-o", to}, flags...)
	out, err := exec.Command("go", append(args, "ctbridge/cmd/ctbridge")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// inside skips a test that needs the campaign's servers.
func inside(t testing.TB) {
	t.Helper()
	if os.Getenv(ownVariable) == "" {
		t.Skip(servers.KafkaVariable + " is not set: make test starts the servers, make chaos runs the whole campaign")
	}
}
