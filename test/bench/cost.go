package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// cost is one measurement of how the cost of a row depends on one quantity.
type cost struct {
	Engine string `json:"engine"`
	Format string `json:"format"`
	Of     int    `json:"of"` // tables, rows of a transaction, or columns
	figures
	IdleCPU float64 `json:"idle_cpu_percent"` // of one core, over idleFor after all is published
}

// idleFor is how long a task that has nothing to do is watched.
const idleFor = 3 * time.Second

// costing is one series of measurements.
type costing struct {
	name   string
	of     []int
	shapes func(of int) []shape // the tables
	idle   bool
	add    func(c cost)
}

// run measures one after another, on one engine, in the first envelope and format, with topics of one partition. The slowest part is filling.
func (c costing) run(ctx context.Context, p *place, o options, r *report) error {
	for _, of := range c.of {
		db, err := openDatabase(ctx, p, o.cost)
		if err != nil {
			return err
		}
		done, err := c.measure(ctx, p, o, db, of)
		db.close()
		if err != nil {
			return fmt.Errorf("%d: %w", of, err)
		}
		c.add(done)
		say("%d: %s rows/s, %.2f µs/row, %.0f MiB", of, thousands(done.RowsPerSecond), done.CPUMicros, done.ResidentMiB)
		if err := r.save(o); err != nil {
			return err
		}
	}
	return nil
}

func (c costing) measure(ctx context.Context, p *place, o options, db *database, of int) (out cost, err error) {
	out = cost{Engine: o.cost, Format: o.formats[0], Of: of}
	rows := 0
	var tables []string
	for _, s := range c.shapes(of) {
		if err := db.fill(ctx, s); err != nil {
			return out, err
		}
		rows, tables = rows+s.events, append(tables, s.table)
	}
	first, began, err := c.start(ctx, p, o, db, of)
	// Brokers take their time to delete a thousand topics: that is not measured.
	defer func() { err = errors.Join(err, deleteTopics(p, began...)) }()
	if err != nil {
		return out, fmt.Errorf("start: %w", err)
	}
	t, err := taskWithTopics(p, o, db, tables)
	if err != nil {
		return out, err
	}
	m := measurement{task: t, rows: rows, start: first}
	if c.idle {
		m.idle = &out.IdleCPU
	}
	if out.figures, err = measureBridge(ctx, p, m); err != nil {
		return out, err
	}
	out.kept = nil
	if err := deleteTopics(p, t.topics()...); err != nil || !o.profiles {
		return out, err
	}
	if t, err = taskWithTopics(p, o, db, tables); err != nil {
		return out, err
	}
	_, err = measureBridge(ctx, p, measurement{task: t, rows: rows, profile: fmt.Sprintf("%s-%d", c.name, of), expected: out.WallSeconds})
	return out, errors.Join(err, deleteTopics(p, t.topics()...))
}

// taskWithTopics makes the topics first: the bridge makes a topic when its first record comes, so that a thousand would be made between the rows.
func taskWithTopics(p *place, o options, db *database, tables []string) (task, error) {
	t := newTask(db, o.envelopes[0], o.formats[0], 1, tables...)
	return t, createTopics(p, t.partitions, t.topics()...)
}

// start measures a task with as many tables or columns, and one row in each table. Its topics are left to the caller.
func (c costing) start(ctx context.Context, p *place, o options, db *database, of int) (start, []string, error) {
	var tables []string
	rows := 0
	for _, s := range c.shapes(of) {
		s.table, s.events = "first_"+s.table, 1
		if err := db.fill(ctx, s); err != nil {
			return start{}, nil, err
		}
		tables, rows = append(tables, s.table), rows+1
	}
	t, err := taskWithTopics(p, o, db, tables)
	if err != nil {
		return start{}, nil, err
	}
	f, err := measureBridge(ctx, p, measurement{task: t, rows: rows})
	return startFrom(f), t.topics(), err
}

// measureTables spreads the same rows over more and more tables; consecutive rows are in different ones, so that all must be merged.
func measureTables(ctx context.Context, p *place, o options, r *report) error {
	return costing{name: "tables", of: o.tables, idle: true, add: func(c cost) { r.Tables = append(r.Tables, c) }, shapes: func(of int) []shape {
		var list []shape
		for i := range of {
			list = append(list, shape{table: fmt.Sprintf("t%04d", i), columns: standard(300), events: max(o.rows/of, 1), transaction: 10, first: i + 1, step: of})
		}
		return list
	}}.run(ctx, p, o, r)
}

// measureTransactions makes the source's transactions larger and larger; from a million on, one transaction is all there is.
func measureTransactions(ctx context.Context, p *place, o options, r *report) error {
	of := []int{1, 100, 10_000, 1_000_000}
	if o.full {
		of = append(of, 5_000_000)
	}
	return costing{name: "transactions", of: of, add: func(c cost) { r.Transactions = append(r.Transactions, c) }, shapes: func(of int) []shape {
		return []shape{{table: "orders", columns: standard(300), events: max(of, o.rows), transaction: of}}
	}}.run(ctx, p, o, r)
}

// measureColumns makes rows wider; the number of values stays about the same.
func measureColumns(ctx context.Context, p *place, o options, r *report) error {
	return costing{name: "columns", of: []int{5, 50, 500}, add: func(c cost) { r.Columns = append(r.Columns, c) }, shapes: func(of int) []shape {
		return []shape{{table: "wide", columns: many(of), events: max(min(o.rows*18/of, o.rows), 2), transaction: 10}}
	}}.run(ctx, p, o, r)
}

// once is a section that runs on the engine of -cost.
func once(measure func(context.Context, *place, options, *report) error) section {
	return func(ctx context.Context, p *place, o options, r *report) {
		if err := measure(ctx, p, o, r); err != nil {
			r.fail(fmt.Errorf("%s: %w", o.cost, err))
		}
	}
}
