package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/riferrei/srclient"
)

// call is the way of one srclient operation to the registry and back. srclient knows no contexts, so each operation gets a library client
// of its own, whose transport is the call: it puts the context and the credentials on the requests and notes the last answer, of which
// srclient would lose the status or the body.
type call struct {
	ctx    context.Context
	client *Client
	status int    // of the last answer, 0 if there was none
	body   []byte // of the last answer
}

// library is srclient for one operation, with what it does not show of the answer.
type library struct {
	*srclient.SchemaRegistryClient
	way *call
}

// do makes one operation, and again after a pause where the failure passes by itself.
func (c *Client) do(ctx context.Context, where string, operation func(library) error) error {
	return c.retry(ctx, func() error { return c.attempt(ctx, where, operation) })
}

// retry repeats what fails in a way that passes by itself.
func (c *Client) retry(ctx context.Context, once func() error) error {
	for attempt := 1; ; attempt++ {
		err := once()
		var failed *failure
		if err == nil || !errors.As(err, &failed) || !failed.passing || attempt == c.config.Attempts {
			return err
		}
		c.config.Log.Warn("schema registry: trying again", "attempt", attempt, "error", err.Error())
		if stopped := c.pause(ctx, attempt); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
}

// attempt makes one operation, once, within the time-out.
func (c *Client) attempt(ctx context.Context, where string, operation func(library) error) error {
	limited, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	way := &call{ctx: limited, client: c}
	client := srclient.NewSchemaRegistryClient(c.config.URL, srclient.WithClient(&http.Client{Transport: way, CheckRedirect: stay}))
	client.CachingEnabled(false)
	err := operation(library{client, way})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // the caller has stopped waiting: not the registry's fault
		return fmt.Errorf("%s: %w", where, context.Cause(ctx))
	}
	return c.classify(where, way, err)
}

// stay refuses redirects: credentials go to the configured host only.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// pause waits before the next attempt, between half and all of a time that doubles.
func (c *Client) pause(ctx context.Context, attempt int) error {
	most := maxBackoff
	if attempt < 16 {
		most = min(maxBackoff, c.config.Backoff<<(attempt-1))
	}
	timer := time.NewTimer(most/2 + rand.N(most/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// RoundTrip makes one request of the operation.
func (w *call) RoundTrip(r *http.Request) (*http.Response, error) {
	w.status, w.body = 0, nil
	if err := w.client.enter(w.ctx); err != nil {
		return nil, err
	}
	defer w.client.leave()
	r = r.Clone(w.ctx)
	w.client.authorize(r)
	response, err := w.client.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	}
	w.status, w.body = response.StatusCode, body
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return nil, errors.New("an empty answer") // srclient would follow a nil pointer
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

func (c *Client) authorize(r *http.Request) {
	switch {
	case c.config.Bearer != "":
		r.Header.Set("Authorization", "Bearer "+c.config.Bearer)
	case c.config.Username != "":
		r.SetBasicAuth(c.config.Username, c.config.Password)
	}
}

// enter waits for one of the few places at the registry.
func (c *Client) enter(ctx context.Context) error {
	select {
	case c.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) leave() { <-c.places }
