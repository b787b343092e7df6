package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/cmd/ctbridge/internal/redact"
)

// The exit codes are API.
const (
	exitFine        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitEnvironment = 3
)

// usageError is a command line, or a file that it names, that cannot be used.
type usageError struct {
	err  error
	help string // the command that shows more; may be empty
}

// Error is the mistake and where to read more.
func (u *usageError) Error() string {
	if u.help == "" {
		return u.err.Error()
	}
	return u.err.Error() + " (see " + u.help + ")"
}

// Unwrap gives the mistake.
func (u *usageError) Unwrap() error { return u.err }

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...), help: cmd.CommandPath() + " --help"}
}

// exitCode tells who has to act: nobody, us, the one who typed or configured, or the one who runs the neighbours.
func exitCode(err error) int {
	var usage *usageError
	var problems config.Problems
	var classified *fault.Error
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &usage), errors.As(err, &problems):
		return exitUsage
	case !errors.As(err, &classified):
		return exitFailed
	}
	switch classified.Class {
	case fault.Config:
		return exitUsage
	case fault.Poison:
		return exitFailed
	default:
		return exitEnvironment
	}
}

// report writes the error for a person and gives the exit code.
func report(w io.Writer, err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(w, "ctbridge: "+redact.Printable(redact.Text(err.Error())))
	}
	return exitCode(err)
}
