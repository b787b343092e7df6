package chaos

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// scenario is one fault. A new one is a line in a table of scenarios_test.go.
type scenario struct {
	name  string
	daily bool // part of every go test
	alone bool // touches servers that other scenarios use

	engine       string // postgres (default), mysql, sqlite
	config       string // YAML to add; {dir} is a folder of its own
	env          []string
	avro         bool          // Avro through the registry
	disk         bool          // {dir} is a disk of 256 KiB
	poll         string        // source.poll_interval; default 20ms
	discover     string        // source.rediscover_interval; default 1s
	dsn          string        // name=value, in the bridge's DSN besides
	threeBrokers bool          // on brokers inside the test, which can move leaders
	nodes        bool          // on the cluster of three real brokers
	runs         int           // in the whole campaign; default 1
	soak         bool          // also among the faults of the soak: the process goes on, and little time is needed
	patience     time.Duration // for the first event after the fault; default two minutes
	allowed      int64         // resident bytes that are allowed; default steadyMemory

	arm   func(*stage) // before the bridge starts; may be nil
	fault func(*stage) // does it, and undoes it
}

// Resident memory that design.md section 9 allows.
const (
	steadyMemory = int64(128 << 20)
	largeMemory  = int64(256 << 20) // with a transaction of five million rows
)

// The groups of scenarios.
const (
	beside  = "beside"  // side by side
	alone   = "alone"   // one at a time
	onNodes = "cluster" // one at a time, on the cluster
)

func (s *scenario) group() string {
	switch {
	case s.nodes:
		return onNodes
	case s.alone:
		return alone
	}
	return beside
}

func TestFaults(t *testing.T) {
	inside(t)
	for _, group := range []string{beside, alone, onNodes} {
		t.Run(group, func(t *testing.T) {
			for _, s := range scenarios() {
				if s.group() != group || !s.daily && !each() {
					continue
				}
				for run := range max(1, s.runs) {
					if run > 0 && !full() {
						break
					}
					t.Run(fmt.Sprintf("%s/%d", s.name, run+1), func(t *testing.T) {
						if group == beside {
							t.Parallel()
						}
						play(t, s, seedOf(s.name, run))
					})
				}
			}
		})
	}
}

// seedOf gives the seed of a run: that of the campaign, the scenario's name and the number of the run decide.
func seedOf(name string, run int) uint64 {
	campaign := uint64(1)
	if text := os.Getenv(seedVariable); text != "" {
		campaign, _ = strconv.ParseUint(text, 10, 64)
	}
	return uint64((&ledger{seed: campaign}).hash(run, name))
}

// play runs one scenario and judges it.
func play(t *testing.T, s scenario, seed uint64) {
	st := newStage(t, s, seed)
	outcome := &result{name: s.name, seed: seed}
	results.add(outcome)
	go st.work.run()
	halted := false
	defer func() {
		if !halted {
			close(st.work.stop)
			<-st.work.done
		}
	}()
	if s.arm != nil {
		s.arm(st)
	}
	st.start()
	if s.arm == nil {
		st.flows(100)
	}
	begin := time.Now()
	s.fault(st)
	if st.lifted.IsZero() {
		st.lift()
	}
	outcome.fault = st.lifted.Sub(begin)
	st.recovers()
	outcome.recovery = st.recovery
	st.flows(50)
	halted = true
	st.work.halt()
	outcome.catchUp = st.complete()
	outcome.memory = st.memory()
	st.drain()
	st.read.finish()
	outcome.judge(st)
}

// recovers waits for the first event that was written after the fault; it is asked for once.
func (st *stage) recovers() {
	st.Helper()
	if st.recovery > 0 {
		return
	}
	eventually(st, cmp.Or(st.patience, 2*time.Minute), func() bool {
		st.mustLive()
		_, newest := st.read.state()
		return newest >= st.mark
	}, func() string { return "an event that was written after the fault" })
	st.recovery = time.Since(st.lifted)
}

// complete waits until all that is committed has been read, and gives the time since the fault was over.
func (st *stage) complete() time.Duration {
	st.Helper()
	_, events, _ := st.work.sums()
	eventually(st, cmp.Or(st.patience, 3*time.Minute), func() bool {
		st.mustLive()
		distinct, _ := st.read.state()
		return distinct >= events
	}, func() string {
		distinct, _ := st.read.state()
		return fmt.Sprintf("%d of %d events, %s", distinct, events, strings.Join(st.read.verdict(), "\n"))
	})
	return time.Since(st.lifted)
}

// result is a line of the table.
type result struct {
	name                     string
	seed                     uint64
	fault, recovery, catchUp time.Duration
	transactions, events     int
	repeated                 int
	memory                   int64
	good                     bool
}

func (r *result) judge(st *stage) {
	st.Helper()
	r.transactions, r.events, _ = st.work.sums()
	r.repeated = st.read.repeated
	if wrong := st.read.verdict(); len(wrong) > 0 {
		st.Errorf("%s", strings.Join(wrong, "\n"))
	}
	if allowed := cmp.Or(st.allowed, steadyMemory); r.memory > allowed {
		st.Errorf("%d MiB resident, at most %d are allowed", r.memory>>20, allowed>>20)
	}
	r.good = !st.Failed()
	st.Logf("seed %d: %d transactions, %d events, fault of %v, recovery %v, all there after %v, %d MiB", r.seed, r.transactions, r.events,
		r.fault.Round(time.Millisecond), r.recovery.Round(time.Millisecond), r.catchUp.Round(time.Millisecond), r.memory>>20)
}

// report collects results.
type report struct {
	mu  sync.Mutex
	all []*result
}

var results report

func (r *report) add(one *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// write writes the results as a Markdown table: one line a scenario, with the worst of its runs.
func (r *report) write(file string) error {
	if file == "" || len(r.all) == 0 {
		return nil
	}
	byName := make(map[string][]*result)
	for _, one := range r.all {
		byName[one.name] = append(byName[one.name], one)
	}
	names := []string{"soak"}
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	var b strings.Builder
	b.WriteString("| Fault | Runs | Result | Events | Fault lasts | Recovery | All there | Memory |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, name := range names {
		if len(byName[name]) > 0 {
			b.WriteString(line(name, byName[name]))
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func line(name string, runs []*result) string {
	worst, good := result{}, 0
	for _, one := range runs {
		worst.fault, worst.recovery, worst.catchUp = max(worst.fault, one.fault), max(worst.recovery, one.recovery), max(worst.catchUp, one.catchUp)
		worst.memory = max(worst.memory, one.memory)
		worst.events += one.events
		worst.repeated += one.repeated
		if one.good {
			good++
		}
	}
	verdict := "every event once"
	switch {
	case good < len(runs):
		verdict = fmt.Sprintf("**%d failed**", len(runs)-good)
	case worst.repeated > 0:
		verdict = fmt.Sprintf("none lost, %d repeated", worst.repeated)
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	return fmt.Sprintf("| %s | %d | %s | %d | %s | %s | %s | %d MiB |\n", name, len(runs), verdict, worst.events, seconds(worst.fault), seconds(worst.recovery),
		seconds(worst.catchUp), worst.memory>>20)
}
