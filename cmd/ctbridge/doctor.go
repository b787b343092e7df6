package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight"
	"ctbridge/cmd/ctbridge/internal/paper"
	"ctbridge/cmd/ctbridge/internal/redact"
	"ctbridge/cmd/ctbridge/wiring"
)

// preflightFlags are the options of doctor and plan.
type preflightFlags struct {
	json    bool
	timeout time.Duration
}

func (f *preflightFlags) declare(c *cobra.Command) {
	c.Flags().BoolVar(&f.json, "json", false, "one JSON document instead of text for people; docs/doctor.md describes it")
	c.Flags().DurationVar(&f.timeout, "timeout", 20*time.Second, "how long to wait for the answer to one question")
}

func (a *app) doctorCommand() *cobra.Command {
	var f preflightFlags
	c := &cobra.Command{
		Use:   "doctor FILE",
		Short: "Ask all neighbours of a task whether it can run, and what to mend",
		Long: `Ask the database, the brokers, the schema registry and the checkpoint of a task whether it can run.

Nothing is changed anywhere, so that it may be asked beside the running task. Each finding passes, warns or fails, says what was seen and what
helps, with the SQL for the administrator of the database or the command for that of Kafka. docs/doctor.md explains every check.

Exit codes: 0 everything passed, perhaps with warnings; 1 something failed; 2 usage or configuration; 3 no neighbour could be asked.`,
		Example: "  ctbridge doctor orders.yaml\n  ctbridge doctor orders.yaml --json | jq '.findings[] | select(.level == \"fail\")'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.preflight(cmd, args[0], &f, a.doctor)
		},
	}
	f.declare(c)
	return c
}

func (a *app) planCommand() *cobra.Command {
	var f preflightFlags
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show what a start of a task would bring: topics, schemas, versions, loads",
		Long: `Show what a start of a task would bring, for every table and output: topic and settings, schemas with the registry's verdict, the table's
version and what has changed in it, adjusted names, keys, where its changes go on, and whether it is loaded.

Nothing is written: the brokers and the registry are asked to check, not to do.

Exit codes: 0 planned, 1 failed, 2 usage or configuration, 3 the database cannot be asked.`,
		Example: "  ctbridge plan orders.yaml\n  ctbridge plan orders.yaml --json | jq '.tables[].outputs[].topic.name'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.preflight(cmd, args[0], &f, a.plan)
		},
	}
	f.declare(c)
	return c
}

// preflight loads the task, lets look at its neighbours and lets them go.
func (a *app) preflight(cmd *cobra.Command, file string, f *preflightFlags, look func(ctx context.Context, w *preflight.World, f *preflightFlags) error) (err error) {
	if f.timeout <= 0 {
		return usagef(cmd, "--timeout %s is not positive", f.timeout)
	}
	task, err := a.load(file)
	if err != nil {
		return err
	}
	p, err := wiring.NewPreflight(task, containerLimit(memoryFiles), f.timeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return look(cmd.Context(), &p.World, f)
}

func (a *app) doctor(ctx context.Context, w *preflight.World, f *preflightFlags) error {
	r := preflight.Doctor(ctx, w)
	for i := range r.Findings { // what servers say; names in SQL and commands may look like secrets and are none
		r.Findings[i].Seen = redact.Text(r.Findings[i].Seen)
	}
	if err := a.show(r, f.json, func() error { return paper.Report(a.out, r, paper.Options{Color: a.color()}) }); err != nil {
		return err
	}
	switch {
	case r.Deaf:
		return fault.New(fault.Retry, "", errors.New("no neighbour could be asked"), "is this machine where the task runs?")
	case r.Failed > 0:
		return fmt.Errorf("%d of %d findings failed", r.Failed, len(r.Findings))
	}
	return nil
}

func (a *app) plan(ctx context.Context, w *preflight.World, f *preflightFlags) error {
	p, err := preflight.NewPlan(ctx, w)
	if err != nil {
		return err
	}
	for i := range p.LeftOut {
		p.LeftOut[i].Why = redact.Text(p.LeftOut[i].Why)
	}
	for i := range p.Unknown {
		p.Unknown[i] = redact.Text(p.Unknown[i])
	}
	return a.show(p, f.json, func() error { return paper.Plan(a.out, p, paper.Options{Color: a.color()}) })
}

// show writes a document as JSON, or as text for people.
func (a *app) show(document any, asJSON bool, text func() error) error {
	if !asJSON {
		return text()
	}
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}
