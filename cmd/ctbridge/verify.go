package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/wiring"
)

// verifyFlags are the options of verify.
type verifyFlags struct {
	tables   []string
	from, to string
	max      int
	json     bool

	options wiring.VerifyOptions
}

func (a *app) verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Compare the change tables with what is in the topics",
		Long: `Compare what a task should have published with what its topics hold, topic by topic: how many messages, and an order-free checksum over all that
must be equal in them. Where these differ, every missing, doubled and different message is named.

Everything is compared that the checkpoint says is published and that change table and topic still hold, or what --from and --to leave of
it. Nothing is written, and a running task is not disturbed. Messages of full loads are not compared.

Exit codes: 0 equal, 1 differences, 2 usage or configuration, 3 a neighbour is away. docs/verify.md says what is compared.`,
		Example: "  ctbridge verify orders.yaml\n  ctbridge verify orders.yaml --table dbo.orders --from 2031-05-10T16:00:00Z --json",
		Args:    cobra.ExactArgs(1),
		RunE:    a.onTask(f.check, func(ctx context.Context, task *config.Task) error { return a.verify(ctx, task, &f) }),
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.tables, "table", nil, "table or pattern as in source.tables; repeat it for more (default: all of the checkpoint)")
	flags.StringVar(&f.from, "from", "", "only changes behind this change sequence, or of this time and later")
	flags.StringVar(&f.to, "to", "", "only changes up to this change sequence, or before this time")
	flags.IntVar(&f.max, "max", 20, "differences that are named, of each topic")
	flags.BoolVar(&f.json, "json", false, "one JSON line a topic")
	return c
}

// verifyMemory bounds the messages that are looked at one by one at a time.
const verifyMemory = 64 << 20

func (f *verifyFlags) check() error {
	for _, text := range f.tables {
		var p config.TablePattern
		if err := p.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("--table %q %w", text, err)
		}
		f.options.Tables = append(f.options.Tables, p)
	}
	if f.max < 1 {
		return fmt.Errorf("--max %d is less than 1", f.max)
	}
	f.options.Max, f.options.Memory = f.max, verifyMemory
	for _, end := range []struct {
		name, text string
		start      *config.Start
	}{{"--from", f.from, &f.options.From}, {"--to", f.to, &f.options.To}} {
		var at config.StartAt
		if err := at.UnmarshalText([]byte(end.text)); err != nil {
			return fmt.Errorf("%s %q is not a change sequence of 35 digits, or a time like 2031-05-10T16:00:00Z", end.name, end.text)
		}
		if *end.start = at.Start(); end.start.Now {
			return fmt.Errorf("%s now has no meaning", end.name)
		}
	}
	return nil
}

func (a *app) verify(ctx context.Context, task *config.Task, f *verifyFlags) (err error) {
	survey, err := wiring.NewSurvey(ctx, task)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, survey.Close()) }()
	if survey.Source != nil {
		return survey.Source
	}
	w := &verifying{app: a, json: f.json}
	if a.terminal && !f.json {
		f.options.Progress = w.progress
	}
	v, err := wiring.NewVerify(survey, f.options, newLogger(a.err, config.Log{Level: "warn"}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := v.Run(ctx, w.report); err != nil {
		return err
	}
	for _, table := range v.Absent {
		_, _ = fmt.Fprintf(a.err, "not compared: no change table is found for %s\n", table)
	}
	return w.sum()
}

// verifying prints the reports.
type verifying struct {
	app             *app
	json            bool
	topics, bad     int
	expected, found int64
	said            time.Time
	shown           bool // a line of progress stands there
}

// progress writes one line over and over.
func (w *verifying) progress(topic string, expected, found int64) {
	if time.Since(w.said) < 200*time.Millisecond {
		return
	}
	w.said, w.shown = time.Now(), true
	_, _ = fmt.Fprintf(w.app.err, "\r\x1b[K%s: %d messages expected, %d read", topic, expected, found)
}

func (w *verifying) clear() {
	if w.shown {
		_, _ = io.WriteString(w.app.err, "\r\x1b[K")
		w.shown = false
	}
}

func (w *verifying) report(r *wiring.TopicReport) error {
	w.clear()
	w.topics++
	w.expected, w.found = w.expected+r.Expected.Messages, w.found+r.Found.Messages
	if !r.Equal {
		w.bad++
	}
	if w.json {
		out := json.NewEncoder(w.app.out)
		out.SetEscapeHTML(false)
		return out.Encode(r)
	}
	_, err := io.WriteString(w.app.out, reportText(r))
	return err
}

func (w *verifying) sum() error {
	if w.bad > 0 {
		return fmt.Errorf("%d of %d topics differ", w.bad, w.topics)
	}
	if w.json {
		return nil
	}
	_, err := fmt.Fprintf(w.app.out, "%d topics equal: %d messages\n", w.topics, w.found)
	return err
}

// reportText tells of one topic.
func reportText(r *wiring.TopicReport) string {
	var b strings.Builder
	verdict := "equal"
	if !r.Equal {
		verdict = "DIFFERS"
	}
	fmt.Fprintf(&b, "%s  %s\n", r.Topic, verdict)
	for i := range r.Tables {
		t := &r.Tables[i]
		fmt.Fprintf(&b, "  table     %s: %d rows %s, up to %s\n", t.Table, t.Rows, lowerEnd(t.From), positionText(t.To))
	}
	fmt.Fprintf(&b, "  expected  %d messages, checksum %s\n", r.Expected.Messages, r.Expected.Checksum)
	fmt.Fprintf(&b, "  found     %d messages, checksum %s\n", r.Found.Messages, r.Found.Checksum)
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, "  %-9s %d\n", kind, r.Counts[kind])
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "    %s %s%s%s\n", d.Kind, d.Place, prefixed(" at ", d.At), prefixed(": ", d.Member))
	}
	for _, note := range notes(r) {
		fmt.Fprintf(&b, "  note      %s\n", note)
	}
	return b.String()
}

// lowerEnd tells where a window begins; just below the oldest row stands no position of a row.
func lowerEnd(p change.Position) string {
	if p == "" || strings.HasSuffix(string(p), "~") {
		return "from the oldest on"
	}
	return "above " + string(p)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// notes tells what was not compared, or only in part.
func notes(r *wiring.TopicReport) []string {
	var out []string
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, append([]any{n}, args...)...))
		}
	}
	if r.NoTopic {
		out = append(out, "there is no such topic")
	}
	add(r.Undecoded, "%d messages cannot be decoded")
	add(r.Unsettled, "%d more messages were not looked at one by one: raise --max, or narrow the window")
	if r.BeginsAt != "" {
		out = append(out, fmt.Sprintf("%d rows up to %s are not compared: the topic begins there", r.BeforeThat, r.BeginsAt))
	}
	if r.Compacted {
		out = append(out, "the topic is compacted: it keeps the last message of a key, so that others are not missed")
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Excused)) {
		add(r.Excused[reason], "%d messages are not there, and accounted for: %s", reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Left)) {
		add(r.Left[reason], "no message is expected of %d rows: %s", reason)
	}
	add(r.Alike, "%d messages are equal but for what another structure of the table, or a replay, makes of them")
	add(r.Repeated, "%d messages are there more than once, which may be: delivery at_least_once, a reset, or a replay")
	add(r.Loaded, "%d messages of full loads are not compared")
	add(r.Outside, "%d messages lie outside of the window")
	return out
}
