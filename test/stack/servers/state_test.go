//go:build linux

package servers

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFreePorts(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", loopback+":0")
	mustDo(t, "listen", err)
	defer listener.Close()
	if free(listener.Addr().(*net.TCPAddr).Port) {
		t.Error("a port with a listener counts as free")
	}
	taken := map[int]bool{}
	for port := firstPort; port < lastPort-200; port++ {
		taken[port] = true
	}
	ports, err := freePorts(20, taken)
	mustDo(t, "freePorts", err)
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 20 {
		t.Errorf("freePorts(20) = %v; want 20 different ones", ports)
	}
	for _, port := range ports {
		if taken[port] || port < firstPort || port > lastPort {
			t.Errorf("port %d is taken or out of range", port)
		}
	}
}

func TestFreePortsExhausted(t *testing.T) {
	t.Parallel()
	taken := map[int]bool{}
	for port := firstPort; port <= lastPort; port++ {
		taken[port] = true
	}
	if ports, err := freePorts(1, taken); err == nil {
		t.Errorf("freePorts = %v without a free port; want an error", ports)
	}
}

func TestStateRoundTrip(t *testing.T) {
	t.Parallel()
	want := State{
		Folder: t.TempDir(), Owner: Process{PID: 5, Start: 6}, Until: time.Unix(1_800_000_000, 0).UTC(), Logs: "logs", Password: "p",
		Tools:   Tools{Java: "java", Python: "python"},
		Servers: []Server{{Name: Kafka, Condition: Running, Process: Process{PID: 7, Start: 8}, Ports: map[string]int{"client": 9}, Log: "l"}},
	}
	mustDo(t, "save", want.save())
	got, err := readState(want.path())
	mustDo(t, "read", err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nwant %+v", got, want)
	}
	info, err := os.Stat(want.path())
	mustDo(t, "stat", err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the state file with its password has mode %o; want 600", info.Mode().Perm())
	}
	if entries, _ := os.ReadDir(want.Folder); len(entries) != 1 {
		t.Errorf("the folder holds %v; want the state file alone", entries)
	}
}

func TestReadStateFailures(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), stateFile)
	if _, err := readState(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v; want ErrNotExist", err)
	}
	mustDo(t, "write", os.WriteFile(path, []byte("{"), 0o600))
	if _, err := readState(path); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("broken file: %v; want another error", err)
	}
}

func TestFindNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	state := State{Servers: []Server{{Name: Kafka}, {Name: Postgres}}}
	if server, err := state.Find(Postgres); err != nil || server != &state.Servers[1] {
		t.Errorf("Find(postgres) = %v, %v", server, err)
	}
	_, err := state.Find("oracle")
	if err == nil || !strings.Contains(err.Error(), "kafka postgres") {
		t.Errorf("Find(oracle): %v; want the names of the servers", err)
	}
}

func TestEnv(t *testing.T) {
	t.Parallel()
	port := func(n int) map[string]int { return map[string]int{"client": n, "controller": 1} }
	state := State{Folder: "/x", Password: "pw", Tools: Tools{Python: "/py", Kcat: "/kc", Helm: "/he", Promtool: "/pr", Buildah: "/bu", Chromium: "/ch"}, Servers: []Server{
		{Name: MariaDB, Ports: port(5)}, {Name: Kafka, Ports: map[string]int{"client": 2, "controller": 1, "guarded": 6}}, {Name: Registry, Ports: port(3)}, {Name: Postgres, Ports: port(4)},
	}}
	want := []string{
		"CTBRIDGE_TEST_KAFKA=127.0.0.1:2",
		"CTBRIDGE_TEST_REGISTRY=http://127.0.0.1:3/apis/ccompat/v7",
		"CTBRIDGE_TEST_POSTGRES=postgres://ctbridge:pw@127.0.0.1:4/postgres?sslmode=disable",
		"CTBRIDGE_TEST_MARIADB=ctbridge:pw@tcp(127.0.0.1:5)/?charset=utf8mb4&time_zone=%27%2B00%3A00%27",
		"CTBRIDGE_TEST_PYTHON=/py",
		"CTBRIDGE_TEST_KCAT=/kc",
		"CTBRIDGE_TEST_HELM=/he", "CTBRIDGE_TEST_PROMTOOL=/pr", "CTBRIDGE_TEST_BUILDAH=/bu", "CTBRIDGE_TEST_CHROMIUM=/ch",
		"CTBRIDGE_TEST_KAFKA_GUARDED=kafka://ctbridge:pw@127.0.0.1:6",
		"CTBRIDGE_STACK_STATE=/x/state.json",
	}
	if got := state.Env(); !slices.Equal(got, want) {
		t.Errorf("Env:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	cluster := State{Folder: "/x", Servers: []Server{{Name: controllerName, Ports: port(1)}, {Name: Node(1), Ports: port(2)}, {Name: Node(2), Ports: port(3)}, {Name: Node(3), Ports: port(4)}}}
	if got := cluster.Env(); !slices.Equal(got, []string{"CTBRIDGE_TEST_KAFKA3=127.0.0.1:2,127.0.0.1:3,127.0.0.1:4", "CTBRIDGE_STACK_STATE=/x/state.json"}) {
		t.Errorf("Env of the cluster: %v; want its three brokers and the state file", got)
	}
	only := State{Folder: "/x", Servers: []Server{{Name: Kafka, Ports: port(2)}}}
	if got := only.Env(); len(got) != 2 {
		t.Errorf("Env of Kafka alone: %v; want Kafka and the state file", got)
	}
}

func TestExportsQuotesForTheShell(t *testing.T) {
	t.Parallel()
	got := Exports([]string{"A=plain", "B=it's $HOME=`x`"})
	want := "export A='plain'\nexport B='it'\\''s $HOME=`x`'\n"
	if got != want {
		t.Errorf("Exports = %q; want %q", got, want)
	}
}

func TestGivenAndOverlay(t *testing.T) {
	for _, name := range variables {
		t.Setenv(name, "")
	}
	t.Setenv(KafkaVariable, "there:1")
	given, missing := Given([]string{Kafka, Postgres})
	if !slices.Equal(given, []string{Kafka}) || !slices.Equal(missing, []string{Postgres}) {
		t.Errorf("Given = %v, %v; want kafka given, postgres missing", given, missing)
	}
	var told string
	opts := Options{Parts: []string{Kafka, Postgres}, Report: func(line string) { told += line }}
	t.Setenv(StateVariable, "")
	if parts, err := stillMissing(opts); err != nil || !slices.Equal(parts, []string{Postgres}) || !strings.Contains(told, Kafka) {
		t.Errorf("stillMissing = %v, %v, told %q; want postgres, and to be told of kafka", parts, err, told)
	}
	t.Setenv(StateVariable, filepath.Join(t.TempDir(), "gone"))
	if _, err := stillMissing(opts); !errors.Is(err, ErrNone) {
		t.Errorf("stillMissing with servers of a dead stack: %v; want ErrNone", err)
	}
	env := overlay([]string{KafkaVariable + "=here:2"})
	var found []string
	for _, pair := range env {
		if strings.HasPrefix(pair, KafkaVariable+"=") {
			found = append(found, pair)
		}
	}
	if !slices.Equal(found, []string{KafkaVariable + "=here:2"}) {
		t.Errorf("overlay left %v; want the new value alone", found)
	}
}

func TestCheckAndKindsOf(t *testing.T) {
	t.Parallel()
	mustDo(t, "Check(Parts())", Check(Parts()))
	if err := Check([]string{Kafka, "oracle"}); err == nil || !strings.Contains(err.Error(), "oracle") {
		t.Errorf("Check: %v; want an error that names the part", err)
	}
	got := kindsOf([]string{Postgres, Python, Kafka})
	if !reflect.DeepEqual(got, []kind{kafka{}, postgres{}}) {
		t.Errorf("kindsOf = %v; want kafka, postgres", got)
	}
	if got := kindsOf([]string{Kafka3}); !reflect.DeepEqual(got, []kind{controller{}, node{1}, node{2}, node{3}}) {
		t.Errorf("kindsOf(kafka3) = %v; want a controller and three nodes", got)
	}
	if got := kindsOf([]string{Node(2)}); !reflect.DeepEqual(got, []kind{node{2}}) {
		t.Errorf("kindsOf(kafka3-2) = %v; want that node alone", got)
	}
}
