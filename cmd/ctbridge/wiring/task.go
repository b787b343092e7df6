package wiring

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/redact"
	"ctbridge/metrics"
	"ctbridge/schema"
)

// Task is a configured task, ready to run.
type Task struct {
	replica *replica
	server  *metrics.Server // nil where metrics.listen is empty
}

// New builds a task. It talks to nobody but the local file system; the address of the metrics is taken, so that a taken port shows before
// anything else starts. Loads hear of the progress of full loads.
func New(t *config.Task, version string, log *slog.Logger, loads ...LoadListener) (*Task, error) {
	m := metrics.New(metrics.Options{
		Version: version, Task: t.Name, Replica: replicaName(), Source: t.Source.Engine, StallTimeout: t.Health.StallTimeout, Redact: redact.Text,
		Registry: t.Format == config.FormatAvro && t.SchemaRegistry.Enabled(),
	})
	r, err := newReplica(t, m, loads, log)
	if err != nil {
		return nil, err
	}
	out := &Task{replica: r}
	if t.Metrics.Listen == "" {
		return out, nil
	}
	handler := m.Handler()
	if t.Metrics.Profiling {
		handler = metrics.WithProfiles(handler)
	}
	out.server = metrics.NewServer(t.Metrics.Listen, handler, guardOf(&t.Metrics))
	if err := out.server.Listen(); err != nil {
		return nil, err
	}
	return out, nil
}

// replicaName is what people call this process by, in a cluster the name of the pod.
func replicaName() string {
	name, err := os.Hostname()
	if err != nil {
		return "this process"
	}
	return name
}

// LoadListener hears of the progress of full loads.
type LoadListener interface {
	Loaded(table change.TableID, p bridge.LoadProgress)
}

// listening is the metrics of a shard with others who listen to loads.
type listening struct {
	*metrics.Shard
	loads []LoadListener
}

// Loaded tells the metrics and the listeners.
func (l listening) Loaded(table change.TableID, p bridge.LoadProgress) {
	l.Shard.Loaded(table, p)
	for _, listener := range l.loads {
		listener.Loaded(table, p)
	}
}

// guardOf says who may ask for metrics and status.
func guardOf(m *config.Metrics) metrics.Guard {
	return metrics.Guard{
		Username: m.BasicAuth.Username, Password: m.BasicAuth.Password.Reveal(),
		CertFile: m.TLS.CertFile, KeyFile: m.TLS.KeyFile, ClientCAFile: m.TLS.ClientCAFile,
	}
}

func runnerOptions(t *config.Task, messages *messages, observer bridge.Observer, log *slog.Logger) bridge.Options {
	o := bridge.Options{
		Task: t.Name, PollInterval: t.Source.PollInterval, Rediscover: t.Source.RediscoverInterval,
		StartupTimeout: t.Source.StartupTimeout, ShutdownTimeout: t.ShutdownTimeout,
		CommitRecords: t.Commit.MaxRecords, CommitBytes: int(t.Commit.MaxBytes), MaxRecordBytes: int(t.Kafka.MaxMessageBytes) - recordFraming,
		LookbackFor: lookback(t), LookbackRows: t.Source.Horizon.LookbackRows, Truncate: bridge.TruncatePolicy(t.Source.Qlik.Truncate),
		OnReset: bridge.ResetPolicy(t.Source.OnReset), GapMarker: t.Source.GapMarker, Deduplicate: t.Source.Deduplicate,
		Probe: messages.probe(), Unused: unusedEntries(t.Source.Tables), Headers: schema.JSON{}, Observer: observer, Log: log, Now: time.Now,
	}
	o.Outputs = messages.outputs
	load := &t.FullLoad
	o.Load = bridge.LoadOptions{Mode: bridge.LoadMode(load.Mode), ChunkRows: load.ChunkRows, Parallel: load.ParallelTables, RowsPerSecond: load.RowsPerSecond}
	o.Start = startAt(t.Source.StartAt.Start())
	o.OwnTopics = append(o.OwnTopics, t.Kafka.ControlTopic, t.BadRecords.Topic, t.BadRecords.ReplayTopic)
	if b := &t.BadRecords; b.Policy == config.BadDeadLetter {
		o.BadRows = bridge.BadRows{Topic: b.Topic, Bytes: t.LetterBytes() - recordFraming, Most: b.MaxPerTable, Window: b.Window}
	}
	if load.Mode == config.FullLoadWhenNeeded {
		o.OnReset = bridge.ResetResnapshot
	}
	for i := range o.Outputs {
		if topic := o.Outputs[i].BoundsTopic; topic != "" {
			o.OwnTopics = append(o.OwnTopics, topic)
		}
		if topic := o.Outputs[i].MetadataTopic; topic != "" {
			o.OwnTopics = append(o.OwnTopics, topic)
			o.NoticesFirst = t.Delivery == config.AtLeastOnce
		}
	}
	if t.Replicated() {
		o.OwnTopics = append(o.OwnTopics, t.HighAvailability.Topic)
	}
	if t.Checkpoint.Store == config.StoreKafka {
		o.OwnTopics = append(o.OwnTopics, t.Checkpoint.Topic)
	}
	return o
}

// unusedEntries leaves exclusions out: none of the tables that are read comes from one.
func unusedEntries(patterns config.TablePatterns) func([]change.TableID) []string {
	return func(tables []change.TableID) []string {
		return slices.DeleteFunc(patterns.Unused(tables), func(entry string) bool { return strings.HasPrefix(entry, "!") })
	}
}

// recordFraming is what a batch of one record needs beside its key and value.
const recordFraming = 128

// MetricsAddr is the address of the metrics, empty where they are off.
func (k *Task) MetricsAddr() string {
	if k.server == nil {
		return ""
	}
	return k.server.Addr().String()
}

// Run moves changes until ctx ends, then drains. It serves the metrics as long.
func (k *Task) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	served, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer stopServing() // until the drain has ended, so that it can be watched
		return k.replica.Run(ctx)
	})
	if k.server != nil {
		group.Go(func() error { return k.server.Serve(served) })
	}
	return group.Wait()
}

// Membership tells who shares the task; it asks the brokers.
func (k *Task) Membership(ctx context.Context) (Membership, error) { return k.replica.membership(ctx) }

// Close gives back the address of the metrics, where Run was never called. Everything else belongs to Run.
func (k *Task) Close() error {
	if k.server == nil {
		return nil
	}
	return k.server.Close()
}
