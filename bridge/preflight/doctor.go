package preflight

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// doctor is one examination.
type doctor struct {
	asked
	deaf  atomic.Int32 // neighbours that did not answer
	heard atomic.Int32 // neighbours that did
}

// Doctor asks the neighbours of a task and judges what they say. All checks run at the same time; the whole takes a few times w.Limit at most.
func Doctor(ctx context.Context, w *World) *Report {
	d := &doctor{asked: asked{World: w}}
	whole := 6 * w.Limit
	ctx, cancel := context.WithTimeoutCause(ctx, whole, slow(whole))
	defer cancel()
	g := &group{work: d.checks()}
	all := g.wait(ctx)
	return newReport(w.Task.Name, all, d.heard.Load() == 0 && d.deaf.Load() > 0)
}

// checks lists everything that is looked at, in the order of reports.
func (d *doctor) checks() []job {
	return []job{
		{AreaConfig, "memory", d.memory},
		{AreaSource, "reach", d.reachSource},
		{AreaSource, "discover", d.discover},
		{AreaSource, "clock", d.clock},
		{AreaSource, "horizon", d.horizon},
		{AreaSource, "writer", d.writer},
		{AreaSource, "transactions", d.transactions},
		{AreaTable, "found", d.tablesFound},
		{AreaTable, "rights", d.rights},
		{AreaTable, "rows", d.readable},
		{AreaTable, "filters", d.filters},
		{AreaTable, "columns", d.columns},
		{AreaTable, "before_images", d.beforeImages},
		{AreaTable, "key", d.keys},
		{AreaTable, "index", d.indexes},
		{AreaTable, "retention", d.retention},
		{AreaTable, "messages", d.messagesCompile},
		{AreaKafka, "reach", d.reachKafka},
		{AreaKafka, "version", d.kafkaVersion},
		{AreaKafka, "topics", d.topics},
		{AreaKafka, "replication", d.replication},
		{AreaKafka, "cleanup", d.cleanup},
		{AreaKafka, "size", d.sizesOfMessages},
		{AreaKafka, "transactions", d.transactional},
		{AreaKafka, "group", d.group},
		{AreaRegistry, "reach", d.reachRegistry},
		{AreaRegistry, "mode", d.registryMode},
		{AreaRegistry, "schemas", d.schemas},
		{AreaCheckpoint, "read", d.readCheckpoint},
		{AreaCheckpoint, "source", d.sameSource},
		{AreaCheckpoint, "tables", d.vanished},
		{AreaCheckpoint, "position", d.positions},
	}
}

// reached counts neighbours that answer, and those that do not.
func (d *doctor) reached(err error) {
	if err == nil || errors.Is(err, errNoVersion) {
		d.heard.Add(1)
	} else {
		d.deaf.Add(1)
	}
}

// memory compares the bound of what is held with the limit of the container.
func (d *doctor) memory(_ context.Context, n *notes) {
	most, limit := d.Task.MemoryBytes, d.Task.MemoryLimit
	seen := fmt.Sprintf("%s, the process needs about as much again", sizeText(most))
	const subject, do = "memory.max_bytes", "raise the limit of the container, or lower memory.max_bytes"
	switch {
	case limit == 0:
		n.pass(subject, seen+"; no limit of a container is seen here")
	case most >= limit:
		n.fail(subject, seen+"; the container has "+sizeText(limit), do)
	case 2*most+headroom > limit:
		n.warn(subject, seen+"; the container has "+sizeText(limit), do)
	default:
		n.pass(subject, seen+"; the container has "+sizeText(limit))
	}
}

// headroom is what a process takes that holds no rows.
const headroom = 32 << 20

// sizeText writes a size for people.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// age writes a duration for people: two units at most.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Round(time.Second); {
	case d < 0:
		return "-" + age(-d)
	case d >= 10*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return d.String()
}

// many writes a number with a noun.
func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
