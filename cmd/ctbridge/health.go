package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge/fault"
)

// healthBody is how much of an answer is shown.
const healthBody = 16 << 10

func (a *app) healthCommand() *cobra.Command {
	var address string
	var ready bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "health",
		Short: "Ask a running task on this machine whether it is well",
		Long: `Ask a running task whether it is well, for container health checks where no curl is at hand.

It reads /healthz, or /readyz with --ready, and prints the answer. Exit code 0: well; 1: ill; 3: nobody answers.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.askHealth(ctx, healthURL(address)+path)
		},
	}
	c.Flags().StringVar(&address, "address", "127.0.0.1:9464", "where the task listens (metrics.listen), as host:port or URL")
	c.Flags().BoolVar(&ready, "ready", false, "ask whether all neighbours are there, not only whether the task moves")
	c.Flags().DurationVar(&timeout, "timeout", 3*time.Second, "how long to wait for the answer")
	return c
}

// healthURL turns what metrics.listen may say into an address to ask: a listener on every interface is asked on loopback.
func healthURL(address string) string {
	if strings.Contains(address, "://") {
		return strings.TrimSuffix(address, "/")
	}
	for _, every := range []string{"", "0.0.0.0", "[::]"} {
		if port, ok := strings.CutPrefix(address, every+":"); ok {
			address = "127.0.0.1:" + port
		}
	}
	return "http://" + address
}

func (a *app) askHealth(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return &usageError{err: fmt.Errorf("--address: %w", err)}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fault.New(fault.Retry, "health", err, "does the task run, and is --address its metrics.listen?")
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, healthBody))
	if err != nil {
		return fault.New(fault.Retry, "health", err, "")
	}
	if _, err := a.out.Write(body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return errors.New("the task is not well: " + answer.Status)
	}
	return nil
}
