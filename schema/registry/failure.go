package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"ctbridge/bridge/fault"
)

// The registry's own error codes that mean something to us (Confluent Schema Registry API, "Errors").
const (
	codeSubjectUnknown = 40401
	codeVersionUnknown = 40402
	codeSchemaUnknown  = 40403
	codeLevelUnknown   = 40408 // the subject has no compatibility level of its own
)

// failure is an answer that is not what was asked for, or no answer at all.
type failure struct {
	status  int // HTTP status, 0 without an answer
	code    int // error_code of the body, 0 without one
	reason  string
	passing bool // may be tried again at once
	cause   error
}

func (f *failure) Error() string {
	if f.code != 0 {
		return fmt.Sprintf("%s (code %d)", f.reason, f.code)
	}
	return f.reason
}

func (f *failure) Unwrap() error { return f.cause }

// classify makes the error of a failed attempt. Its class follows from the status alone, never from a text.
func (c *Client) classify(where string, w *call, err error) error {
	if w.status == 0 {
		return c.unreachable(where, err)
	}
	f := answer(w)
	class, hint := fault.Table, ""
	switch {
	case f.status/100 == 2:
		f.cause, f.reason = err, "the answer is not that of a schema registry"
		class, hint = fault.Retry, "check that "+c.config.URL+" is the registry's API"
	case f.status == http.StatusTooManyRequests || f.status/100 == 5:
		f.passing = true
		class, hint = fault.Retry, "the schema registry at "+c.config.URL+" is in trouble; it is asked again"
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		class, hint = fault.Fatal, "check the registry's user, password or token, and what it may do with this subject"
	case f.status == http.StatusConflict:
		hint = "the registry refuses the schema under the subject's compatibility level: make the change compatible, or set another level there"
	case f.status/100 == 3, f.status == http.StatusNotFound && !known(f.code), f.status == http.StatusMethodNotAllowed:
		class, hint = fault.Config, "check that "+c.config.URL+" is the registry's API; Apicurio needs the path /apis/ccompat/v7"
	}
	return fault.New(class, where, f, hint)
}

func known(code int) bool {
	return code == codeSubjectUnknown || code == codeVersionUnknown || code == codeSchemaUnknown || code == codeLevelUnknown
}

// unreachable is the error of an attempt without an answer. Only a time-out is tried again at once; the others are for the caller's cycle.
func (c *Client) unreachable(where string, err error) error {
	var timeout net.Error
	f := &failure{cause: err, passing: errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()}
	f.reason = "no answer from " + c.config.URL
	switch {
	case err == nil:
	case f.passing:
		f.reason += fmt.Sprintf(" within %v", c.config.Timeout)
	default:
		var request *url.Error
		if errors.As(err, &request) {
			err = request.Err // without the URL, which is there already
		}
		f.reason += ": " + err.Error()
	}
	if class, hint, known := fault.Handshake(f.cause, "the schema registry"); known {
		return fault.New(class, where, f, hint)
	}
	return fault.New(fault.Retry, where, f, "is the schema registry running, and is the URL right?")
}

// answer reads the registry's reason out of an answer, which may be JSON, a page of some proxy, or nothing.
func answer(w *call) *failure {
	f := &failure{status: w.status}
	var body struct {
		Code    int    `json:"error_code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(w.body, &body) == nil && body.Message != "" {
		f.code, f.reason = body.Code, clip(body.Message)
		return f
	}
	f.reason = fmt.Sprintf("%d %s", w.status, http.StatusText(w.status))
	if text := strings.Join(strings.Fields(string(w.body)), " "); text != "" {
		f.reason += ": " + clip(text)
	}
	return f
}

// clip keeps a reason readable: a registry may quote whole schemas in it.
func clip(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// codeOf gives the registry's error code, 0 if there is none.
func codeOf(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return 0
}
