package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/show"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/sink/kafka"
)

// tailFlags are the options of tail.
type tailFlags struct {
	file     string
	brokers  []string
	topics   []string
	metadata string
	registry string
	from     string
	key      string
	format   string
	limit    int
	exit     bool
	byKey    bool
}

func (a *app) tailCommand() *cobra.Command {
	var f tailFlags
	c := &cobra.Command{
		Use:   "tail --topic NAME",
		Short: "Print decoded messages from Kafka",
		Long: `Print decoded messages from Kafka: JSON, Avro of a schema registry, and Avro in the binary envelope. Only committed messages are read.

Without --config the brokers are reached without encryption or login; with it, the kafka and schema_registry sections of the task count.`,
		Example: "  ctbridge tail --brokers localhost:9092 --topic shop.parcel --from beginning\n  ctbridge tail --config orders.yaml --topic dbo.orders --key 17 --format json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.byKey = cmd.Flags().Changed("key")
			if err := f.check(); err != nil {
				return usagef(cmd, "%w", err)
			}
			return a.tail(cmd.Context(), &f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.file, "config", "", "configuration file of a task: its brokers, registry and metadata topic")
	flags.StringSliceVar(&f.brokers, "brokers", nil, "host:port of some brokers")
	flags.StringArrayVar(&f.topics, "topic", nil, "topic to read; repeat it for more")
	flags.StringVar(&f.metadata, "metadata-topic", "", "topic whose metadata messages are read first, for Avro without a registry")
	flags.StringVar(&f.registry, "registry", "", "URL of the schema registry")
	flags.StringVar(&f.from, "from", "", "beginning or end (default end, with --exit beginning)")
	flags.StringVar(&f.key, "key", "", "only messages with this key, as it is printed")
	flags.StringVar(&f.format, "format", "pretty", "pretty: for people; json: one line a message")
	flags.IntVar(&f.limit, "limit", 0, "stop after so many messages (0 = no limit)")
	flags.BoolVar(&f.exit, "exit", false, "stop at the present end of the topics")
	return c
}

// check looks for what is missing or impossible and fills in the default of --from.
func (f *tailFlags) check() error {
	if f.from == "" {
		f.from = map[bool]string{true: "beginning", false: "end"}[f.exit]
	}
	switch {
	case len(f.topics) == 0:
		return errors.New("--topic is needed")
	case f.file == "" && len(f.brokers) == 0:
		return errors.New("--brokers or --config is needed")
	case f.from != "beginning" && f.from != "end":
		return fmt.Errorf("--from %q is not one of beginning, end", f.from)
	case f.format != "pretty" && f.format != "json":
		return fmt.Errorf("--format %q is not one of pretty, json", f.format)
	case f.limit < 0:
		return fmt.Errorf("--limit %d is negative", f.limit)
	}
	return nil
}

// tailer is one running tail.
type tailer struct {
	flags   *tailFlags
	kafka   kafka.Config
	decoder *show.Decoder
	printer *show.Printer
	printed int
}

func (a *app) tail(ctx context.Context, f *tailFlags) error {
	t, closeRegistry, err := a.newTailer(f)
	if err != nil {
		return err
	}
	defer closeRegistry()
	if err := t.readMetadata(ctx); err != nil {
		return err
	}
	from := map[string]int64{"beginning": kafka.FromStart, "end": kafka.FromEnd}[f.from]
	err = kafka.Tail(ctx, t.kafka, kafka.TailOptions{Topics: f.topics, From: from, Exit: f.exit}, func(m *kafka.Message) error { return t.print(ctx, m) })
	stopped := ctx.Err() != nil && !f.exit // by the one who watches
	if err != nil && !stopped && !errors.Is(err, errEnough) {
		return err
	}
	if n := t.printer.Undecoded(); n > 0 {
		return fmt.Errorf("%d of %d messages could not be decoded", n, t.printed)
	}
	return nil
}

// newTailer puts flags over the configuration file.
func (a *app) newTailer(f *tailFlags) (*tailer, func(), error) {
	task := config.Defaults()
	if f.file != "" {
		var err error
		if task, err = a.load(f.file); err != nil {
			return nil, nil, err
		}
		for i := range task.Envelopes {
			if o := &task.Envelopes[i]; f.metadata == "" && o.Format == config.FormatAvro && o.HasMetadataTopic() {
				f.metadata = o.MetadataTopic
			}
		}
	}
	if len(f.brokers) > 0 {
		task.Kafka.Brokers = f.brokers
	}
	task.Kafka.ClientID = "ctbridge-tail"
	if f.registry != "" {
		task.SchemaRegistry.URL = f.registry
	}
	c, err := wiring.KafkaConfig(&task.Kafka)
	if err != nil {
		return nil, nil, err
	}
	byID, closeRegistry, err := a.schemas(&task.SchemaRegistry)
	if err != nil {
		return nil, nil, err
	}
	decoder := show.NewDecoder(byID)
	printer := show.New(a.out, decoder, show.Options{JSON: f.format == "json", Color: a.color()})
	return &tailer{flags: f, kafka: c, decoder: decoder, printer: printer}, closeRegistry, nil
}

// schemas asks the registry, if there is one.
func (a *app) schemas(r *config.SchemaRegistry) (show.SchemaByID, func(), error) {
	if !r.Enabled() {
		return nil, func() {}, nil
	}
	log := newLogger(a.err, config.Log{Level: "warn"})
	client, err := wiring.NewRegistry(r, nil, log)
	if err != nil {
		return nil, nil, err
	}
	return client.ByID, func() { _ = client.Close() }, nil
}

// readMetadata lets the decoder learn the schemas of a metadata topic.
func (t *tailer) readMetadata(ctx context.Context) error {
	if t.flags.metadata == "" {
		return nil
	}
	o := kafka.TailOptions{Topics: []string{t.flags.metadata}, From: kafka.FromStart, Exit: true}
	return kafka.Tail(ctx, t.kafka, o, func(m *kafka.Message) error {
		if m.Value == nil {
			return nil
		}
		if _, err := t.decoder.Decode(ctx, m.Value); err != nil {
			return fmt.Errorf("metadata message %s[%d]@%d: %w", m.Topic, m.Partition, m.Offset, err)
		}
		return nil
	})
}

// errEnough ends the reading at --limit.
var errEnough = errors.New("enough messages")

func (t *tailer) print(ctx context.Context, m *kafka.Message) error {
	if t.flags.byKey && (m.Key == nil || t.printer.KeyText(ctx, m.Key) != t.flags.key) {
		return nil
	}
	err := t.printer.Print(ctx, &show.Message{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Timestamp: m.Timestamp})
	if err != nil {
		return err
	}
	if t.printed++; t.printed == t.flags.limit {
		return errEnough
	}
	return nil
}
