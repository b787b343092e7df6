package bridge_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/layouttest"
	"ctbridge/source/qlikct"
	"ctbridge/source/sqlite"
	"ctbridge/test/qlikwriter"
)

// ledger is a sink in memory that keeps the contract of bridge.Sink to the letter and can be told to fail.
type ledger struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced after every commit

	records []string // committed
	entries map[string][]byte
	pending []string
	open    bool
	failed  error // what ended the session
	commits int

	behind  int  // commits beside the next round
	closing bool // one is not settled
	life    int  // number of the session
	topics  map[string]change.TopicRole

	// onPublish and onCommit may fail a call; the number counts calls since the ledger was made.
	onPublish func(n int, r *change.Record) error
	onCommit  func(n int) error
	onTopic   func(name string) error
	onOpen    func() error
	published int
	asked     int
}

func newLedger() *ledger {
	return &ledger{entries: make(map[string][]byte), topics: make(map[string]change.TopicRole), changed: make(chan struct{})}
}

func (l *ledger) Open(context.Context) (map[string][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onOpen != nil {
		if err := l.onOpen(); err != nil {
			return nil, err
		}
	}
	l.open, l.pending, l.failed = true, nil, nil
	out := make(map[string][]byte, len(l.entries))
	for k, v := range l.entries {
		out[k] = v
	}
	return out, nil
}

func (l *ledger) EnsureTopic(_ context.Context, name string, role change.TopicRole) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.onTopic != nil {
		if err := l.onTopic(name); err != nil {
			return err
		}
	}
	l.topics[name] = role
	return nil
}

func (l *ledger) EnsureTopics(ctx context.Context, names []string, role change.TopicRole) (map[string]error, error) {
	refused := make(map[string]error)
	for _, name := range names {
		if err := l.EnsureTopic(ctx, name, role); err != nil {
			refused[name] = err
		}
	}
	return refused, nil
}

var errClosed = errors.New("the sink was used after an error without Open")

func (l *ledger) Publish(_ context.Context, r *change.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if !l.open {
		return fault.New(fault.Fatal, "", errClosed, "")
	}
	l.published++
	if l.onPublish != nil {
		if err := l.onPublish(l.published, r); err != nil {
			l.open = false
			return err
		}
	}
	line := r.Topic + " " + string(r.Key) + " " + string(r.Value)
	if r.Value == nil {
		line += "tombstone"
	}
	for _, h := range r.Headers {
		line += " " + h.Name + "=" + string(h.Value)
	}
	l.pending = append(l.pending, line)
	return nil
}

func (l *ledger) Commit(_ context.Context, entries []checkpoint.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	round := l.pending
	l.pending = nil
	return l.commit(round, entries)
}

// CommitBehind commits at once or when it is settled, by turns: both can happen before an Abort.
func (l *ledger) CommitBehind(_ context.Context, entries []checkpoint.Entry) (func(context.Context) (time.Time, error), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, fault.New(fault.Fatal, "", errors.New("a commit is not settled yet"), "")
	}
	round, done, life := l.pending, false, l.life
	l.pending, l.closing = nil, true
	var err error
	if l.behind++; l.behind%2 == 0 {
		err, done = l.commit(round, entries), true
	}
	return func(context.Context) (time.Time, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if life != l.life {
			return time.Now(), fault.New(fault.Fatal, "", errors.New("settled after the end of its session"), "")
		}
		l.closing = false
		if !done {
			err = l.commit(round, entries)
		}
		return time.Now(), err
	}, nil
}

func (l *ledger) commit(round []string, entries []checkpoint.Entry) error {
	if !l.open {
		return fault.New(fault.Fatal, "", errClosed, "")
	}
	l.asked++
	if l.onCommit != nil {
		if err := l.onCommit(l.asked); err != nil {
			l.open, l.failed = false, err
			return err
		}
	}
	l.records = append(l.records, round...)
	for _, e := range entries {
		if e.Value == nil {
			delete(l.entries, e.Key)
		} else {
			l.entries[e.Key] = e.Value
		}
	}
	l.commits++
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

func (l *ledger) Abort(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open, l.pending, l.closing = false, nil, false
	l.life++
	return nil
}

func (l *ledger) Close() error { return nil }

// wait blocks until the committed records satisfy a condition.
func (l *ledger) wait(t testing.TB, what string, done func(records []string) bool) []string {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		l.mu.Lock()
		records, changed := append([]string(nil), l.records...), l.changed
		l.mu.Unlock()
		if done(records) {
			return records
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("no %s after 20 s; committed:\n%s", what, strings.Join(records, "\n"))
		}
	}
}

func count(n int) func([]string) bool { return func(r []string) bool { return len(r) >= n } }

// lines is a format whose encoding is one readable line per event: operation, sequence number, counter, last flag, row. The row text
// "poison" cannot be rendered.
type lines struct{ fail func(topic string) error }

type lineEncoder struct{ key bool }

func (f lines) Value(_ context.Context, topic string, _ *envelope.Node) (bridge.Encoder, error) {
	if f.fail != nil {
		if err := f.fail(topic); err != nil {
			return nil, err
		}
	}
	return lineEncoder{}, nil
}

func (f lines) Key(context.Context, string, *envelope.Node) (bridge.Encoder, error) {
	return lineEncoder{key: true}, nil
}

func (e lineEncoder) Append(dst []byte, ev *change.Event) ([]byte, error) {
	if ev.Op == 0 {
		return fmt.Appendf(dst, "metadata v%d", ev.Table.Version), nil
	}
	line := layouttest.Line(ev)
	if strings.Contains(line, "poison") {
		return dst, errors.New("the value cannot be rendered")
	}
	return fmt.Appendf(dst, "%s #%d %v v%d", line, ev.Counter, ev.Last, ev.Table.Version), nil
}

// plain is an envelope without shape; with split, a key change becomes two events.
type plain struct{ split bool }

func (plain) Declare(t *change.Table) (*envelope.Declaration, error) {
	return &envelope.Declaration{SchemaID: fmt.Sprint("v", t.Version), Value: &envelope.Node{}, Metadata: []envelope.Notice{{Key: []byte(t.ID.String()), Value: &envelope.Node{}}}}, nil
}

func (p plain) Expand(dst []*change.Event, ev *change.Event) []*change.Event {
	if !p.split || ev.Op != change.OpUpdate || ev.Before == nil || ev.Before[0].Equal(ev.After[0]) {
		return append(dst, ev)
	}
	gone, come := *ev, *ev
	gone.Op, gone.After = change.OpDelete, nil
	come.Op, come.Before = change.OpInsert, nil
	return append(dst, &gone, &come)
}

// silent observes nothing; late and dropped rows and states are remembered.
type observed struct {
	mu      sync.Mutex
	late    int
	dropped map[string]int
	states  map[string]bridge.TableState
	loaded  map[string][]bridge.LoadProgress
	reached map[string][]change.Position
	errors  map[string]string
	gaps    []string

	letters, published int // committed

	polls     int
	polledNow chan struct{} // closed and replaced after every poll

	changed chan struct{}
}

func newObserved() *observed {
	return &observed{dropped: make(map[string]int), states: make(map[string]bridge.TableState), loaded: make(map[string][]bridge.LoadProgress), errors: make(map[string]string), reached: make(map[string][]change.Position), changed: make(chan struct{}), polledNow: make(chan struct{})}
}

func (o *observed) Polled(time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.polls++
	close(o.polledNow)
	o.polledNow = make(chan struct{})
}

func (*observed) RowsRead(change.TableID, int) {}
func (o *observed) Committed(c bridge.Commit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range c.DeadLetters {
		o.letters += n
	}
	for _, n := range c.Counts {
		o.published += n
	}
}
func (*observed) Lag(change.TableID, time.Duration)       {}
func (*observed) Failed(bridge.Stage, fault.Class, error) {}
func (*observed) SourceReachable(error)                   {}
func (*observed) SinkReachable(error)                     {}
func (*observed) Pending(bool)                            {}
func (*observed) Horizon(change.Position)                 {}
func (o *observed) Loaded(id change.TableID, p bridge.LoadProgress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loaded[id.Name] = append(o.loaded[id.Name], p)
}
func (o *observed) Reached(id change.TableID, position change.Position) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reached[id.Name] = append(o.reached[id.Name], position)
}
func (o *observed) Late(_ change.TableID, n int) { o.mu.Lock(); o.late += n; o.mu.Unlock() }
func (o *observed) Dropped(_ change.TableID, why string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped[why] += n
	close(o.changed)
	o.changed = make(chan struct{})
}

// waitDropped waits until so many rows were left out for a reason.
func (o *observed) waitDropped(t testing.TB, why string, want int) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		o.mu.Lock()
		n, changed := o.dropped[why], o.changed
		o.mu.Unlock()
		if n == want {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d rows left out as %s after 20 s, want %d", n, why, want)
		}
	}
}

func (o *observed) Gap(id change.TableID, gap bridge.Gap) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gaps = append(o.gaps, fmt.Sprintf("%s %s", id.Name, gap))
}

func (o *observed) TableChanged(id change.TableID, state bridge.TableState, _ int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.states[id.Name] = state
	o.errors[id.Name] = fmt.Sprint(err)
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *observed) waitState(t testing.TB, table string, want bridge.TableState) string {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		o.mu.Lock()
		state, err, changed := o.states[table], o.errors[table], o.changed
		o.mu.Unlock()
		if state == want {
			return err
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("table %s is %q (%s) after 20 s, want %q", table, state, err, want)
		}
	}
}

// world is a SQLite source with a writer, a ledger and a bridge between them.
type world struct {
	testing.TB
	writer   *qlikwriter.Writer
	engine   source.Engine
	ledger   *ledger
	observed *observed
	options  bridge.Options
	source   source.Options
	layout   qlikct.Options
}

func newWorld(t testing.TB) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "changes.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	engine, err := sqlite.Open(sqlite.Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(); db.Close() })
	w := &world{TB: t, engine: engine, ledger: newLedger(), observed: newObserved(), writer: &qlikwriter.Writer{DB: db, Dialect: qlikwriter.SQLite}}
	w.source = source.Options{Horizon: source.HorizonOptions{Policy: source.PolicySnapshot}, PageRows: 7, Parallel: 2, MaxBytes: 1 << 20, Lookback: time.Minute, CheckEach: time.Millisecond}
	w.layout = qlikct.Options{Tables: layouttest.All{}}
	w.options = bridge.Options{
		Task: "test", RetryPause: time.Millisecond, PollInterval: time.Millisecond, Rediscover: time.Minute, StartupTimeout: 20 * time.Second, ShutdownTimeout: 10 * time.Second,
		CommitRecords: 5, CommitBytes: 1 << 20, MaxRecordBytes: 1 << 20, LookbackFor: time.Minute, LookbackRows: 1000, Truncate: bridge.TruncateSkip,
		Outputs: []bridge.Output{{
			Topic:   func(id change.TableID) (string, error) { return id.Name, nil },
			KeyMode: envelope.KeyPrimaryKey, Envelope: plain{}, Format: lines{}, Notices: lines{},
		}},
		Observer: w.observed, Log: slog.New(slog.DiscardHandler),
	}
	return w
}

// output is the first of the task.
func (w *world) output() *bridge.Output { return &w.options.Outputs[0] }

func (w *world) runner() *bridge.Runner {
	layout := qlikct.New(w.engine, w.layout, slog.New(slog.DiscardHandler))
	return bridge.New(source.NewPoller(w.engine, layout, w.source), w.ledger, w.options)
}

// ends runs the bridge, which must end by itself with an error.
func (w *world) ends(want string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := w.runner().Run(ctx); err == nil || !strings.Contains(err.Error(), want) {
		w.Fatalf("run ended with %v, want %q", err, want)
	}
}

// start runs the bridge; stop drains it and returns its error.
func (w *world) start() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	runner := w.runner()
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	w.Cleanup(func() { stop() })
	return stop
}

func (w *world) create(tables ...string) {
	w.Helper()
	for _, t := range tables {
		w.writer.Create(w, qlikwriter.Parcel(t))
	}
}

// add writes one committed row of transaction tx.
func (w *world) add(table, oper string, n int, tx string, id any, status string) {
	w.Helper()
	w.writer.Add(w, w.writer.DB, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: oper, Tx: tx, Values: []any{id, status, nil}})
}

func (w *world) want(got []string, want ...string) {
	w.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
