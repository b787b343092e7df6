package kafka_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
)

// worker runs shards without doing anything: it notes what it was told, and drains when the test lets it.
type worker struct {
	*kafka.Group
	changed chan struct{}
	news    chan struct{}

	mu       sync.Mutex
	assigned []int
	running  []int
	slow     bool // shards end only by finish
	cancel   context.CancelFunc
	ended    chan error
}

func (w *worker) Assign(shards []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.assigned = slices.Clone(shards)
	kept := slices.Clone(shards)
	for _, n := range w.running {
		if w.slow && !slices.Contains(shards, n) {
			kept = append(kept, n)
		}
	}
	ended := len(w.running) > 0 && !w.slow && len(shards) < len(w.running)
	w.running = kept
	if ended {
		w.tell(w.changed)
	}
	w.tell(w.news)
}

func (w *worker) tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// finish lets the shards end that were taken away.
func (w *worker) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = slices.Clone(w.assigned)
	w.tell(w.changed)
}

func (w *worker) Running() []int           { w.mu.Lock(); defer w.mu.Unlock(); return slices.Clone(w.running) }
func (w *worker) Changed() <-chan struct{} { return w.changed }

// has waits until the worker runs so many shards.
func (w *worker) has(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for len(w.Running()) != n {
		select {
		case <-w.news:
		case <-deadline:
			t.Fatalf("it runs %v, want %d shards", w.Running(), n)
		}
	}
}

func (w *worker) setSlow(slow bool) { w.mu.Lock(); defer w.mu.Unlock(); w.slow = slow }

// testSession is short, and long enough for a machine that is busy.
const testSession = 3 * time.Second

// replicas start members of one group. Each counts as a process of its own host.
type replicas struct {
	*testing.T
	conf   kafka.Config
	group  string
	shards int
}

func newReplicas(t *testing.T, shards int, opts ...kfake.Opt) *replicas {
	opts = append(opts, kfake.GroupMinSessionTimeout(100*time.Millisecond))
	return &replicas{T: t, conf: kafka.Config{Brokers: broker(t, opts...).Brokers()}, group: name("ctbridge.task"), shards: shards}
}

func (r *replicas) build(host string, shards int) *worker {
	r.Helper()
	g, err := kafka.NewGroup(r.conf, kafka.GroupOptions{Name: r.group, Task: "orders", Topic: r.group + ".shards", Shards: shards, Session: testSession, Host: host, PID: os.Getpid(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.Fatal(err)
	}
	return &worker{Group: g, changed: make(chan struct{}, 1), news: make(chan struct{}, 1), ended: make(chan error, 1)}
}

func (r *replicas) start(host string) *worker { return r.run(r.build(host, r.shards)) }

func (r *replicas) run(w *worker) *worker {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	done := make(chan struct{})
	go func() { defer close(done); w.ended <- w.Run(ctx, w) }()
	r.Cleanup(func() { cancel(); <-done })
	return w
}

// Shards are shared out as members come and go: a shard that moves is given away only when its former member has ended it.
func TestGroupSharesShards(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 4)
	a := r.start("a")
	a.has(t, 4)
	a.setSlow(true)
	b := r.start("b")
	select {
	case <-b.news: // its first assignment
	case <-time.After(10 * time.Second):
		t.Fatal("b is no member")
	}
	if got := b.Running(); len(got) > 0 {
		t.Fatalf("b was given %v while a still runs them", got)
	}
	a.setSlow(false)
	a.finish()
	b.has(t, 2)
	if kept, got := a.Running(), b.Running(); !reflect.DeepEqual(kept, []int{0, 1}) || !reflect.DeepEqual(got, []int{2, 3}) {
		t.Errorf("a runs %v, b %v", kept, got)
	}
	if a.Lease() != nil || b.Lease() != nil {
		t.Error("members are in doubt")
	}
	members, err := a.Members(t.Context())
	if err != nil || len(members) != 2 || members[0].Host != "a" || members[0].PID != os.Getpid() || !reflect.DeepEqual(members[1].Shards, []int{2, 3}) {
		t.Errorf("described as %+v, %v", members, err)
	}
	b.cancel() // without a word, as if it was killed
	a.has(t, 4)
	c := r.start("c")
	c.has(t, 2)
	c.cancel()
	<-c.ended
	begin := time.Now()
	if err := c.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.has(t, 4)
	if took := time.Since(begin); took > testSession*3/4 {
		t.Errorf("the others waited %v for a member that has left", took)
	}
}

// Replicas that divide the task otherwise never run beside each other.
func TestGroupRefusesOtherLayout(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 4)
	a := r.start("a")
	a.has(t, 4)
	other := r.run(r.build("b", 2))
	select {
	case err := <-other.ended:
		if fault.ClassOf(err) != fault.Config || !strings.Contains(fault.HintOf(err), "shards") {
			t.Errorf("it ended with class %s: %v", fault.ClassOf(err), err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it was let in")
	}
}

// Who is alone may start at once: in an empty group, or where the only member is a process of this host that has ended.
func TestGroupAlone(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 1)
	a := r.build("a", 1)
	alone := func(w *worker, want bool) {
		t.Helper()
		if got, err := w.Alone(t.Context()); err != nil || got != want {
			t.Errorf("alone: %v, %v; want %v", got, err, want)
		}
	}
	alone(a, true)
	a.TakeEarly()
	a.mu.Lock()
	a.running = []int{0}
	a.mu.Unlock()
	r.run(a).has(t, 1)
	<-a.news
	alone(r.build("b", 1), false)
	alone(r.build("a", 1), true) // the same process of the same host: it was started anew in its container
}

// A process that was killed while it joined is dead, too: started again and again, a task must not wait for the session time-out each time.
func TestGroupAloneAfterADeathInTheJoin(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 1)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	joinAs(t, r, "ctbridge@a:"+strconv.Itoa(dead.Process.Pid))
	for host, want := range map[string]bool{"a": true, "b": false} {
		if got, err := r.build(host, 1).Alone(t.Context()); err != nil || got != want {
			t.Errorf("alone on host %s: %v, %v; want %v", host, got, err, want)
		}
	}
}

// joinAs joins a group and does not ask for what it is given, so that the group does not come to rest.
func joinAs(t *testing.T, r *replicas, client string) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(r.conf.Brokers...), kgo.ClientID(client))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	request := kmsg.NewPtrJoinGroupRequest()
	request.Group, request.ProtocolType, request.SessionTimeoutMillis, request.RebalanceTimeoutMillis = r.group, "consumer", 30_000, 30_000
	request.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "any"}}
	for range 2 { // the first answer is the name of the member
		response, err := request.RequestWith(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		request.MemberID = response.MemberID
	}
}

// What was taken early stays with who took it, as long as nobody else has it.
func TestGroupKeepsWhatWasTakenEarly(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 2)
	early := r.build("a", 2)
	early.running, early.slow = []int{1}, true
	early.TakeEarly()
	other := r.start("b")
	other.has(t, 2)
	r.run(early)
	other.has(t, 1)
	if got, kept := other.Running(), early.Running(); !reflect.DeepEqual(got, []int{0}) || !reflect.DeepEqual(kept, []int{1}) {
		t.Errorf("%v stayed with the first, %v with the early one", got, kept)
	}
}

// A broker that grants no groups is told by the name of the right.
func TestGroupNeedsRights(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 1, kfake.EnableSASL(), kfake.EnableACLs(), kfake.User("PLAIN", "bridge", secret, allow(kmsg.ACLResourceTypeTopic, "t", kmsg.ACLOperationAll)...))
	r.conf.SASL = kafka.SASL{Mechanism: "PLAIN", Username: "bridge", Password: secret}
	w := r.build("a", 1)
	_, err := w.Alone(t.Context())
	for what, err := range map[string]error{"describe": err, "join": w.Run(t.Context(), w)} {
		if fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), "--operation Read --group ctbridge.") {
			t.Errorf("%s: class %s: %v", what, fault.ClassOf(err), err)
		}
	}
}
