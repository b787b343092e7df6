package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/bridge/deadletter"
	"ctbridge/bridge/fault"
	"ctbridge/cmd/ctbridge/internal/redact"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/sink/kafka"
)

// replayFlags are the options of replay.
type replayFlags struct {
	tables   []string
	reasons  []string
	from, to string
	header   string
	dryRun   bool
	again    bool

	ids           []change.TableID
	first, behind bound
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Publish dead letters again",
		Long: `Render the dead letters of a task with its present configuration and publish those that can be published now. Each is published once: what was
replayed is remembered in bad_records.replay_topic, in the transaction that holds its records. Letters that still cannot be published stay.

A replayed row may come after newer rows of the same key; its records carry a header with the id of the letter. Exit code 1 tells that
letters stayed.`,
		Example: "  ctbridge replay orders.yaml --dry-run\n  ctbridge replay orders.yaml --table dbo.orders --from 20310510160001000000000000000000042\n  ctbridge replay orders.yaml --from 1200 --to 1300 --again",
		Args:    cobra.ExactArgs(1),
		RunE:    a.onTask(f.check, func(ctx context.Context, task *config.Task) error { return a.replay(ctx, task, &f) }),
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.tables, "table", nil, "only letters of this base table; repeat it for more")
	flags.StringArrayVar(&f.reasons, "reason", nil, "only letters with this reason: undecodable, unrenderable, too_large, header")
	flags.StringVar(&f.from, "from", "", "only letters from this position on, or from this offset in the dead-letter topic (a number of less than 20 digits)")
	flags.StringVar(&f.to, "to", "", "only letters up to this position or offset")
	flags.StringVar(&f.header, "header", deadletter.HeaderReplayed, "header of replayed records, which holds the id of the letter; empty = none")
	flags.BoolVar(&f.dryRun, "dry-run", false, "render only, and tell what would be published")
	flags.BoolVar(&f.again, "again", false, "also letters that were replayed before")
	return c
}

// bound is one end of a range: an offset or a position; neither = open.
type bound struct {
	offset   int64
	position change.Position
}

// offsetDigits is how long an offset may be; a position is longer.
const offsetDigits = 19

func boundOf(text string) (bound, error) {
	if text == "" || len(text) > offsetDigits || strings.Trim(text, "0123456789") != "" {
		return bound{offset: -1, position: change.Position(text)}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return bound{offset: n}, err
}

func (f *replayFlags) check() error {
	for _, table := range f.tables {
		var name config.TableName
		if err := name.UnmarshalText([]byte(table)); err != nil {
			return fmt.Errorf("--table %q %w", table, err)
		}
		f.ids = append(f.ids, name.ID())
	}
	known := []string{string(deadletter.Undecodable), string(deadletter.Header), string(deadletter.Unrenderable), string(deadletter.TooLarge)}
	for _, reason := range f.reasons {
		if !slices.Contains(known, reason) {
			return fmt.Errorf("--reason %q is not one of %s", reason, strings.Join(known, ", "))
		}
	}
	var err error
	if f.first, err = boundOf(f.from); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	if f.behind, err = boundOf(f.to); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	return nil
}

// wants tells whether the flags choose a letter.
func (f *replayFlags) wants(l *bridge.Replayed) bool {
	position := l.Event.Position
	switch {
	case len(f.ids) > 0 && !slices.Contains(f.ids, l.Event.Table.ID),
		len(f.reasons) > 0 && !slices.Contains(f.reasons, string(l.Reason)),
		l.Offset < f.first.offset, f.behind.offset >= 0 && l.Offset > f.behind.offset:
		return false
	}
	return position >= f.first.position && (f.behind.position == "" || position <= f.behind.position)
}

// replaying counts what became of the letters.
type replaying struct {
	app                           *app
	dry                           bool
	published, stayed, known, all int
	said                          time.Time
}

func (a *app) replay(ctx context.Context, task *config.Task, f *replayFlags) (err error) {
	r := &replaying{app: a, dry: f.dryRun, said: time.Now()}
	p, err := wiring.NewReplay(task, bridge.ReplayOptions{Header: f.header, Again: f.again, DryRun: f.dryRun, Told: r.told}, newLogger(a.err, config.Log{Level: "warn"}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.Run(ctx, f.wants, r.unread); err != nil {
		return err
	}
	return r.sum()
}

// told hears what became of a letter.
func (r *replaying) told(l *bridge.Replayed, err error) {
	r.all++
	switch {
	case err != nil:
		r.stayed++
		r.line("stays", l, ": "+err.Error())
	case l.Before:
		r.known++
	default:
		r.published++
		if r.dry {
			r.line("would be published", l, fmt.Sprintf(": %s, %s", l.Event.Op, l.Reason))
		}
	}
	if now := time.Now(); now.Sub(r.said) > 5*time.Second {
		r.said = now
		_, _ = fmt.Fprintf(r.app.err, "%d letters read, %d published, %d stay\n", r.all, r.published, r.stayed)
	}
}

func (r *replaying) line(what string, l *bridge.Replayed, more string) {
	_, _ = fmt.Fprintf(r.app.out, "%s: %s (offset %d)%s\n", what, l.ID(), l.Offset, redact.Text(more))
}

// unread hears of records that are no letters.
func (r *replaying) unread(m *kafka.Message, err error) {
	r.all, r.stayed = r.all+1, r.stayed+1
	_, _ = fmt.Fprintf(r.app.out, "stays: %s partition %d offset %d: %v\n", m.Topic, m.Partition, m.Offset, err)
}

// sum tells the numbers; letters that stay are a failure.
func (r *replaying) sum() error {
	verb := "published"
	if r.dry {
		verb = "would be published"
	}
	if _, err := fmt.Fprintf(r.app.out, "%d dead letters: %d %s, %d replayed before, %d stay\n", r.all, r.published, verb, r.known, r.stayed); err != nil {
		return err
	}
	if r.stayed > 0 {
		return fault.New(fault.Poison, "", fmt.Errorf("%d dead letters stay", r.stayed), "mend what the lines say, then replay them again")
	}
	return nil
}
