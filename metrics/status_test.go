package metrics

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

var update = flag.Bool("update", false, "write the golden files anew")

// ask asks the handler.
func ask(t *testing.T, m *Metrics, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s is %d", path, w.Code)
	}
	return w
}

func newStatus(o Options) (*Metrics, *clock) {
	c := newClock()
	o.Version, o.Task, o.Replica, o.Source, o.StallTimeout, o.Now = "1.2.3", "orders", "pod-0", "postgres", stall, c.now
	return New(o), c
}

// busy is a task in which everything has happened.
func busy(t *testing.T) *Metrics {
	t.Helper()
	m, c := newStatus(Options{Registry: true})
	m.SourceReachable(nil)
	m.SinkReachable(nil)
	m.TableChanged(parcel, bridge.TableStreaming, 2, nil)
	m.Reached(parcel, "0007")
	for range 3 {
		c.advance(2 * time.Second)
		m.Committed(bridge.Commit{Counts: map[bridge.CommitKey]int{{Table: parcel, Op: change.OpInsert}: 10, {Table: depot, Op: change.OpUpdate}: 4}, Records: 14})
	}
	c.advance(2 * time.Second)
	m.Polled(time.Millisecond)
	m.Horizon("0009")
	m.Reached(parcel, "0008")
	m.Lag(parcel, 1500*time.Millisecond)
	m.Lag(depot, time.Hour) // before it failed
	m.RetentionMargin(parcel, 2*time.Hour)
	m.Late(parcel, 1)
	m.Dropped(parcel, "truncate", 2)
	m.Gap(parcel, bridge.Gap{Reason: "rows_purged", From: "3", To: "8"})
	denied := fault.New(fault.Table, "read shop.depot__ct", errors.New("no right"), "GRANT SELECT ON shop.depot__ct")
	m.Failed(bridge.StagePoll, fault.Table, denied)
	m.TableChanged(depot, bridge.TableFailed, 1, denied)
	m.TableChanged(change.TableID{Name: "rack"}, bridge.TableLoading, 1, nil)
	m.Loaded(change.TableID{Name: "rack"}, bridge.LoadProgress{State: checkpoint.LoadRunning, Done: 100, Total: 1000})
	c.advance(10 * time.Second)
	m.Loaded(change.TableID{Name: "rack"}, bridge.LoadProgress{State: checkpoint.LoadRunning, Rows: 300, Done: 400, Total: 1000})
	m.TableChanged(change.TableID{Name: "bin"}, bridge.TableMissing, 0, errors.New("no change table"))
	c.advance(time.Second)
	m.TableChanged(change.TableID{Name: "bin"}, bridge.TableStreaming, 0, nil)
	m.RegistryReachable(errors.New("connection refused"))
	m.Pending(true)
	c.advance(3 * time.Second)
	return m
}

// The document is API: names, types, units, nulls.
func TestStatusGolden(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := json.Indent(&got, ask(t, busy(t), "/api/status").Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(got.String(), runtime.Version(), "go1.x", 1)
	text = regexp.MustCompile(`(?s)\[[\s\d,]+\]`).ReplaceAllStringFunc(text, func(list string) string { return strings.Join(strings.Fields(list), "") })
	const golden = "testdata/status.json"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || text != string(want) {
		t.Errorf("%v; got\n%s", err, text)
	}
}

// Every field of the document is described.
func TestStatusIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/status.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			if name := f.Tag.Get("json"); name == "" || strings.Contains(name, ",") || !bytes.Contains(doc, []byte("`"+name+"`")) {
				t.Errorf("%s.%s: its name %q is not in docs/status.md", typ.Name(), f.Name, name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[Status]())
}

func TestStatesOfATask(t *testing.T) {
	t.Parallel()
	m, c := newStatus(Options{})
	expect := func(state string, ready bool) {
		t.Helper()
		if s := m.Status(); s.State != state || s.Ready != ready || (state == StateOK) != (len(s.Problems) == 0) {
			t.Errorf("%s %v %q, want %s %v", s.State, s.Ready, s.Problems, state, ready)
		}
	}
	expect(StateStarting, false)
	m.SourceReachable(nil)
	m.SinkReachable(nil)
	m.Polled(time.Millisecond)
	expect(StateOK, true)
	m.TableChanged(parcel, bridge.TableLoading, 1, nil)
	expect(StateOK, true)
	m.TableChanged(parcel, bridge.TableFailed, 1, errors.New("x"))
	expect(StateDegraded, true)
	m.SinkReachable(errors.New("away"))
	expect(StateAway, false)
	m.SinkReachable(nil)
	m.TableChanged(parcel, bridge.TableStreaming, 1, nil)
	expect(StateOK, true)
	m.Pending(true)
	c.advance(stall + time.Second)
	m.Polled(time.Millisecond)
	expect(StateStuck, true)
}

// An error keeps its beginning while it lasts, and is shown as over afterwards.
func TestErrorOfATable(t *testing.T) {
	t.Parallel()
	m, c := newStatus(Options{Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }})
	begin := c.at
	m.TableChanged(parcel, bridge.TableFailed, 1, errors.New("password hunter2"))
	c.advance(time.Minute)
	m.TableChanged(parcel, bridge.TableFailed, 1, fault.New(fault.Poison, "read", errors.New("bad hunter2"), "mend hunter2"))
	first := m.Status()
	want := Problem{Message: "read: bad ***", Hint: "mend ***", Class: "poison", Since: begin, At: c.at}
	if got := first.Tables[0].Error; got == nil || *got != want {
		t.Errorf("%+v", got)
	}
	c.advance(time.Minute)
	m.TableChanged(parcel, bridge.TableStreaming, 1, nil)
	got := m.Status().Tables[0]
	if got.Error == nil || got.Error.ResolvedAt == nil || !got.Error.ResolvedAt.Equal(c.at) || !got.Since.Equal(c.at) {
		t.Errorf("%+v %+v", got, got.Error)
	}
	if first.Tables[0].Error.ResolvedAt != nil {
		t.Error("a document that was handed out has changed")
	}
	c.advance(time.Minute)
	m.TableChanged(parcel, bridge.TableFailed, 1, errors.New("again"))
	if got := m.Status().Tables[0].Error; !got.Since.Equal(c.at) || got.ResolvedAt != nil {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"/api/status", "/readyz"} {
		w := httptest.NewRecorder()
		m.SinkReachable(errors.New("sasl hunter2"))
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if strings.Contains(w.Body.String(), "hunter2") || !strings.Contains(w.Body.String(), "sasl ***") {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

func TestStopIsNoLastError(t *testing.T) {
	t.Parallel()
	m, _ := newStatus(Options{})
	m.Failed(bridge.StagePoll, fault.Retry, fmt.Errorf("query: %w", context.Canceled))
	if s := m.Status(); s.LastError != nil || s.Totals.Errors != 1 {
		t.Errorf("%+v", s)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	var r rates
	const begin = 1000
	r.add(begin, 10)
	if got := r.perSecond(begin); got != 0 {
		t.Errorf("%v rows/s in a step that is not over", got)
	}
	r.roll(begin + 1)
	if got := r.perSecond(begin); got != 5 {
		t.Errorf("%v rows/s after one step of 2 s", got)
	}
	for s := range int64(200) {
		r.add(begin+1+s, 6)
	}
	if got := r.perSecond(begin); got != 3 {
		t.Errorf("%v rows/s", got)
	}
	if h := r.history(); len(h) != rateSteps-1 || h[0] != 6 || h[len(h)-1] != 6 {
		t.Error(h)
	}
	r.add(begin-50, 1) // a clock that goes back
	if h := r.history(); h[len(h)-1] != 6 {
		t.Error(h)
	}
	r.roll(begin + 203)
	if h := r.history(); h[len(h)-4] != 6 || h[len(h)-3] != 7 || h[len(h)-2] != 0 {
		t.Error(h)
	}
	r.roll(begin + 10_000)
	if h := r.history(); len(h) != 0 || r.perSecond(begin) != 0 {
		t.Error(h)
	}
}

func TestLoadTimes(t *testing.T) {
	t.Parallel()
	m, c := newStatus(Options{})
	m.TableChanged(parcel, bridge.TableLoading, 1, nil)
	load := func() *LoadStatus { return m.Status().Tables[0].Load }
	m.Loaded(parcel, bridge.LoadProgress{State: checkpoint.LoadRunning, Done: 500, Total: 1000}) // resumed: 500 came before
	if l := load(); l.SecondsLeft != nil {
		t.Error("the time left is known before anything moved:", *l.SecondsLeft)
	}
	c.advance(10 * time.Second)
	m.Loaded(parcel, bridge.LoadProgress{State: checkpoint.LoadRunning, Rows: 100, Done: 600, Total: 1000})
	if l := load(); l.SecondsLeft == nil || *l.SecondsLeft != 40 {
		t.Errorf("%+v", l)
	}
	m.Loaded(parcel, bridge.LoadProgress{State: checkpoint.LoadDone, Rows: 400, Done: 1000, Total: 1000})
	if l := load(); l.EndedAt == nil || !l.EndedAt.Equal(c.at) || l.SecondsLeft != nil {
		t.Errorf("%+v", l)
	}
	c.advance(time.Hour)
	m.Loaded(parcel, bridge.LoadProgress{State: checkpoint.LoadRunning, Done: 0, Total: 900})
	if l := load(); l.EndedAt != nil || !l.StartedAt.Equal(c.at) {
		t.Errorf("a new load goes on with the times of the last: %+v", l)
	}
}

func TestMembership(t *testing.T) {
	t.Parallel()
	m, _ := newStatus(Options{})
	m.TableChanged(parcel, bridge.TableStreaming, 1, nil)
	m.Membership(func() Membership {
		return Membership{
			Shards:   []ShardStatus{{Number: 0, State: "active", Replica: "pod-0"}, {Number: 1, State: "active", Replica: "pod-1"}},
			Replicas: []ReplicaStatus{{ID: "pod-0", Self: true, Shards: []int{0}}, {ID: "pod-1", Shards: []int{1}}, {ID: "pod-2", Shards: []int{}}},
			ShardOf:  func(change.TableID) int { return 0 },
		}
	})
	if s := m.Status(); len(s.Shards) != 2 || len(s.Replicas) != 3 || s.Tables[0].Shard != 0 || *s.Shards[0].Tables != 1 || s.Shards[1].Tables != nil {
		t.Errorf("%+v", s)
	}
}

func TestStandby(t *testing.T) {
	t.Parallel()
	m, _ := newStatus(Options{})
	m.Membership(func() Membership {
		return Membership{Replicas: []ReplicaStatus{{ID: "pod-0", Shards: []int{0}}, {ID: "pod-1", Self: true, Shards: []int{}}}}
	})
	if s := m.Status(); s.State != StateStandby || len(s.Problems) > 0 {
		t.Errorf("%s %q", s.State, s.Problems)
	}
	m.SinkReachable(errors.New("away"))
	if s := m.Status(); s.State != StateAway {
		t.Errorf("%s %q", s.State, s.Problems)
	}
}

func TestPageFiles(t *testing.T) {
	t.Parallel()
	m, _ := newStatus(Options{})
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/status.css": "text/css; charset=utf-8", "/status.js": "text/javascript; charset=utf-8", "/api/status": "application/json"} {
		w := ask(t, m, path)
		h := w.Header()
		if h.Get("Content-Type") != kind || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'self'; ") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %q", path, policy)
		}
		if foreign := regexp.MustCompile(`(src|href)="(https?:)?//|url\(|@import|style="|onclick=`).FindString(w.Body.String()); foreign != "" {
			t.Errorf("%s holds %s", path, foreign)
		}
	}
	packed := ask(t, m, "/status.js", "Accept-Encoding: br, gzip")
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil || packed.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal(err, packed.Header())
	}
	if text, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(text, pageJS) {
		t.Error(err, len(text))
	}
}

// A thousand tables that all move: the document stays small enough for a phone, and cheap.
func TestStatusOfAThousandTables(t *testing.T) {
	t.Parallel()
	m, c := newStatus(Options{})
	fill(m, c, 1000)
	plain, packed := ask(t, m, "/api/status").Body.Len(), ask(t, m, "/api/status", "Accept-Encoding: gzip").Body.Len()
	t.Logf("%d bytes, packed %d", plain, packed)
	if plain > 1<<20 || packed > 200<<10 {
		t.Errorf("%d bytes, packed %d", plain, packed)
	}
}

func fill(m *Metrics, c *clock, tables int) {
	for step := range 60 {
		counts := map[bridge.CommitKey]int{}
		for i := range tables {
			id := change.TableID{Schema: "dbo", Name: fmt.Sprintf("table_%04d", i)}
			if step == 0 {
				m.TableChanged(id, bridge.TableStreaming, 1, nil)
				m.Reached(id, change.Position(fmt.Sprintf("20310510120000000%018d", i)))
			}
			counts[bridge.CommitKey{Table: id, Op: change.OpInsert}] = (i*31+step*17)%50 + 1
		}
		m.Committed(bridge.Commit{Counts: counts, Records: 1})
		c.advance(rateStep)
	}
}

func BenchmarkStatus(b *testing.B) {
	m, c := newStatus(Options{})
	fill(m, c, 1000)
	h := m.Handler()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/status", nil))
	}
}

func BenchmarkCommitted(b *testing.B) {
	m, c := newStatus(Options{})
	fill(m, c, 10)
	commit := bridge.Commit{Counts: map[bridge.CommitKey]int{}, Records: 20000}
	for i := range 10 {
		commit.Counts[bridge.CommitKey{Table: change.TableID{Schema: "dbo", Name: fmt.Sprintf("table_%04d", i)}, Op: change.OpInsert}] = 2000
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Committed(commit)
	}
}

// The runner writes while others read.
func TestStatusRace(t *testing.T) {
	t.Parallel()
	m := New(Options{StallTimeout: stall})
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 50 {
				exercise(m)
				m.Horizon("1")
				m.Reached(parcel, "1")
				m.RegistryReachable(nil)
				m.Membership(nil)
			}
		})
		work.Go(func() {
			for range 50 {
				if s := m.Status(); s.Totals.Tables != len(s.Tables) {
					t.Errorf("%d tables, %d counted", len(s.Tables), s.Totals.Tables)
				}
				w := httptest.NewRecorder()
				m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/status", nil))
				if !json.Valid(w.Body.Bytes()) {
					t.Error("not JSON")
				}
			}
		})
	}
	work.Wait()
}
