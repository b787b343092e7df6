package main

import (
	"context"
	"fmt"
	"time"
)

// meter is the CPU time of all who take part, at one moment.
type meter struct {
	at                            time.Time
	database, broker, own, system time.Duration
}

func (p *place) meter(db *database) (meter, error) {
	system, err := systemBusy()
	m := meter{at: time.Now(), broker: treeCPU(p.pid("kafka")), own: processCPU(), system: system}
	if db != nil {
		m.database = treeCPU(db.pid)
	}
	return m, err
}

// since is what was used since an earlier moment.
func (m meter) since(from meter) meter {
	return meter{database: m.database - from.database, broker: m.broker - from.broker, own: m.own - from.own, system: m.system - from.system}
}

// figures are one measurement of the bridge. Rows are published events, as the bridge counts them.
type figures struct {
	Rows            int     `json:"rows"`
	Records         int     `json:"records"` // in the data topics
	Commits         int     `json:"commits"`
	Seconds         float64 `json:"seconds"`              // of streaming: first to last append in the broker, and one page of reading
	FirstSeconds    float64 `json:"first_append_seconds"` // from the start of the process
	WallSeconds     float64 `json:"wall_seconds"`         // from the start of the process until it was seen to be done
	RowsPerSecond   float64 `json:"rows_per_second"`
	MBPerSecond     float64 `json:"mb_per_second"` // of keys and values, uncompressed
	BytesPerRecord  float64 `json:"bytes_per_record"`
	CPUMicros       float64 `json:"cpu_us_per_row"` // of the bridge, without its start; likewise the next four
	DatabaseMicros  float64 `json:"database_cpu_us_per_row"`
	BrokerMicros    float64 `json:"broker_cpu_us_per_row"`
	AllocsPerRow    float64 `json:"allocs_per_row"`
	AllocBytes      float64 `json:"alloc_bytes_per_row"`
	ResidentMiB     float64 `json:"resident_mib"` // the highest
	GCCycles        float64 `json:"gc_cycles"`
	OthersCores     float64 `json:"others_cores"`      // what processes that do not take part used in the wall time
	TotalCPUSeconds float64 `json:"total_cpu_seconds"` // of the bridge, with its start

	kept *records
}

// cores is how many cores the bridge, the database and the broker use while rows stream.
func (f figures) cores() (bridge, all float64) {
	scale := f.RowsPerSecond / 1e6
	return f.CPUMicros * scale, (f.CPUMicros + f.DatabaseMicros + f.BrokerMicros) * scale
}

// start is what a task costs that publishes one row: what is taken off the figures of a task that publishes many.
type start struct {
	cpu, database, broker time.Duration
	mallocs, allocated    float64
}

// measurement says what is measured.
type measurement struct {
	task     task
	rows     int           // that must be published
	page     time.Duration // for reading one page; see figures.Seconds
	start    start
	keep     bool     // the records, for the producer
	profile  string   // name of the profiles, "" = none
	expected float64  // seconds from the start of the process to the end, for the profile
	idle     *float64 // takes how much of a core the bridge uses when it has nothing to do; nil = that is not measured
}

// measureBridge runs the program until everything is published.
func measureBridge(ctx context.Context, p *place, m measurement) (figures, error) {
	before, err := p.meter(m.task.db)
	if err != nil {
		return figures{}, err
	}
	b, err := startBridge(ctx, p, m.task)
	if err != nil {
		return figures{}, err
	}
	f, err := watch(ctx, p, b, m, before)
	if stopped := b.stop(); err == nil {
		err = stopped
	}
	if err != nil {
		return f, fmt.Errorf("%w\n%s", err, b.log)
	}
	return f, f.readTopics(ctx, p, b, m)
}

// watch waits for the end and takes the figures of the process.
func watch(ctx context.Context, p *place, b *bridge, m measurement, before meter) (f figures, err error) {
	profiled := make(chan error, 1)
	if m.profile != "" {
		go func() { profiled <- cpuProfile(ctx, p, b, m) }()
	}
	metrics, err := b.awaitPublished(ctx, m.rows)
	if err != nil {
		return f, err
	}
	after, err := p.meter(m.task.db)
	if err != nil {
		return f, err
	}
	cpu := processUse(b.pid())
	if f.ResidentMiB, err = memory(b.pid(), "VmHWM"); err != nil {
		return f, err
	}
	used := after.since(before)
	per := func(total, start float64) float64 { return max(total-start, 0) / float64(m.rows) }
	f.Rows, f.Commits, f.GCCycles = m.rows, int(metrics["ctbridge_publish_latency_seconds_count"]), metrics["go_gc_duration_seconds_count"]
	f.WallSeconds, f.TotalCPUSeconds = time.Since(b.begun).Seconds(), cpu.Seconds()
	f.CPUMicros = per(micros(cpu), micros(m.start.cpu))
	f.DatabaseMicros = per(micros(used.database), micros(m.start.database))
	f.BrokerMicros = per(micros(used.broker), micros(m.start.broker))
	f.AllocsPerRow = per(metrics["go_memstats_mallocs_total"], m.start.mallocs)
	f.AllocBytes = per(metrics["go_memstats_alloc_bytes_total"], m.start.allocated)
	f.OthersCores = max(0, (used.system-used.database-used.broker-used.own-cpu).Seconds()/f.WallSeconds)
	if m.idle != nil {
		if *m.idle, err = b.idle(ctx); err != nil {
			return f, err
		}
	}
	if m.profile == "" {
		return f, nil
	}
	if err := <-profiled; err != nil {
		return f, err
	}
	return f, saveProfile(ctx, p, b, "allocs", m.profile+".allocs")
}

// idle watches the CPU time of a bridge that has nothing to do, in percent of one core.
func (b *bridge) idle(ctx context.Context) (float64, error) {
	timer := time.NewTimer(idleFor)
	defer timer.Stop()
	before, begin := processUse(b.pid()), time.Now()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-b.ended:
		return 0, b.died()
	case <-timer.C:
	}
	return 100 * float64(processUse(b.pid())-before) / float64(time.Since(begin)), nil
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// readTopics checks the number of records and takes the time from the broker's stamps.
func (f *figures) readTopics(ctx context.Context, p *place, b *bridge, m measurement) error {
	read, err := readAll(ctx, p, m)
	if err != nil {
		return err
	}
	f.Records, f.kept = read.count, read
	f.FirstSeconds = read.first.Sub(b.begun).Seconds()
	f.Seconds = (read.last.Sub(read.first) + m.page).Seconds()
	f.BytesPerRecord = float64(read.bytes) / float64(read.count)
	if f.Seconds > 0 {
		f.RowsPerSecond, f.MBPerSecond = float64(f.Rows)/f.Seconds, float64(read.bytes)/f.Seconds/1e6
	}
	return nil
}

// readAll reads the topics until nothing is missing: brokers acknowledge a commit before they have marked all partitions that take part in it.
func readAll(ctx context.Context, p *place, m measurement) (*records, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		read, err := readTopics(ctx, p, m.task.topics(), m.keep)
		if err != nil || read.count >= m.rows {
			return read, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d records of %d events", read.count, m.rows)
		}
	}
}

const (
	lookEvery = 20 * time.Millisecond  // at the CPU time of the bridge
	quietFor  = 150 * time.Millisecond // without CPU time: it may be done
	askAtMost = 5 * time.Second        // between two looks at the metrics of a bridge that is never quiet
	patience  = time.Minute            // without a new row; a twelfth of it where there were errors
)

// awaitPublished waits until so many events are published and gives the metrics of then. Asking costs the bridge time, so it is asked only when it
// has nothing to do.
func (b *bridge) awaitPublished(ctx context.Context, rows int) (series, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var cpu time.Duration
	published := 0
	worked, asked, moved := time.Now(), time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.ended:
			return nil, b.died()
		case <-look.C:
		}
		now := time.Now()
		used := processUse(b.pid())
		if used != cpu {
			cpu, worked = used, now
		}
		if since := now.Sub(asked); since < quietFor || now.Sub(worked) < quietFor && since < askAtMost {
			continue
		}
		metrics, err := scrape(ctx, b.address)
		if err != nil {
			return nil, err
		}
		asked = time.Now()
		n := int(metrics["ctbridge_events_published_total"])
		if n > published {
			published, moved = n, now
		}
		switch {
		case n == rows:
			return metrics, nil
		case n > rows:
			return nil, fmt.Errorf("%d events are published, %d are there", n, rows)
		case now.Sub(moved) > patience || now.Sub(moved) > patience/12 && metrics["ctbridge_errors_total"] > 0:
			return nil, fmt.Errorf("%d of %d events are published, and no more come", n, rows)
		}
	}
}
