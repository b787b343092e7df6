// Package page tests the status page in a real browser: headless Chromium, told what to do over a pipe by its DevTools protocol.
//
// The browser resolves no name and reaches 127.0.0.1 only: a page that needs a file from elsewhere fails here. It ends with the test, also
// when the test is killed, because its pipe ends then.
package page

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Browser is a running Chromium. Its methods may be called from any goroutine.
type Browser struct {
	cmd  *exec.Cmd
	send io.WriteCloser

	mu      sync.Mutex
	number  int
	waiting map[int]chan reply
	tabs    map[string]*Tab // by session
	ended   chan struct{}
}

// message is one message of the protocol, of either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type reply struct {
	result json.RawMessage
	err    error
}

// Start runs the program with a profile in the folder.
func Start(program, profile string) (*Browser, error) {
	theirs, send, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	receive, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &Browser{send: send, waiting: make(map[int]chan reply), tabs: make(map[string]*Tab), ended: make(chan struct{})}
	b.cmd = exec.Command(program, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+profile, "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-GB", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank")
	b.cmd.ExtraFiles = []*os.File{theirs, ours} // files 3 and 4, where it looks for them
	b.cmd.Env = append(os.Environ(), "HOME="+profile, "TZ=UTC")
	err = b.cmd.Start()
	err = errors.Join(err, theirs.Close(), ours.Close())
	if err != nil {
		return nil, err
	}
	go b.listen(receive)
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, asked := b.call(ctx, "", "Browser.close", nil)
	if asked != nil {
		_ = b.cmd.Process.Kill() // it may have ended
	}
	_ = b.cmd.Wait() // how it ended is not what is tested
	<-b.ended
	return b.send.Close()
}

// listen hands out what the browser says, until it ends.
func (b *Browser) listen(from io.ReadCloser) {
	defer close(b.ended)
	defer func() { _ = from.Close() }()
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		var params json.RawMessage
		m.Params = &params
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		waiting, tab := b.waiting[m.ID], b.tabs[m.Session]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID != 0 && waiting != nil && m.Error != nil:
			waiting <- reply{err: errors.New(m.Error.Message)}
		case m.ID != 0 && waiting != nil:
			waiting <- reply{result: m.Result}
		case tab != nil:
			tab.hear(m.Method, params)
		}
	}
}

// call asks for one thing and waits for the answer.
func (b *Browser) call(ctx context.Context, session, method string, params any) (json.RawMessage, error) {
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.number++
	text, err := json.Marshal(message{ID: b.number, Session: session, Method: method, Params: params})
	b.waiting[b.number] = answer
	if err == nil {
		_, err = b.send.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r := <-answer:
		if r.err != nil {
			return nil, fmt.Errorf("%s: %w", method, r.err)
		}
		return r.result, nil
	case <-b.ended:
		return nil, fmt.Errorf("%s: the browser has ended", method)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// Screen is what a page is looked at with.
type Screen struct {
	Width, Height int
	Scale         float64 // device pixels per pixel; 0 = 1
	Phone         bool
	Dark          bool
}

// Tab is one open page.
type Tab struct {
	browser *Browser
	target  string
	session string

	mu         sync.Mutex
	complaints []string
	requests   []string
}

// Open opens an address.
func (b *Browser) Open(ctx context.Context, address string, s Screen) (*Tab, error) {
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.into(ctx, &target, "Target.createTarget", map[string]any{"url": "about:blank"}); err != nil {
		return nil, err
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	if err := b.into(ctx, &attached, "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}); err != nil {
		return nil, err
	}
	t := &Tab{browser: b, target: target.ID, session: attached.Session}
	b.mu.Lock()
	b.tabs[t.session] = t
	b.mu.Unlock()
	theme := map[bool]string{false: "light", true: "dark"}[s.Dark]
	for _, step := range []struct {
		method string
		params any
	}{
		{"Runtime.enable", nil}, {"Log.enable", nil}, {"Network.enable", nil}, {"Page.enable", nil},
		{"Emulation.setDeviceMetricsOverride", map[string]any{"width": s.Width, "height": s.Height, "deviceScaleFactor": max(s.Scale, 1), "mobile": s.Phone}},
		{"Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}},
		{"Page.navigate", map[string]any{"url": address}},
	} {
		if _, err := b.call(ctx, t.session, step.method, step.params); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (b *Browser) into(ctx context.Context, out any, method string, params any) error {
	result, err := b.call(ctx, "", method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(result, out)
}

// Close closes the page.
func (t *Tab) Close(ctx context.Context) error {
	_, err := t.browser.call(ctx, "", "Target.closeTarget", map[string]any{"targetId": t.target})
	return err
}

// hear keeps what the page complains of, and what it asks for.
func (t *Tab) hear(method string, params json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		t.complaints = append(t.complaints, string(params))
	case "Runtime.consoleAPICalled":
		if strings.Contains(string(params), `"type":"error"`) || strings.Contains(string(params), `"type":"warning"`) {
			t.complaints = append(t.complaints, string(params))
		}
	case "Network.requestWillBeSent":
		var sent struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		}
		if json.Unmarshal(params, &sent) == nil {
			t.requests = append(t.requests, sent.Request.URL)
		}
	}
}

// Complaints are the errors and warnings of the page so far.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.complaints...)
}

// Requests are the addresses that the page has asked so far.
func (t *Tab) Requests() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.requests...)
}

// Eval computes a JavaScript expression; a promise is waited for. The value comes as JSON.
func (t *Tab) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	result, err := t.browser.call(ctx, t.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if err != nil {
		return nil, err
	}
	var out struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	if err := json.Unmarshal(result, &out); err != nil {
		return nil, err
	}
	if out.Exception != nil {
		return nil, fmt.Errorf("%s: %s", expression, out.Exception)
	}
	return out.Result.Value, nil
}

// Until waits until an expression is true.
func (t *Tab) Until(ctx context.Context, expression string) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		value, err := t.Eval(ctx, "!!("+expression+")")
		if err != nil || string(value) == "true" {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", expression, ctx.Err())
		}
	}
}

// Type presses keys in what has the focus.
func (t *Tab) Type(ctx context.Context, text string) error {
	_, err := t.browser.call(ctx, t.session, "Input.insertText", map[string]any{"text": text})
	return err
}

// Screenshot gives the page as PNG: what the screen shows, or the whole of it.
func (t *Tab) Screenshot(ctx context.Context, whole bool) ([]byte, error) {
	result, err := t.browser.call(ctx, t.session, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
	if err != nil {
		return nil, err
	}
	var out struct {
		Data string `json:"data"`
	}
	if err := json.Unmarshal(result, &out); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(out.Data)
}
