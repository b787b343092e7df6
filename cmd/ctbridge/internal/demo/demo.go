package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/show"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/sink/embedded"
)

// Options of a demo.
type Options struct {
	Rows     int           // ends after about so many changes; 0 = no limit
	Duration time.Duration // ends after so long; 0 = no limit
	Rate     float64       // changes per second; 0 = as fast as it goes
	Keep     string        // folder to work in and to keep; empty = a temporary one
	Format   string        // config.FormatAvro with the registry, or config.FormatJSON

	KafkaPort, RegistryPort int // the first ports to try; 0 = any

	Seed    uint64
	Version string
	Color   bool
	Width   func() int // columns of the terminal, 0 = it is none
	Log     *slog.Logger
}

// ErrFailed is the outcome of a demo whose checks failed.
var ErrFailed = errors.New("what arrived is not what was changed")

// demo is a running demo. Its parts are closed by those who opened them.
type demo struct {
	options   Options
	shop      *shop
	task      *wiring.Task
	consumer  *consumer
	ledger    *ledger
	console   *console
	workload  *workload
	addresses *addresses
	boundary  string // newest change sequence when the work ended
}

// Run runs a demo until its limits are reached or ctx ends, then waits for what is under way, and tells what went through. Its error is nil
// when everything arrived as it should, ErrFailed when it did not.
func Run(ctx context.Context, out io.Writer, o Options) (err error) {
	p, err := newPlace(o.Keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.remove()) }()
	servers, err := embedded.Start(embedded.Options{
		KafkaPort: o.KafkaPort, RegistryPort: o.RegistryPort, DataDir: p.broker(),
		NoRegistry: o.Format != config.FormatAvro && !p.keep, // what is kept may hold Avro from before
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	s, err := openShop(ctx, p.database())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	d := &demo{options: o, shop: s, ledger: newLedger(), workload: newWorkload(o.Seed)}
	closeAll, err := d.connect(p, servers, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	return d.run(ctx)
}

// connect builds the bridge and the consumer.
func (d *demo) connect(p *place, servers *embedded.Servers, out io.Writer) (closeAll func() error, err error) {
	o := &d.options
	task, err := p.writeConfig(o.Format, strings.Join(servers.Brokers(), ","), servers.RegistryURL())
	if err != nil {
		return nil, err
	}
	c, err := wiring.KafkaConfig(&task.Kafka)
	if err != nil {
		return nil, err
	}
	c.ClientID = "ctbridge-demo-consumer"
	history, err := openTopics(servers)
	if err != nil {
		return nil, err
	}
	decoder, closeRegistry, err := newDecoder(servers.RegistryURL(), o.Log)
	if err != nil {
		return nil, err
	}
	if d.task, err = wiring.New(task, o.Version, o.Log); err != nil {
		return nil, errors.Join(err, closeRegistry())
	}
	d.console = newConsole(out, decoder, o.Color, o.Width)
	d.consumer = &consumer{kafka: c, history: history, decoder: decoder, each: d.arrive}
	d.addresses = &addresses{place: p, brokers: task.Kafka.Brokers[0], registry: task.SchemaRegistry.URL, metrics: d.task.MetricsAddr()}
	return func() error { return errors.Join(d.task.Close(), closeRegistry()) }, nil
}

// openTopics makes the topics, so that they can be read before the bridge writes, and tells where those of an earlier demo end.
func openTopics(servers *embedded.Servers) (history map[string]int64, err error) {
	history = map[string]int64{}
	for _, t := range tables() {
		if known := servers.Cluster().PartitionInfo(t.name, 0); known != nil {
			history[t.name] = known.HighWatermark
		} else if err := servers.Cluster().CreateTopic(t.name, 1, nil); err != nil {
			return nil, fmt.Errorf("create topic %s: %w", t.name, err)
		}
	}
	return history, nil
}

// newDecoder builds what turns messages into JSON, with a registry client of its own.
func newDecoder(registry string, log *slog.Logger) (d *show.Decoder, closeRegistry func() error, err error) {
	if registry == "" {
		return show.NewDecoder(nil), func() error { return nil }, nil
	}
	section := config.Defaults().SchemaRegistry
	section.URL = registry
	client, err := wiring.NewRegistry(&section, nil, log)
	if err != nil {
		return nil, nil, err
	}
	return show.NewDecoder(client.ByID), client.Close, nil
}

// arrive enters a message into the accounts and shows it.
func (d *demo) arrive(ctx context.Context, a *arrival, m *show.Message) error {
	s, ok := d.ledger.arrive(a)
	if a.history || !ok {
		return nil
	}
	return d.console.message(ctx, a, m, s)
}

// run lets the parts work. The bridge and the consumer live on when ctx ends: what is committed by then has still to arrive.
func (d *demo) run(ctx context.Context) error {
	if err := d.console.intro(d.addresses); err != nil {
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	group, life := errgroup.WithContext(life)
	group.Go(func() error { return d.task.Run(life) })
	group.Go(func() error { return d.consumer.run(life) })
	group.Go(func() error {
		defer end()
		if err := d.work(ctx, life); err != nil && life.Err() == nil {
			return err
		}
		return d.settle(life)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return d.conclude(context.WithoutCancel(ctx))
}
