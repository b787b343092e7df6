package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// loadBar shows the progress of full loads in the last line of a terminal. The log is written through it, so that its lines scroll above the
// bar. It is safe for concurrent use.
type loadBar struct {
	out   io.Writer
	width func() int
	now   func() time.Time

	mu    sync.Mutex
	loads map[change.TableID]bridge.LoadProgress // those that run
	begun map[change.TableID]time.Time
	last  change.TableID // the table that moved last
	shown bool
}

func newLoadBar(out io.Writer, width func() int, now func() time.Time) *loadBar {
	return &loadBar{out: out, width: width, now: now, loads: make(map[change.TableID]bridge.LoadProgress), begun: make(map[change.TableID]time.Time)}
}

// Write writes lines of the log above the bar.
func (b *loadBar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	n, err := b.out.Write(p)
	b.draw()
	return n, err
}

// Loaded takes what the runner tells of a load.
func (b *loadBar) Loaded(table change.TableID, p bridge.LoadProgress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.begun[table]; !known {
		b.begun[table] = b.now()
	}
	b.loads[table], b.last = p, table
	if p.State != checkpoint.LoadRunning {
		delete(b.loads, table)
		delete(b.begun, table)
	}
	b.clear()
	b.draw()
}

// end takes the bar away for good.
func (b *loadBar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	clear(b.loads)
}

const clearLine = "\r\x1b[K"

func (b *loadBar) clear() {
	if b.shown {
		_, _ = io.WriteString(b.out, clearLine)
		b.shown = false
	}
}

// draw shows the table that moved last, and how many others are loading.
func (b *loadBar) draw() {
	p, running := b.loads[b.last]
	if !running {
		for b.last, p = range b.loads {
			running = true
			break
		}
	}
	if !running {
		return
	}
	line := loadLine(b.last, p, b.now().Sub(b.begun[b.last]), len(b.loads)-1)
	if width := b.width(); width > 0 && len([]rune(line)) >= width {
		line = string([]rune(line)[:width-1])
	}
	_, _ = io.WriteString(b.out, line)
	b.shown = true
}

const barCells = 24

// loadLine is one load as a line: name, bar, share, rows, time left.
func loadLine(table change.TableID, p bridge.LoadProgress, took time.Duration, others int) string {
	share := 1.0
	if p.Total > 0 {
		share = min(float64(p.Done)/float64(p.Total), 1)
	}
	filled := int(share * barCells)
	line := fmt.Sprintf("loading %s [%s%s] %3.0f %% %d of %d rows", table, strings.Repeat("#", filled), strings.Repeat(".", barCells-filled), 100*share, p.Done, p.Total)
	if share > 0 && share < 1 {
		left := time.Duration(float64(took) * (1 - share) / share).Round(time.Second)
		line += fmt.Sprintf(", %s left", left)
	}
	if others > 0 {
		line += fmt.Sprintf(", and %d more", others)
	}
	return line
}
