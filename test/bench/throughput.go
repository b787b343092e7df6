package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
)

// combination is one line of the throughput matrix.
type combination struct {
	Engine   string `json:"engine"`
	Envelope string `json:"envelope"`
	Format   string `json:"format"`
	Width    int    `json:"row_bytes"`
	Mix      string `json:"mix"`
}

// throughput is the bridge beside its ceilings, measured in turn as often as -repeat and -others say.
type throughput struct {
	combination
	Bridge   []figures `json:"bridge"`
	Driver   []ceiling `json:"driver"`
	Producer []ceiling `json:"producer"`
}

// ratio is the bridge's speed as a part of that of the slower ceiling: the median over the repeats, each compared with its own neighbours.
func (t throughput) ratio() float64 {
	var ratios []float64
	for i, f := range t.Bridge {
		if i < len(t.Producer) {
			ratios = append(ratios, f.RowsPerSecond/min(t.Driver[i].RowsPerSecond, t.Producer[i].RowsPerSecond))
		}
	}
	return median(ratios)
}

// together is the rows/s at which both ceilings at once, with their servers, would use all of so many cores.
func (t throughput) together(cores int) float64 {
	all := func(c ceiling) float64 { return c.CPUMicros + c.ServerMicros }
	return float64(cores) * 1e6 / (medianOf(t.Driver, all) + medianOf(t.Producer, all))
}

// mixes are what tables hold.
var mixes = []string{"inserts", "updates"}

func newTask(db *database, envelope, format string, partitions int, tables ...string) task {
	return task{name: fmt.Sprintf("bench%08x", rand.Uint32()), db: db, tables: tables, envelope: envelope, format: format, partitions: partitions}
}

// measureThroughput measures all combinations of one engine.
func measureThroughput(ctx context.Context, p *place, o options, engine string, r *report) error {
	db, err := openDatabase(ctx, p, engine)
	if err != nil {
		return err
	}
	defer db.close()
	if err := db.fill(ctx, shape{table: single, columns: standard(300), events: 1}); err != nil {
		return err
	}
	for _, width := range o.widths {
		for _, mix := range o.mixes {
			s := shape{table: fmt.Sprintf("orders%d%s", width, mix), columns: standard(width), events: o.rowsOf(engine, width), updates: mix == "updates", transaction: 10}
			if err := measureTable(ctx, p, o, db, s, combination{Engine: engine, Width: width, Mix: mix}, r); err != nil {
				return fmt.Errorf("%d bytes, %s: %w", width, mix, err)
			}
		}
	}
	return nil
}

// measureTable measures all envelopes and formats over one change table.
func measureTable(ctx context.Context, p *place, o options, db *database, s shape, c combination, r *report) error {
	say("%s: filling %s with %d rows", c.Engine, s.table, s.changeRows())
	if err := db.fill(ctx, s); err != nil {
		return err
	}
	if _, err := measureDriver(ctx, db, s); err != nil { // warms the caches
		return fmt.Errorf("driver: %w", err)
	}
	for _, c.Envelope = range o.envelopes {
		for _, c.Format = range o.formats {
			t := throughput{combination: c}
			if err := t.measure(ctx, p, o, db, s); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				r.fail(fmt.Errorf("%s, %s, %s, %d bytes, %s: %w", c.Engine, c.Envelope, c.Format, c.Width, c.Mix, err))
				continue
			}
			r.Throughput = append(r.Throughput, t)
			say("%s", t.line(r.Machine.Cores))
			if err := r.save(o); err != nil {
				return err
			}
		}
	}
	return db.remove(ctx, s)
}

// measure takes the bridge and its ceilings in turn, so that what else the machine does hits them alike.
func (t *throughput) measure(ctx context.Context, p *place, o options, db *database, s shape) error {
	first, err := p.startOf(ctx, db, t.Envelope, t.Format)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	var kept *records
	for range o.times(t.Width, t.Mix) {
		driver, err := measureDriver(ctx, db, s)
		if err != nil {
			return fmt.Errorf("driver: %w", err)
		}
		work := newTask(db, t.Envelope, t.Format, dataPartitions, s.table)
		f, err := measureBridge(ctx, p, measurement{task: work, rows: s.events, page: driver.page(), start: first, keep: kept == nil})
		if err != nil {
			return fmt.Errorf("bridge: %w", err)
		}
		if kept == nil {
			kept = f.kept
		}
		f.kept = nil
		runtime.GC() // what the bench has left is not the producer's
		bare := work.name + ".bare"
		producer, err := measureProducer(ctx, p, bare, kept, s.events, (f.Records+f.Commits-1)/max(f.Commits, 1))
		if err != nil {
			return fmt.Errorf("producer: %w", err)
		}
		t.Bridge, t.Driver, t.Producer = append(t.Bridge, f), append(t.Driver, driver), append(t.Producer, producer)
		if err := deleteTopics(p, append(work.topics(), bare)...); err != nil {
			return err
		}
	}
	if o.profiles {
		return t.profile(ctx, p, db, s)
	}
	return nil
}

// profile is one more run, which does not count.
func (t *throughput) profile(ctx context.Context, p *place, db *database, s shape) error {
	work := newTask(db, t.Envelope, t.Format, dataPartitions, s.table)
	name := fmt.Sprintf("%s-%s-%s-%d-%s", t.Engine, t.Envelope, t.Format, t.Width, t.Mix)
	expected := medianOf(t.Bridge, func(f figures) float64 { return f.WallSeconds })
	if _, err := measureBridge(ctx, p, measurement{task: work, rows: s.events, profile: name, expected: expected}); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return deleteTopics(p, work.topics()...)
}

const (
	single         = "single" // the table of one row
	dataPartitions = 6
)

// startOf measures what a task of this kind costs before and beside the rows: it publishes one. The smaller of two counts, because others only add to it.
func (p *place) startOf(ctx context.Context, db *database, envelope, format string) (start, error) {
	key := db.name + " " + envelope + " " + format
	if s, known := p.starts[key]; known {
		return s, nil
	}
	var out start
	for i := range 2 {
		t := newTask(db, envelope, format, dataPartitions, single)
		f, err := measureBridge(ctx, p, measurement{task: t, rows: 1})
		if err != nil {
			return out, err
		}
		s := startFrom(f)
		if i == 0 || s.cpu < out.cpu {
			out = s
		}
		if err := deleteTopics(p, t.topics()...); err != nil {
			return out, err
		}
	}
	p.starts[key] = out
	return out, nil
}

// startFrom takes the whole of a task that has published one row.
func startFrom(f figures) start {
	return start{
		cpu: seconds(f.TotalCPUSeconds), database: seconds(f.DatabaseMicros / 1e6), broker: seconds(f.BrokerMicros / 1e6),
		mallocs: f.AllocsPerRow, allocated: f.AllocBytes,
	}
}
