package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/cmd/ctbridge/internal/redact"
)

// healthBody is how much of an answer is shown.
const healthBody = 16 << 10

func (a *app) healthCommand() *cobra.Command {
	var f healthFlags
	c := &cobra.Command{
		Use:   "health [FILE]",
		Short: "Ask a running task on this machine whether it is well",
		Long: `Ask a running task whether it is well, for container health checks where no curl is at hand.

It reads /healthz, or /readyz with --ready, and prints the answer. With the task's configuration it asks where metrics.listen says, in the
way that metrics.tls and metrics.basic_auth want; without it, a task that asks for a password answers with its status code alone.

Exit code 0: well; 1: ill; 2: usage or configuration; 3: nobody answers.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.health(cmd, args, &f) },
	}
	c.Flags().StringVar(&f.address, "address", "", "where the task listens, as host:port or URL (default: metrics.listen of FILE, else 127.0.0.1:9464)")
	c.Flags().BoolVar(&f.ready, "ready", false, "ask whether all neighbours are there, not only whether the task moves")
	c.Flags().DurationVar(&f.timeout, "timeout", 3*time.Second, "how long to wait for the answer")
	f.instance.register(c)
	return c
}

// healthFlags are the options of health.
type healthFlags struct {
	address  string
	ready    bool
	timeout  time.Duration
	instance instanceFlags
}

func (a *app) health(cmd *cobra.Command, args []string, f *healthFlags) error {
	var m *config.Metrics
	if len(args) > 0 {
		task, err := a.load(args[0])
		if err != nil {
			return err
		}
		m = &task.Metrics
	}
	address := f.address
	switch {
	case address == "" && m != nil:
		address = m.Listen
	case address == "":
		address = "127.0.0.1:9464"
	}
	if address == "" {
		return usagef(cmd, "metrics.listen is off: there is nothing to ask")
	}
	client, err := f.instance.client(m, f.address == "", f.timeout)
	if err != nil {
		return err
	}
	path := "/healthz"
	if f.ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	return a.askHealth(ctx, client, healthURL(schemeOf(m), address)+path)
}

// healthURL turns what metrics.listen may say into an address to ask: a listener on every interface is asked on loopback.
func healthURL(scheme, address string) string {
	if strings.Contains(address, "://") {
		return strings.TrimSuffix(address, "/")
	}
	return scheme + cmp.Or(dialable(address), address)
}

func (a *app) askHealth(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &usageError{err: fmt.Errorf("--address: %w", err)}
	}
	answer, err := client.Do(request)
	if err != nil {
		class, hint := fault.Retry, "does the task run, and is --address its metrics.listen?"
		if c, h, ok := fault.Handshake(err, "the task"); ok {
			class, hint = c, h+"; here --ca, --cert and --key name the files"
		}
		return fault.New(class, "health", err, hint)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, healthBody))
	if err != nil {
		return fault.New(fault.Retry, "health", err, "")
	}
	if _, err := io.WriteString(a.out, redact.Printable(string(body))); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New("the task is not well: " + answer.Status)
	}
	return nil
}
