package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/demo"
)

// The ports that the demo's servers try first: the usual ones, so that commands copied from elsewhere work.
const (
	demoKafkaPort    = 9092
	demoRegistryPort = 8081
)

func (a *app) demoCommand() *cobra.Command {
	o := demo.Options{KafkaPort: demoKafkaPort, RegistryPort: demoRegistryPort, Seed: rand.Uint64(), Version: buildVersion(), Color: a.color(), Width: a.width}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch the bridge work: no configuration, nothing to install",
		Long: `Watch the bridge work: no configuration, nothing to install.

A small shop in an SQLite file changes its rows. Triggers write every change into change tables as Qlik does; the same bridge that run
starts carries them into a Kafka broker inside this process, and what arrives is read back, shown and checked. Any program may change
rows of the shop or read the topics meanwhile. Everything listens on 127.0.0.1 only.

It runs until Ctrl-C, --rows or --duration, and then tells what went through. Exit code 1 says that something did not arrive as it should.`,
		Example: "  ctbridge demo\n  ctbridge demo --rows 200 --rate 50 --format json\n  ctbridge demo --keep shop",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDemo(&o); err != nil {
				return usagef(cmd, "%w", err)
			}
			signal.Ignore(syscall.SIGPIPE) // demo | head: the folder is to be removed all the same
			o.Log = newLogger(a.err, config.Log{Level: "warn"})
			return demo.Run(cmd.Context(), a.out, o)
		},
	}
	flags := c.Flags()
	flags.IntVar(&o.Rows, "rows", 0, "stop after about so many changes (0 = no limit)")
	flags.DurationVar(&o.Duration, "duration", 0, "stop after so long, for example 1m (0 = no limit)")
	flags.Float64Var(&o.Rate, "rate", 3, "changes per second (0 = as fast as it goes)")
	flags.StringVar(&o.Keep, "keep", "", "work in this folder and keep it: database, configuration, topics")
	flags.StringVar(&o.Format, "format", config.FormatAvro, "avro: with the schema registry; json")
	return c
}

func checkDemo(o *demo.Options) error {
	switch {
	case o.Rows < 0:
		return errors.New("--rows is negative")
	case o.Duration < 0:
		return errors.New("--duration is negative")
	case o.Rate < 0 || o.Rate != o.Rate:
		return errors.New("--rate is negative")
	case o.Format != config.FormatAvro && o.Format != config.FormatJSON:
		return errors.New("--format is not one of avro, json")
	}
	return nil
}

// width is the number of columns of the terminal, 0 where output does not go to one.
func (a *app) width() int {
	f, isFile := a.out.(*os.File)
	if !a.terminal || !isFile {
		return 0
	}
	if columns := terminalWidth(f); columns > 0 {
		return columns
	}
	return 80
}
