package chaos

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestSoak runs at the highest rate for the time that CHAOS_SOAK says, with one fault after another, and looks whether memory and goroutines stay.
func TestSoak(t *testing.T) {
	inside(t)
	if os.Getenv(soakVariable) == "" {
		t.Skip(soakVariable + " is not set: make soak sets it")
	}
	length, err := time.ParseDuration(os.Getenv(soakVariable))
	if err != nil {
		t.Fatal(err)
	}
	seed := seedOf("soak", 0)
	st := newStage(t, scenario{name: "soak", allowed: steadyMemory}, seed)
	st.work.pace, st.work.size = time.Millisecond, func() int { return 1 + st.work.random.IntN(1000) }
	st.work.room = func() bool { // as fast as it is read, so that the tables do not grow into a backlog
		_, events, _ := st.work.sums()
		read, _ := st.read.state()
		return events-read < 20_000
	}
	go st.work.run()
	st.start()
	st.flows(1000)
	begin := time.Now()
	samples, stop := st.sample(), time.After(length)
	counts := st.harass(stop, rand.New(rand.NewPCG(seed, 3)))
	seconds := time.Since(begin).Seconds()
	st.work.halt()
	st.lift()
	st.complete()
	taken := samples()
	o := &result{name: "soak", seed: seed, fault: time.Since(begin), memory: st.memory()}
	st.drain()
	st.read.finish()
	o.judge(st)
	results.add(o)
	t.Logf("%.0f events a second; faults: %v", float64(o.events)/seconds, counts)
	flat(t, "resident bytes", taken, func(s sample) float64 { return s.memory }, 8<<20)
	flat(t, "goroutines", taken, func(s sample) float64 { return s.goroutines }, 5)
}

// harass lets one fault after another happen, and counts them.
func (st *stage) harass(stop <-chan time.Time, random *rand.Rand) map[string]int {
	var faults []scenario
	for _, s := range scenarios() {
		if s.soak {
			faults = append(faults, s)
		}
	}
	counts := make(map[string]int)
	for {
		s := faults[random.IntN(len(faults))]
		s.fault(st)
		st.flows(100)
		counts[s.name]++
		select {
		case <-stop:
			return counts
		case <-time.After(time.Duration(1+random.IntN(5)) * time.Second):
		}
	}
}

type sample struct{ at, memory, goroutines float64 }

// sample reads memory and goroutines each second, until what it returns is called.
func (st *stage) sample() (end func() []sample) {
	stop, done := make(chan struct{}), make(chan []sample)
	begin := time.Now()
	go func() {
		var all []sample
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- all
				return
			case <-tick.C:
			}
			memory, ok := st.metric("process_resident_memory_bytes")
			goroutines, also := st.metric("go_goroutines")
			if ok && also {
				all = append(all, sample{time.Since(begin).Seconds(), memory, goroutines})
			}
		}
	}()
	return func() []sample { close(stop); return <-done }
}

// flat fits a line through the samples after the first fifth, in which the process warms up. The line may rise by a tenth of the mean, or
// by little, over the whole time.
func flat(t *testing.T, what string, all []sample, of func(sample) float64, little float64) {
	t.Helper()
	all = all[len(all)/5:]
	if len(all) < 20 {
		t.Fatalf("only %d samples of %s", len(all), what)
	}
	var n, x, y, xx, xy, low, high float64
	low = of(all[0])
	for _, s := range all {
		v := of(s)
		n, x, y, xx, xy = n+1, x+s.at, y+v, xx+s.at*s.at, xy+s.at*v
		low, high = min(low, v), max(high, v)
	}
	slope, mean := (n*xy-x*y)/(n*xx-x*x), y/n
	rise := slope * (all[len(all)-1].at - all[0].at)
	t.Logf("%s: mean %.0f, from %.0f to %.0f, %.0f samples, fitted rise %+.0f", what, mean, low, high, n, rise)
	if rise > max(mean/10, little) {
		t.Errorf("%s rise: by %.0f in %.0f s", what, rise, all[len(all)-1].at-all[0].at)
	}
}
