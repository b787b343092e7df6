package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
)

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a configuration file, and nothing but the file",
		Long: `Check a configuration file without talking to anybody. All problems are shown at once, with their lines.

Environment variables and secret files that the file names must be there, as they must be for a run.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			task, err := a.load(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "ok\n%s", task.Summary())
			return err
		},
	}
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
