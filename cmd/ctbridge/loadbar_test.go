package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

func TestLoadBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	b := newLoadBar(&out, func() int { return 80 }, func() time.Time { return clock })
	orders, lines := change.TableID{Schema: "dbo", Name: "orders"}, change.TableID{Schema: "dbo", Name: "lines"}
	shown := func() string {
		last := out.String()
		return last[strings.LastIndexByte(last, '\r')+1:]
	}
	b.Loaded(orders, bridge.LoadProgress{State: checkpoint.LoadRunning, Total: 200})
	clock = clock.Add(10 * time.Second)
	b.Loaded(orders, bridge.LoadProgress{State: checkpoint.LoadRunning, Done: 50, Total: 200})
	if want := "\x1b[Kloading dbo.orders [######..................]  25 % 50 of 200 rows, 30s left"; shown() != want {
		t.Errorf("shown %q, want %q", shown(), want)
	}
	if _, err := io.WriteString(b, "a line of the log\n"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), clearLine+"a line of the log\nloading dbo.orders") {
		t.Errorf("the line is not above the bar: %q", out.String())
	}
	b.Loaded(lines, bridge.LoadProgress{State: checkpoint.LoadRunning, Total: 10})
	if !strings.HasSuffix(shown(), ", and 1 more") || !strings.Contains(shown(), "dbo.lines") {
		t.Errorf("two loads are shown as %q", shown())
	}
	b.Loaded(lines, bridge.LoadProgress{State: checkpoint.LoadDone, Done: 10, Total: 10})
	if !strings.Contains(shown(), "dbo.orders") {
		t.Errorf("the load that goes on is shown as %q", shown())
	}
	b.Loaded(orders, bridge.LoadProgress{State: checkpoint.LoadDone, Done: 200, Total: 200})
	if !strings.HasSuffix(out.String(), clearLine) {
		t.Errorf("the bar stays: %q", out.String())
	}
}

func TestLoadBarFitsTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := newLoadBar(&out, func() int { return 30 }, time.Now)
	b.Loaded(change.TableID{Name: "größe"}, bridge.LoadProgress{State: checkpoint.LoadRunning, Done: 5, Total: 10})
	if n := len([]rune(out.String())); n != 29 {
		t.Errorf("%d characters on a terminal of 30: %q", n, out.String())
	}
}
