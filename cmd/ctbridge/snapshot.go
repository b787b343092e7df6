package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/wiring"
)

// snapshotFlags are the options of snapshot.
type snapshotFlags struct {
	tables                []string
	where                 string
	pause, resume, cancel bool
	timeout               time.Duration
}

func (a *app) snapshotCommand() *cobra.Command {
	var f snapshotFlags
	c := &cobra.Command{
		Use:   "snapshot FILE --table NAME",
		Short: "Ask a running task to load single tables anew",
		Long: `Ask a running task to read single tables whole, or the rows of a condition, as REFRESH messages. The other tables go on; the changes of a
table that is loaded wait until its load is done.

The request goes through the control topic of the task (kafka.control_topic). The answer is the table's entry in the checkpoint.`,
		Example: "  ctbridge snapshot orders.yaml --table dbo.orders\n  ctbridge snapshot orders.yaml --table dbo.orders --where \"t.placed >= '2031-05-01'\"\n  ctbridge snapshot orders.yaml --table dbo.orders --pause",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := f.action()
			if err != nil {
				return usagef(cmd, "%w", err)
			}
			task, err := a.load(args[0])
			if err != nil {
				return err
			}
			for _, table := range f.tables {
				if err := a.snapshot(cmd, task, action, table, &f); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.tables, "table", nil, "base table as source.tables spells it; repeat it for more")
	flags.StringVar(&f.where, "where", "", "SQL condition, in which t stands for the base table")
	flags.BoolVar(&f.pause, "pause", false, "pause the load that is under way")
	flags.BoolVar(&f.resume, "resume", false, "go on with a paused load")
	flags.BoolVar(&f.cancel, "cancel", false, "give up the rows that are not loaded yet")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for the task's answer (0 = not at all)")
	return c
}

// action is what the flags ask for.
func (f *snapshotFlags) action() (bridge.Action, error) {
	chosen := bridge.ActionLoad
	n := 0
	for action, set := range map[bridge.Action]bool{bridge.ActionPause: f.pause, bridge.ActionResume: f.resume, bridge.ActionCancel: f.cancel} {
		if set {
			chosen, n = action, n+1
		}
	}
	switch {
	case len(f.tables) == 0:
		return "", errors.New("--table is needed")
	case n > 1:
		return "", errors.New("--pause, --resume and --cancel exclude each other")
	case n > 0 && f.where != "":
		return "", errors.New("--where belongs to a new load")
	}
	return chosen, nil
}

// snapshot sends one request and shows its answer.
func (a *app) snapshot(cmd *cobra.Command, task *config.Task, action bridge.Action, table string, f *snapshotFlags) error {
	var name config.TableName
	if err := name.UnmarshalText([]byte(table)); err != nil {
		return usagef(cmd, "--table %q %w", table, err)
	}
	q := bridge.Request{ID: rand.Text(), Table: name.ID(), Action: action, Where: f.where}
	if err := wiring.Ask(cmd.Context(), task, q); err != nil {
		return err
	}
	if f.timeout <= 0 || task.Checkpoint.Store != config.StoreKafka {
		_, err := fmt.Fprintf(a.out, "%s: asked to %s, request %s\n", table, action, q.ID)
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	load, err := wiring.Answer(ctx, task, q.ID)
	if err != nil {
		return fmt.Errorf("%s: request %s: %w", table, q.ID, err)
	}
	return a.showAnswer(table, load)
}

func (a *app) showAnswer(table string, load *checkpoint.Load) error {
	if load.Note != "" {
		return fmt.Errorf("%s: refused: %s", table, load.Note)
	}
	_, err := fmt.Fprintf(a.out, "%s: load %s, %d rows so far\n", table, load.State, load.Rows)
	return err
}
