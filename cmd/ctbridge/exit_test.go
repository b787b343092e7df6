package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	of := func(class fault.Class) error {
		return fmt.Errorf("run: %w", fault.New(class, "read shop.parcel", errors.New("cause"), "hint"))
	}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitFine},
		{errors.New("anything"), exitFailed},
		{context.Canceled, exitFailed},
		{&usageError{err: errors.New("flag")}, exitUsage},
		{fmt.Errorf("a.yaml: %w", config.Problems{{Text: "x"}}), exitUsage},
		{of(fault.Config), exitUsage},
		{of(fault.Retry), exitEnvironment},
		{of(fault.Table), exitEnvironment},
		{of(fault.Fatal), exitEnvironment},
		{of(fault.Poison), exitFailed},
	} {
		var b bytes.Buffer
		if got := report(&b, c.err); got != c.want {
			t.Errorf("%v ends with %d, want %d", c.err, got, c.want)
		}
		if (c.err == nil) != (b.Len() == 0) {
			t.Errorf("%v is reported as %q", c.err, b.String())
		}
	}
}

func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &o, err: &e, env: func(string) (string, bool) { return "", false }}
	return a.execute(context.Background(), args), o.String(), e.String()
}

func TestUsageIsToldApartFromFailure(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"nothing"}, {"validate"}, {"validate", "--no"}, {"inspect", "seq"}, {"config"}, {"--flag"}} {
		if code, out, errs := run(t, args...); code != exitUsage || out != "" || !strings.HasPrefix(errs, "ctbridge: ") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: %d %q %q", args, code, out, errs)
		}
	}
	if code, out, _ := run(t); code != exitFine || !strings.Contains(out, "Available Commands") {
		t.Error(code, out)
	}
}

func TestColor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terminal bool
		noColor  string
		want     bool
	}{{true, "", true}, {true, "1", false}, {false, "", false}} {
		a := &app{terminal: c.terminal, env: func(name string) (string, bool) { return c.noColor, name == "NO_COLOR" && c.noColor != "" }}
		if a.color() != c.want {
			t.Errorf("%+v", c)
		}
	}
}
