package main

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/sink/kafka"
)

func (a *app) runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run FILE",
		Short: "Stream changes as a configuration file says, until told to stop",
		Long: `Stream changes as a configuration file says.

The task starts where its checkpoint ends. SIGTERM or Ctrl-C drains it: what has been read is published and checkpointed within
shutdown_timeout. A neighbour that goes away later is waited for; one that does not answer at the start ends the run with exit
code 3 after source.startup_timeout.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			config, err := a.load(args[0])
			if err != nil {
				return err
			}
			lines, listeners, end := a.logLines(config.Log.Format)
			defer end()
			log := newLogger(lines, config.Log)
			kafka.RouteLogs(log)
			task, err := wiring.New(config, buildVersion(), log, listeners...)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, task.Close()) }()
			log.Info("starting", "task", config.Name, "version", buildVersion(), "metrics", task.MetricsAddr())
			err = task.Run(cmd.Context())
			log.Info("stopped", "task", config.Name)
			return err
		},
	}
}

// logLines is where the log goes. On a terminal full loads are shown as a bar below it; elsewhere the log tells of them.
// end takes the bar away.
func (a *app) logLines(format string) (lines io.Writer, listeners []wiring.LoadListener, end func()) {
	f, ok := a.err.(*os.File)
	if !ok || format != "text" || !isTerminal(f) {
		return a.err, nil, func() {}
	}
	bar := newLoadBar(f, func() int { return terminalWidth(f) }, time.Now)
	return bar, []wiring.LoadListener{bar}, bar.end
}
