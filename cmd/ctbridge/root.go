package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
)

// app is what the verbs share: where they read and write, and what they know of their surroundings.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      config.Lookup
	terminal bool // out is one
}

// color reports whether output may be coloured (no-color.org).
func (a *app) color() bool {
	off, _ := a.env("NO_COLOR")
	return a.terminal && off == ""
}

// execute runs one command line and gives the exit code.
func (a *app) execute(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	parsed := false
	root.PersistentPreRun = func(*cobra.Command, []string) { parsed = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !parsed {
		err = &usageError{err: err, help: cmd.CommandPath() + " --help"}
	}
	return report(a.err, err)
}

// root is the tree of verbs.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "ctbridge",
		Short:         "Stream relational change tables into Kafka",
		Long:          "ctbridge streams relational change tables into Kafka.\n\nExit codes: 0 fine, 1 failed, 2 usage or configuration, 3 environment.",
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("ctbridge {{.Version}}\n")
	root.AddCommand(
		a.demoCommand(),
		a.initCommand(),
		a.validateCommand(),
		a.configCommand(),
		a.doctorCommand(),
		a.planCommand(),
		a.runCommand(),
		a.healthCommand(),
		a.statusCommand(),
		a.snapshotCommand(),
		a.resetCommand(),
		a.verifyCommand(),
		a.replayCommand(),
		a.renderCommand(),
		a.tailCommand(),
		a.inspectCommand(),
		a.manCommand(),
	)
	return root
}

// version is set by the linker when a release is built.
var version = ""

// buildVersion falls back on what the Go tool notes in a binary.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, known := debug.ReadBuildInfo()
	if !known {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return fmt.Sprintf("%s (%.12s)", info.Main.Version, setting.Value)
		}
	}
	return info.Main.Version
}

// group is a verb that only holds others: without one of them it is a mistake.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return usagef(cmd, "%s needs one of its verbs", cmd.CommandPath())
	}}
	c.AddCommand(commands...)
	return c
}
