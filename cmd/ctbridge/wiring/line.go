package wiring

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"ctbridge/bridge"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/metrics"
	"ctbridge/source"
)

// line is what moves the tables of one shard, once: from the source to the sink, with connections of its own.
type line struct {
	engine   source.Engine
	sink     sink
	messages *messages
	control  *control
	poller   *source.Poller
	runner   *bridge.Runner
}

// newLine builds the line of a shard; it talks to nobody. Where may is set the line may work only while it is nil.
func newLine(t *config.Task, shard checkpoint.Shard, m *metrics.Metrics, o bridge.Observer, may func() error, log *slog.Logger) (*line, error) {
	l := &line{}
	if err := l.build(t, shard, m, o, may, log); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *line) build(t *config.Task, shard checkpoint.Shard, m *metrics.Metrics, o bridge.Observer, may func() error, log *slog.Logger) (err error) {
	t = shareOf(t)
	if l.engine, err = openEngine(&t.Source); err != nil {
		return err
	}
	if l.sink, err = newSink(t, shard, log); err != nil {
		return err
	}
	if may != nil {
		l.sink = &guard{sink: l.sink, may: may, records: t.Delivery == config.AtLeastOnce}
	}
	if l.messages, err = newMessages(t, m, log); err != nil {
		return err
	}
	if l.control, err = newControl(t, log); err != nil {
		return err
	}
	options := runnerOptions(t, l.messages, o, log)
	options.Shard, options.Requests = shard, l.control.requests
	if options.Values, err = Values(t); err != nil {
		return err
	}
	l.poller = newPoller(l.engine, t, m, log)
	l.runner = bridge.New(l.poller, l.sink, options)
	return nil
}

// rehearse finds out whether the line could run: it asks the neighbours what a start asks them, and changes nothing.
func (l *line) rehearse(ctx context.Context) error {
	if _, err := l.poller.Discover(ctx); err != nil {
		return err
	}
	if err := l.sink.Ping(ctx); err != nil {
		return err
	}
	if probe := l.messages.probe(); probe != nil {
		return probe(ctx)
	}
	return nil
}

// shareOf bounds what one shard of several may hold, because one replica may have to run all of them.
func shareOf(t *config.Task) *config.Task {
	n := t.ShardCount()
	if n == 1 {
		return t
	}
	share := *t
	share.Memory.MaxBytes = max(t.Memory.MaxBytes/config.Size(n), t.Kafka.MaxMessageBytes)
	share.Commit.MaxBytes = min(t.Commit.MaxBytes, share.Memory.MaxBytes)
	share.Source.Horizon.LookbackRows = max(t.Source.Horizon.LookbackRows/n, 1)
	share.FullLoad.ParallelTables = max(t.FullLoad.ParallelTables/n, 1)
	if t.FullLoad.RowsPerSecond > 0 {
		share.FullLoad.RowsPerSecond = max(t.FullLoad.RowsPerSecond/n, 1)
	}
	share.Source.MaxConnections = max(t.Source.MaxConnections/n, min(2, t.Source.MaxConnections))
	return &share
}

// run moves changes until ctx ends, then drains.
func (l *line) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	listening, stopListening := context.WithCancel(ctx)
	group.Go(func() error {
		l.control.run(listening)
		return nil
	})
	group.Go(func() error {
		defer stopListening()
		return l.runner.Run(ctx)
	})
	return group.Wait()
}

// Close lets go of the neighbours.
func (l *line) Close() error {
	var errs []error
	if l.sink != nil {
		errs = append(errs, l.sink.Close())
	}
	if l.engine != nil {
		errs = append(errs, l.engine.Close())
	}
	if l.messages != nil {
		errs = append(errs, l.messages.Close())
	}
	return errors.Join(errs...)
}
