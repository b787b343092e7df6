package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
)

// validated is what validate --json prints.
type validated struct {
	File     string    `json:"file"`
	Valid    bool      `json:"valid"`
	Problems []problem `json:"problems"` // in the order of the file
}

// problem is a config.Problem: path is the key in the file, line is 0 where the key is not in it.
type problem struct {
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
	Fix  string `json:"fix,omitempty"`
}

func (a *app) validateCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a configuration file, and nothing but the file",
		Long: `Check a configuration file without talking to anybody. All problems are shown at once, with their lines.

Environment variables and secret files that the file names must be there, as they must be for a run. With --json standard output holds
{"file", "valid", "problems": [{"path", "line", "text", "fix"}]}, and the exit code is the same.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			task, err := a.load(args[0])
			if asJSON {
				return errors.Join(a.writeVerdict(args[0], err), err)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "ok\n%s", task.Summary())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "the result as JSON")
	return c
}

// writeVerdict writes what is wrong with a file; a file that cannot be read has no verdict.
func (a *app) writeVerdict(file string, err error) error {
	out := validated{File: file, Valid: err == nil, Problems: []problem{}}
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return nil
	}
	for _, p := range problems {
		out.Problems = append(out.Problems, problem(p))
	}
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// load reads a configuration; its errors name the file.
func (a *app) load(file string) (*config.Task, error) {
	task, err := config.Load(file)
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		return nil, fmt.Errorf("%s: %w", file, err)
	case err != nil:
		return nil, &usageError{err: err}
	}
	return task, nil
}

// onTask runs a verb on the task of its file, once its flags are checked.
func (a *app) onTask(check func() error, run func(context.Context, *config.Task) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(); err != nil {
			return usagef(cmd, "%w", err)
		}
		task, err := a.load(args[0])
		if err != nil {
			return err
		}
		return run(cmd.Context(), task)
	}
}

func (a *app) configCommand() *cobra.Command {
	formats := map[string]func(io.Writer) error{"markdown": config.WriteMarkdown, "yaml": config.WriteYAML}
	var format string
	reference := &cobra.Command{
		Use:   "reference",
		Short: "Print every configuration key with its meaning and default",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, known := formats[format]
			if !known {
				return usagef(cmd, "--format %q is not one of markdown, yaml", format)
			}
			return write(a.out)
		},
	}
	reference.Flags().StringVar(&format, "format", "markdown", "markdown: tables; yaml: a commented configuration file")
	return group("config", "About the configuration file", reference)
}
