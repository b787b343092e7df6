package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/cmd/ctbridge/wiring"
)

// resetFlags are the options of reset.
type resetFlags struct {
	tables               []string
	to                   string
	accept, forget, load bool
	reason               string
	yes, force, json     bool
	address              string
	timeout              time.Duration

	patterns config.TablePatterns
	target   checkpoint.Reset
}

func (a *app) resetCommand() *cobra.Command {
	var f resetFlags
	c := &cobra.Command{
		Use:   "reset FILE --table NAME",
		Short: "Move the position of tables, explicitly and on record",
		Long: `Move the position of tables: back, so that changes are published again, or forward, so that they never are. What would happen is shown first; it
happens with --yes, or when it is confirmed on a terminal.

A running task is asked through its control topic and moves the tables between two commits. For one that does not run the reset is left in
its checkpoint, and its next start carries it out before it reads the table. Either way the log tells of it, and the checkpoint keeps who
moved what, when and why.

Targets:
  --to earliest     the first row that the change table holds
  --to now          behind the newest row
  --to SEQUENCE     behind a change sequence of 35 digits
  --to TIME         the changes of a time and later, like 2031-05-10T16:00:00Z
  --accept-gap      go on behind the one hole that the table has stopped at, whatever source.on_reset says; the changes in it are lost
  --load            a full load, then the changes behind it
  --forget          forget the table: it begins as a new one, as full_load and source.start_at say`,
		Example: "  ctbridge reset orders.yaml --table dbo.orders --to 2031-05-10T16:00:00Z --reason \"topic was deleted\"\n  ctbridge reset orders.yaml --table dbo.parcel --accept-gap --yes",
		Args:    cobra.ExactArgs(1),
		RunE:    a.onTask(f.check, func(ctx context.Context, task *config.Task) error { return a.reset(ctx, task, &f) }),
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.tables, "table", nil, "table or pattern as in source.tables; repeat it for more")
	flags.StringVar(&f.to, "to", "", "earliest, now, a change sequence, or a time")
	flags.BoolVar(&f.accept, "accept-gap", false, "go on behind the hole that the table has stopped at, this once")
	flags.BoolVar(&f.forget, "forget", false, "forget the table, so that it begins as a new one")
	flags.BoolVar(&f.load, "load", false, "load the table anew and go on behind that")
	flags.StringVar(&f.reason, "reason", "", "why, for the record")
	flags.BoolVar(&f.yes, "yes", false, "do it; without, it is only shown, or asked on a terminal")
	flags.BoolVar(&f.force, "force", false, "leave the reset in the checkpoint although an instance may run: its next start carries it out")
	flags.StringVar(&f.address, "address", "", "host:port or URL of the instance's metrics (default: metrics.listen of FILE)")
	flags.BoolVar(&f.json, "json", false, "one JSON document")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for the answer of a running task")
	return c
}

// check reads the target.
func (f *resetFlags) check() error {
	targets := 0
	for target, set := range map[checkpoint.ResetTarget]bool{
		checkpoint.ResetAcceptGap: f.accept, checkpoint.ResetForget: f.forget, checkpoint.ResetLoad: f.load,
	} {
		if set {
			f.target.To, targets = target, targets+1
		}
	}
	if f.to != "" && (!f.accept || f.to != "earliest") { // behind a hole comes the first row that is there
		targets++
		if err := f.parseTo(); err != nil {
			return err
		}
	}
	for _, text := range f.tables {
		var p config.TablePattern
		if err := p.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("--table %q %w", text, err)
		}
		f.patterns = append(f.patterns, p)
	}
	switch {
	case len(f.tables) == 0:
		return errors.New("--table is needed; --table '*.*' chooses all")
	case targets != 1:
		return errors.New("one of --to, --accept-gap, --load and --forget is needed")
	case f.timeout <= 0:
		return fmt.Errorf("--timeout %s is not positive", f.timeout)
	}
	return nil
}

func (f *resetFlags) parseTo() error {
	var at config.StartAt
	if err := at.UnmarshalText([]byte(f.to)); err != nil {
		return fmt.Errorf("--to %q %w", f.to, err)
	}
	f.target = wiring.ResetTo(at.Start())
	return nil
}

func (a *app) reset(ctx context.Context, task *config.Task, f *resetFlags) (err error) {
	r := &resetting{app: a, task: task, flags: f}
	survey, err := wiring.NewSurvey(ctx, task)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, survey.Close()) }()
	ids := survey.Tables(f.patterns)
	if len(ids) == 0 {
		return fault.New(fault.Config, "", fmt.Errorf("no table of %s is chosen by --table %s", task.Name, strings.Join(f.tables, " ")), "ctbridge status lists them")
	}
	if r.moves, err = survey.Moves(ctx, ids, f.target); err != nil {
		return err
	}
	if !f.json {
		if err := r.show(survey.Source); err != nil {
			return err
		}
	}
	if err := r.problems(); err != nil {
		return err
	}
	if f.yes || r.confirmed() {
		err = r.carryOut(ctx, survey)
	}
	return errors.Join(err, r.tell())
}

// resetting is one running reset.
type resetting struct {
	app   *app
	task  *config.Task
	flags *resetFlags
	moves []wiring.Move
	how   string // what became of it: "" nothing, "asked", "left"
	done  map[change.TableID]*checkpoint.Reset
}

// problems is why nothing is done: one table that cannot be moved keeps all where they are.
func (r *resetting) problems() error {
	var all []error
	for i := range r.moves {
		if m := &r.moves[i]; m.Problem != nil {
			all = append(all, fmt.Errorf("%s: %w", m.Table, m.Problem))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: %w", errors.Join(all...))
}

// confirmed asks on a terminal.
func (r *resetting) confirmed() bool {
	if !r.app.terminal || r.flags.json {
		return false
	}
	_, _ = fmt.Fprintf(r.app.out, "Reset %d tables of task %s? Type yes: ", len(r.moves), r.task.Name)
	line, _ := bufio.NewReader(r.app.in).ReadString('\n')
	return strings.TrimSpace(line) == "yes"
}

// carryOut asks the running task, or leaves the resets for its next start.
func (r *resetting) carryOut(ctx context.Context, survey *wiring.Survey) error {
	running, err := r.running(ctx, survey)
	if err != nil {
		return err
	}
	asked := make(map[change.TableID]checkpoint.Reset)
	for i := range r.moves {
		m := &r.moves[i]
		own := r.flags.target
		own.ID, own.By, own.Reason, own.Asked, own.From, own.Hole = rand.Text(), whoAsks(), r.flags.reason, time.Now().UTC(), m.From, m.Hole
		asked[m.Table] = own
	}
	if !running {
		r.how = "left"
		return wiring.LeaveReset(ctx, r.task, asked)
	}
	r.how = "asked"
	for id, own := range asked {
		if err := wiring.AskReset(ctx, r.task, id, own); err != nil {
			return err
		}
	}
	return r.await(ctx, asked)
}

// await waits for the answers of the running task.
func (r *resetting) await(ctx context.Context, asked map[change.TableID]checkpoint.Reset) error {
	ctx, cancel := context.WithTimeout(ctx, r.flags.timeout)
	defer cancel()
	r.done = make(map[change.TableID]*checkpoint.Reset)
	var refused []error
	for i := range r.moves {
		id := r.moves[i].Table
		done, err := wiring.ResetAnswer(ctx, r.task, id, asked[id].ID)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if r.done[id] = done; done.Note != "" {
			refused = append(refused, fmt.Errorf("%s: not reset: %s", id, done.Note))
		}
	}
	return errors.Join(refused...)
}

// running finds out whether an instance answers. One that cannot be asked and seems to run is an error without --force.
func (r *resetting) running(ctx context.Context, survey *wiring.Survey) (bool, error) {
	if r.flags.force {
		return false, nil
	}
	listen := r.flags.address
	if listen == "" {
		listen = dialable(r.task.Metrics.Listen)
	}
	address, err := instanceURL(schemeOf(&r.task.Metrics), listen)
	if err != nil {
		return false, &usageError{err: fmt.Errorf("--address %q %w", r.flags.address, err)}
	}
	if r.task.Replicated() { // the group knows
		members, err := wiring.Members(ctx, r.task)
		return members > 0, err
	}
	why := errors.New("metrics.listen is off, or a port that only the log tells")
	if address != "" {
		client, err := (&instanceFlags{}).client(&r.task.Metrics, r.flags.address == "", 5*time.Second)
		if err != nil {
			return false, err
		}
		s := &statusVerb{app: r.app, flags: &statusFlags{timeout: 10 * time.Second}, task: r.task, address: address, client: client}
		_, why = s.ask(ctx)
		switch {
		case why == nil:
			return true, nil
		case fault.ClassOf(why) == fault.Fatal:
			return false, why // it is there and wants to know who asks
		}
	}
	if time.Since(survey.Kept.Saved) < recently {
		return false, fmt.Errorf("most likely an instance of %s runs that cannot be asked from here (%w), because the checkpoint was written just now: name it with --address, stop it, or let its next start carry the reset out with --force", r.task.Name, why)
	}
	return false, nil
}

// whoAsks names the person as the operating system knows them.
func whoAsks() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
