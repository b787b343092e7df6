package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

// TruncatePolicy says what to do with a TRUNCATE, for which no message has a symbol.
type TruncatePolicy string

// The truncate policies.
const (
	TruncateSkip TruncatePolicy = "skip" // leave it out, logged and counted (default)
	TruncateFail TruncatePolicy = "fail" // stop the table

	// TruncateMarker publishes a message of type TRUNCATE on the metadata topic.
	TruncateMarker TruncatePolicy = "marker"
)

// The reasons under which dropped rows are counted.
const (
	DroppedTruncate  = "truncate"  // skipped TRUNCATE rows
	DroppedDuplicate = "duplicate" // rows of positions that were published before
	DroppedUnchanged = "unchanged" // updates of columns that are not published
)

// Options of a runner. Durations and limits must be set; package config has the defaults.
type Options struct {
	Task            string
	Shard           checkpoint.Shard // whose tables are moved; zero = all tables of the task
	PollInterval    time.Duration
	Rediscover      time.Duration // how often tables are looked for
	StartupTimeout  time.Duration // how long the neighbours may stay away at the start
	ShutdownTimeout time.Duration // how long a drain may take (I8)
	RetryPause      time.Duration // first pause after an error, then doubled up to 10 s; 0 = 200 ms
	CommitRecords   int           // records per commit at most
	CommitBytes     int           // bytes per commit at most
	MaxRecordBytes  int           // a larger record stops its table
	LookbackFor     time.Duration // see checkpoint.Window
	LookbackRows    int           // over all tables
	Truncate        TruncatePolicy
	OnReset         ResetPolicy
	BadRows         BadRows
	GapMarker       bool          // publish holes on the metadata topic
	Deduplicate     time.Duration // a position is published once within this time; 0 = as often as it is there. LookbackFor covers it
	Load            LoadOptions
	Start           StartAt
	Requests        <-chan Request // of people, in the order of their numbers; nil = none

	Values       *values.Rules // what users decide about columns; nil = nothing
	Outputs      []Output      // one at least
	Headers      Format        // encodes record headers; nil where no envelope has any
	OwnTopics    []string      // of the task itself (metadata, checkpoint): no table may use them
	NoticesFirst bool          // commit metadata before the records that need it: the sink's records become visible one by one

	// Probe asks what else must answer before the task counts as started, such as a schema registry; nil = nothing. Later it is not asked.
	Probe func(ctx context.Context) error
	// Unused lists the entries of the table choice that none of the tables comes from, most likely misspelled; nil = nobody asks.
	Unused func(tables []change.TableID) []string

	Observer Observer
	Log      *slog.Logger
	Now      func() time.Time
}

// Source is what the runner reads from; *source.Poller is one.
type Source interface {
	Discover(ctx context.Context) (source.Discovery, error)
	Poll(ctx context.Context, tables []source.Progress) (*source.Window, error)
	Read(ctx context.Context, w *source.Window) *source.Merge
	PeekBeyond(ctx context.Context, w *source.Window) (change.Position, []byte, error)
	Under(t *source.Captured, earlier *change.Table, memo []byte) (*source.Captured, error)
	FirstDDL(ctx context.Context, t *source.Captured, after change.Position) (change.Position, bool, error)
	Forget(id change.TableID)
	Chunks(t *source.Captured, where string) (*source.Chunks, error)
	Since(ctx context.Context, t *source.Captured, at time.Time) (change.Position, error)
	Recently(ctx context.Context, t *source.Captured, upto change.Position, most int) (floor change.Position, positions []change.Position, err error)
	Memory() []byte
	Recall(memory []byte) error
}

// Settling is a source whose rows become readable when they have been there for a while.
type Settling interface {
	// Glance begins that while for what is there now, of those tables. It is called before the first poll, if at all.
	Glance(ctx context.Context, of func(change.TableID) bool) error
	// Due is how long it takes until the next rows become readable, 0 where that is not known.
	Due() time.Duration
}

// Runner moves changes from a source to a sink.
type Runner struct {
	options Options
	source  Source
	sink    Sink

	// All of these belong to the goroutine of Run, and are rebuilt from the checkpoint after any error (I11).
	state      *checkpoint.State
	tables     map[change.TableID]*table
	order      []*table // tables sorted by id
	sequencer  sequencer
	bounds     []*bounds // of each output, nil for one without; nil where no output has any
	changes    changeSequences
	batch      batch
	sealed     sealed
	clock      clock
	latest     *table       // see tableOf
	skipped    []skippedRow // left out behind the event that is held back
	kept       kept
	handed     change.Position // of the row that was handed over last
	unnumbered bool            // rows are replayed: they take no part in the counters of their transactions
	discovered time.Time
	interval   time.Duration // from discovered to the next time, with jitter
	polled     []*table      // parallel to the tables of the last poll
	asking     []source.Progress
	windows    []*checkpoint.Window // memory of expireLookback
	unsaved    bool                 // the checkpoint must learn something although no row is published
	passFailed error                // of passMeanwhile, told already
	passing    time.Time            // since when positions wait that have only moved past rows left out by filters
	loads      *loads
	names      map[named][]string // subjects of tables
	horizon    change.Position    // of the last poll
	started    bool               // everything has answered once

	letters  letters
	refusals map[change.TableID]int      // sessions that the condition of a load has ended
	requests []Request                   // not answered yet; they outlive a session
	troubles map[change.TableID]*trouble // failed tables; they outlive a session

	facts facts // of the source

	toldResets map[string]bool // by id: a session that fails before its commit carries them out again
}

// New builds a runner; it starts nothing.
func New(src Source, sink Sink, o Options) *Runner {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Runner{options: o, source: src, sink: sink, troubles: make(map[change.TableID]*trouble), refusals: make(map[change.TableID]int), toldResets: make(map[string]bool), letters: newLetters()}
}

// Run moves changes until ctx ends, then drains: what has been read is published and checkpointed within the shutdown time-out (I8). It
// returns nil after a drain and an error when the task cannot go on (fault.Fatal, fault.Config), or when the neighbours did not
// answer within the start-up time-out.
func (r *Runner) Run(ctx context.Context) error {
	begin := r.options.Now()
	pause := backoff{least: cmp.Or(r.options.RetryPause, 200*time.Millisecond), most: 10 * time.Second}
	for {
		moved, err := r.session(ctx)
		if ctx.Err() != nil {
			return drained(err)
		}
		class := fault.ClassOf(err)
		if class == fault.Fatal || class == fault.Config {
			return err
		}
		if !r.started && r.options.Now().Sub(begin) >= r.options.StartupTimeout {
			return fmt.Errorf("not started within source.startup_timeout (%s): %w", r.options.StartupTimeout, err)
		}
		if moved || r.letters.learned { // what the sink refuses for good is not sent again: that is progress
			pause.reset()
		}
		wait := pause.next()
		r.options.Log.Warn("cycle failed, starting again from the checkpoint", "error", err, "class", class.String(), "pause", wait)
		sleep(ctx, wait)
	}
}

// drained is what a session ended by a stop leaves of its error: a failed last commit is repeated by the next start, but it is told.
func drained(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return fmt.Errorf("while draining: %w", err)
}

// session opens the sink, takes over its checkpoint and cycles until something fails. moved tells that at least one commit was made.
func (r *Runner) session(ctx context.Context) (moved bool, err error) {
	// The last batch is still to be committed when ctx ends: the work goes on for the shutdown time-out.
	work, cancel := graceful(ctx, r.options.ShutdownTimeout)
	defer cancel()
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abort(work))
		}
	}()
	if err := r.open(work); err != nil {
		return false, err
	}
	defer r.openLoads(ctx)()
	for {
		if err := r.rediscover(ctx); err != nil {
			return moved, err
		}
		progress, err := r.cycle(ctx, work)
		moved = moved || progress.committed
		if err != nil || ctx.Err() != nil {
			return moved, err
		}
		r.heal()
		loaded, err := r.load(ctx, work)
		moved = moved || loaded
		if err != nil || ctx.Err() != nil {
			return moved, err
		}
		if !progress.more && !loaded {
			r.rest(ctx, r.pause())
		}
	}
}

// open loads the checkpoint from durable truth and forgets everything else (I11).
func (r *Runner) open(ctx context.Context) error {
	defer r.glance(ctx)()
	entries, err := r.sink.Open(ctx)
	r.options.Observer.SinkReachable(err)
	if err != nil {
		return r.fail(StageCheckpoint, err)
	}
	if r.state, err = checkpoint.Decode(entries, r.options.Shard, r.options.Now()); err != nil {
		return r.fail(StageCheckpoint, err)
	}
	if err := r.source.Recall(r.state.Layout); err != nil {
		return r.fail(StageCheckpoint, err)
	}
	r.takeOver()
	r.tables, r.order, r.discovered = make(map[change.TableID]*table), nil, time.Time{}
	r.takeResets()
	outputs := r.options.outputNames()
	r.state.SetOutputs(outputs)
	r.sequencer = newSequencer(outputs, r.state.Task.Transactions)
	r.changes = changeSequences{last: []byte(r.state.Task.Sequence)}
	r.sealed = sealed{}
	r.batch, r.skipped, r.names, r.passing = batch{}, nil, make(map[named][]string), time.Time{}
	r.kept, r.handed, r.latest, r.clock = kept{}, "", nil, clock{}
	r.letters.forget()
	if topic := r.options.BadRows.Topic; topic != "" {
		if err := r.sink.EnsureTopic(ctx, topic, change.DeadLetterTopic); err != nil {
			return r.fail(StagePublish, err)
		}
	}
	r.bounds = newBounds(r.options.Outputs)
	for i := range r.options.Outputs {
		for _, topic := range []string{r.options.Outputs[i].MetadataTopic, r.options.Outputs[i].BoundsTopic} {
			if topic == "" {
				continue
			}
			if err := r.sink.EnsureTopic(ctx, topic, change.MetadataTopic); err != nil {
				return r.fail(StagePublish, err)
			}
		}
	}
	if r.options.Probe != nil && !r.started {
		if err := r.options.Probe(ctx); err != nil {
			return r.fail(StageRender, err)
		}
	}
	return nil
}

func (r *Runner) abort(ctx context.Context) error {
	r.batch.reset()
	if err := r.sink.Abort(ctx); err != nil {
		// The next Open starts from the checkpoint whatever Abort could do; only a fenced sink must stop the task.
		if fault.ClassOf(err) == fault.Fatal {
			return err
		}
		r.options.Log.Debug("abort", "error", err)
	}
	return nil
}

// fail reports an error of a stage and hands it on.
func (r *Runner) fail(stage Stage, err error) error {
	r.options.Observer.Failed(stage, fault.ClassOf(err), err)
	switch stage {
	case StageDiscover, StagePoll, StageLoad:
		r.options.Observer.SourceReachable(err)
	case StagePublish, StageCheckpoint:
		r.options.Observer.SinkReachable(err)
	case StageRender:
	}
	return err
}

// graceful gives a context that ends a while after its parent does.
func graceful(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(drainTime(ctx, grace), cancel) })
	return out, func() { stop(); cancel() }
}

// sleep waits, or returns early when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// jitter spreads a pause by a tenth, so that many tasks do not poll one server in step.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d - d/20 + time.Duration(rand.Int64N(int64(d)/10+1))
}

// backoff doubles a pause from least to most.
type backoff struct{ least, most, now time.Duration }

func (b *backoff) reset() { b.now = 0 }

func (b *backoff) next() time.Duration {
	b.now = min(max(b.now*2, b.least), b.most)
	return jitter(b.now)
}
