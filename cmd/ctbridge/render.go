package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/show"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/schema"
)

// renderFlags are the options of render.
type renderFlags struct {
	table     string
	operation string
	position  string
	envelopes []string
	formats   []string
	json      bool
	schemas   bool
}

func (a *app) renderCommand() *cobra.Command {
	var f renderFlags
	c := &cobra.Command{
		Use:   "render [FILE]",
		Short: "Show one event in every envelope and format",
		Long: `Show what messages one event becomes, with topic, key and headers, in every envelope and format.

The event is a built-in sample, or with --table one that is read from the change table of the configured source. With FILE the outputs of that
task are shown, or with --envelope and --format what these would make of its options. Nothing is published, and no schema is registered: the
ids of schemas are counted from 1.`,
		Example: "  ctbridge render --operation DELETE --envelope debezium\n  ctbridge render orders.yaml --table dbo.orders --position 20230911032325000000000000000000005",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return usagef(cmd, "%w", err)
			}
			return a.render(cmd.Context(), &f, args)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.table, "table", "", "take an event of this table, named as in source.tables, instead of the sample")
	flags.StringVar(&f.operation, "operation", "", "INSERT, UPDATE, DELETE or REFRESH; KEY_CHANGE in the sample (default UPDATE, with --table any)")
	flags.StringVar(&f.position, "position", "", "with --table: the first event at this position or above")
	flags.StringSliceVar(&f.envelopes, "envelope", nil, "envelopes to show: "+strings.Join(wiring.Envelopes(), ", "))
	flags.StringSliceVar(&f.formats, "format", nil, "formats to show: json, avro")
	flags.BoolVar(&f.json, "json", false, "one JSON line a record")
	flags.BoolVar(&f.schemas, "schema", false, "show schemas and metadata messages, too")
	return c
}

func (f *renderFlags) check(args []string) error {
	f.operation = strings.ToUpper(f.operation)
	known := []string{"", "INSERT", "UPDATE", "DELETE", "REFRESH", keyChange}
	for _, name := range f.envelopes {
		if !slices.Contains(wiring.Envelopes(), name) {
			return fmt.Errorf("--envelope %q is not one of %s", name, strings.Join(wiring.Envelopes(), ", "))
		}
	}
	for _, name := range f.formats {
		if name != config.FormatJSON && name != config.FormatAvro {
			return fmt.Errorf("--format %q is not one of json, avro", name)
		}
	}
	switch {
	case !slices.Contains(known, f.operation):
		return fmt.Errorf("--operation %q is not one of %s", f.operation, strings.Join(known[1:], ", "))
	case f.table == "" && f.position != "":
		return fmt.Errorf("--position needs --table: the sample has one event of each operation")
	case f.table != "" && len(args) == 0:
		return fmt.Errorf("--table needs a configuration file, which names the source")
	case f.table != "" && (f.operation == keyChange || f.operation == "REFRESH"):
		return fmt.Errorf("--operation %s is for the sample: change tables have no such operation", f.operation)
	}
	return nil
}

func (a *app) render(ctx context.Context, f *renderFlags, args []string) error {
	task, err := sampleTask()
	if len(args) == 1 {
		task, err = a.load(args[0])
	}
	if err != nil {
		return err
	}
	ev, err := f.event(ctx, task)
	if err != nil {
		return err
	}
	for _, t := range f.tasks(task, len(args) == 1) {
		if err := a.renderTask(ctx, f, t, ev); err != nil {
			return err
		}
	}
	return nil
}

// tasks are the task as it is, or one for each combination that was asked for.
func (f *renderFlags) tasks(t *config.Task, configured bool) []*config.Task {
	if configured && len(f.envelopes) == 0 && len(f.formats) == 0 {
		return []*config.Task{t}
	}
	envelopes, formats := f.envelopes, f.formats
	if len(envelopes) == 0 {
		envelopes = wiring.Envelopes()
	}
	if len(formats) == 0 {
		formats = []string{config.FormatJSON, config.FormatAvro}
	}
	var out []*config.Task
	for _, envelope := range envelopes {
		for _, format := range formats {
			out = append(out, t.As(envelope, format))
		}
	}
	return out
}

// operations are those that change tables have.
var operations = map[string]change.Op{"INSERT": change.OpInsert, "UPDATE": change.OpUpdate, "DELETE": change.OpDelete}

func (f *renderFlags) event(ctx context.Context, t *config.Task) (*change.Event, error) {
	if f.table == "" {
		return sampleEvent(f.operation), nil
	}
	return wiring.FirstEvent(ctx, t, f.table, operations[f.operation], change.Position(f.position))
}

// renderTask shows the event in each output of a task. Envelopes may change what they are given, so that each gets its own.
func (a *app) renderTask(ctx context.Context, f *renderFlags, t *config.Task, ev *change.Event) error {
	book := &schemaBook{}
	outputs, err := wiring.Outputs(t, book)
	if err != nil {
		return err
	}
	rules, err := wiring.Values(t)
	if err != nil {
		return err
	}
	for i := range outputs {
		own := *ev
		metadata, records, err := bridge.Preview(ctx, outputs[i], schema.JSON{}, rules, &own)
		if err != nil {
			return fmt.Errorf("envelope %s, format %s: %w", t.Envelopes[i].Envelope, t.Envelopes[i].Format, err)
		}
		r := show.Rendered{Output: outputs[i].Name, Envelope: t.Envelopes[i].Envelope, Format: t.Envelopes[i].Format, Metadata: metadata, Records: records, Schemas: book.since}
		if err := show.Render(ctx, a.out, show.NewDecoder(book.ByID), &r, show.RenderOptions{JSON: f.json, All: f.schemas}); err != nil {
			return err
		}
		book.since = nil
	}
	return nil
}

// schemaBook stands for a schema registry that nobody else knows.
type schemaBook struct {
	texts []string
	since []show.Schema // since they were shown last
}

// Register gives the next id.
func (b *schemaBook) Register(_ context.Context, subject, text string) (int, error) {
	b.texts = append(b.texts, text)
	b.since = append(b.since, show.Schema{Subject: subject, ID: len(b.texts), Text: text})
	return len(b.texts), nil
}

// ByID gives the text of a schema.
func (b *schemaBook) ByID(_ context.Context, id int) (string, error) {
	if id < 1 || id > len(b.texts) {
		return "", fmt.Errorf("no schema has the id %d", id)
	}
	return b.texts[id-1], nil
}
