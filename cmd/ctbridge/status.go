package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/cmd/ctbridge/internal/statusview"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/metrics"
)

// statusFlags are the options of status.
type statusFlags struct {
	address  string
	json     bool
	watch    bool
	every    time.Duration
	timeout  time.Duration
	instance instanceFlags
}

func (a *app) statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [FILE]",
		Short: "Show how a task is: its tables, lag, checkpoint and neighbours",
		Long: `Show how a task is.

The running instance is asked at --address, or where metrics.listen of the configuration says. Where none answers, the checkpoint is read
and shown: it claims nothing, so that an instance that cannot be reached from here is not disturbed.

Exit codes: 0 all is fine, 1 something failed or the task does not run, 2 usage or configuration, 3 nothing can be reached.
docs/status.md describes the output of --json.`,
		Example: "  ctbridge status orders.yaml\n  ctbridge status --address orders.example:9464 --watch\n  ctbridge status orders.yaml --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.newStatus(cmd, args, &f)
			if err != nil {
				return err
			}
			if f.watch {
				return s.watch(cmd.Context())
			}
			return s.show(cmd.Context())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.address, "address", "", "host:port or URL of the instance's metrics (default: metrics.listen of FILE)")
	flags.BoolVar(&f.json, "json", false, "the document of /api/status, one line each time")
	flags.BoolVar(&f.watch, "watch", false, "show it again and again until Ctrl-C")
	flags.DurationVar(&f.every, "every", 2*time.Second, "pause between two looks of --watch")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long to wait for an answer")
	f.instance.register(c)
	return c
}

// statusVerb is one running status.
type statusVerb struct {
	app     *app
	flags   *statusFlags
	task    *config.Task // nil without a file
	address string       // URL of the instance; empty where its metrics are off
	client  *http.Client
}

func (a *app) newStatus(cmd *cobra.Command, args []string, f *statusFlags) (*statusVerb, error) {
	s := &statusVerb{app: a, flags: f}
	switch {
	case len(args) == 0 && f.address == "":
		return nil, usagef(cmd, "a configuration file or --address is needed")
	case f.every < 100*time.Millisecond:
		return nil, usagef(cmd, "--every %s is less than 100ms", f.every)
	case f.timeout <= 0:
		return nil, usagef(cmd, "--timeout %s is not positive", f.timeout)
	}
	listen := f.address
	if len(args) > 0 {
		task, err := a.load(args[0])
		if err != nil {
			return nil, err
		}
		s.task = task
		if listen == "" {
			listen = dialable(task.Metrics.Listen)
		}
	}
	var m *config.Metrics
	if s.task != nil {
		m = &s.task.Metrics
	}
	var err error
	if s.address, err = instanceURL(schemeOf(m), listen); err != nil {
		return nil, usagef(cmd, "--address %q %w", f.address, err)
	}
	s.client, err = f.instance.client(m, f.address == "", f.timeout/2)
	return s, err
}

// dialable turns an address to listen on into one to ask: all interfaces become this machine. It is empty where nobody can know the port.
func dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// instanceURL takes host:port, or a URL of a proxy before it.
func instanceURL(scheme, address string) (string, error) {
	switch {
	case address == "":
		return "", nil
	case strings.HasPrefix(address, "http://"), strings.HasPrefix(address, "https://"):
		return strings.TrimSuffix(address, "/"), nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", errors.New("is neither host:port nor a URL")
	}
	return scheme + address, nil
}

// show looks once. Its error tells the exit code.
func (s *statusVerb) show(ctx context.Context) error {
	status, where, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := s.write(s.app.out, status, where, 0); err != nil {
		return err
	}
	return verdict(status)
}

// watch looks until ctx ends. On a terminal the page is drawn anew in its place.
func (s *statusVerb) watch(ctx context.Context) (last error) {
	again := time.NewTicker(s.flags.every)
	defer again.Stop()
	for {
		var page strings.Builder
		status, where, err := s.look(ctx)
		if ctx.Err() != nil {
			return last
		}
		last = err
		if err == nil {
			err, last = s.write(&page, status, where, watchedRows), verdict(status)
		} else if exitCode(err) != exitUsage { // it may come up
			_, err = fmt.Fprintf(&page, "%v\n", err)
		}
		if err == nil {
			err = s.draw(page.String())
		}
		if err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return last
		}
	}
}

// watchedRows are the tables that --watch shows: as many as a screen holds, what has failed first.
const watchedRows = 25

func (s *statusVerb) draw(page string) error {
	if s.app.terminal && !s.flags.json {
		page = "\x1b[H\x1b[2J" + page
	}
	_, err := io.WriteString(s.app.out, page)
	return err
}

func (s *statusVerb) write(w io.Writer, status *metrics.Status, where string, rows int) error {
	if s.flags.json {
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		return out.Encode(status)
	}
	return statusview.Write(w, status, statusview.Options{Color: s.app.color(), Width: s.app.width(), Rows: rows, Where: where})
}

// verdict is nil for a task that is fine.
func verdict(s *metrics.Status) error {
	switch s.State {
	case metrics.StateOK, metrics.StateStandby, metrics.StateStarting:
		return nil
	case metrics.StateStopped:
		return fmt.Errorf("no instance of %s answers", s.Task)
	}
	return fmt.Errorf("%s is %s: %s", s.Task, s.State, strings.Join(s.Problems, "; "))
}

// look asks the instance, else the checkpoint.
func (s *statusVerb) look(ctx context.Context) (status *metrics.Status, where string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.flags.timeout)
	defer cancel()
	missing := errors.New("metrics.listen is off, or a port that only the log tells: name the address with --address")
	if s.address != "" {
		if status, missing = s.ask(ctx); missing == nil {
			return status, strings.TrimPrefix(s.address, "http://"), nil
		}
		if fault.ClassOf(missing) == fault.Fatal { // one is there, and does not let us in: the checkpoint would make it look stopped
			return nil, "", missing
		}
	}
	if s.task == nil {
		return nil, "", fault.New(fault.Retry, "", missing, "is it running? With its configuration file its checkpoint can be shown")
	}
	kept, err := wiring.Peek(ctx, s.task)
	if err != nil {
		return nil, "", fault.New(fault.ClassOf(err), "", fmt.Errorf("no instance answers (%w), and the checkpoint cannot be read: %w", missing, err), "")
	}
	now := time.Now()
	out := stoppedStatus(s.task, kept, now)
	out.Problems = append(out.Problems, missing.Error())
	if now.Sub(kept.Saved) < recently {
		out.Problems = append(out.Problems, "the checkpoint was written just now: most likely an instance runs that cannot be asked from here")
	}
	return out, kept.Place, nil
}

// recently is how young a checkpoint is that somebody must be writing.
const recently = time.Minute

// answerMost bounds what is read of an answer.
const answerMost = 64 << 20

// ask asks the running instance. One of another task is not ours.
func (s *statusVerb) ask(ctx context.Context) (*metrics.Status, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+"/api/status", nil)
	if err != nil {
		return nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if err := refusedBy(s.address, response); err != nil {
		return nil, err
	}
	var out metrics.Status
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", s.address, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, answerMost)).Decode(&out); err != nil || out.Format == 0 {
		return nil, fmt.Errorf("what answers at %s is no ctbridge", s.address)
	}
	switch {
	case out.Format > metrics.StatusFormat:
		return nil, fmt.Errorf("the instance at %s is newer than this program", s.address)
	case s.task != nil && out.Task != s.task.Name:
		return nil, fmt.Errorf("the instance at %s runs another task, %s", s.address, out.Task)
	}
	return &out, nil
}
