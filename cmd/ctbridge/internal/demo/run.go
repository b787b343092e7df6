package demo

import (
	"context"
	"database/sql"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	statusEvery = 15 * time.Second
	patience    = 15 * time.Second // without any arrival, before what is missing counts as lost
	lookEvery   = 50 * time.Millisecond
)

// work changes rows until a limit is reached, the user stops it, or a part fails.
func (d *demo) work(ctx, life context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(life, stop)()
	if d.options.Duration > 0 {
		defer time.AfterFunc(d.options.Duration, stop).Stop()
	}
	rows, err := d.begin(ctx)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.tellStatus(ctx) })
	group.Go(func() error {
		defer stop()
		return d.change(ctx, rows)
	})
	return unlessStopped(ctx, group.Wait())
}

// unlessStopped forgets the error of work that was interrupted on purpose.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// begin changes something and waits until the bridge has carried it: from there on latencies count. It gives the number of changes.
func (d *demo) begin(ctx context.Context) (rows int, err error) {
	for do := d.workload.open; rows == 0; do = d.workload.next {
		if rows, err = d.transact(ctx, do); err != nil {
			return 0, err
		}
	}
	for {
		if messages, _ := d.ledger.counts(); messages > 0 {
			d.ledger.startTiming()
			return rows, nil
		}
		select {
		case <-d.ledger.moved:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// change does business at the chosen rate.
func (d *demo) change(ctx context.Context, rows int) error {
	for next := time.Now(); d.options.Rows == 0 || rows < d.options.Rows; {
		n, err := d.transact(ctx, d.workload.next)
		if err != nil {
			return err
		}
		rows += n
		if d.options.Rate > 0 {
			next = next.Add(time.Duration(float64(n) / d.options.Rate * float64(time.Second)))
			wait(ctx, time.Until(next))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// transact runs one transaction and gives the number of its changes. While another program holds the database it waits.
func (d *demo) transact(ctx context.Context, do func(context.Context, *sql.Tx) error) (changes int, err error) {
	for {
		t, err := d.shop.transact(ctx, func(tx *sql.Tx) error { return do(ctx, tx) }, d.ledger.committing)
		if !isBusy(err) || ctx.Err() != nil {
			return t.changes, err
		}
		if err := d.console.print("… another program holds the database: waiting for it\n"); err != nil {
			return 0, err
		}
	}
}

func (d *demo) tellStatus(ctx context.Context) error {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := d.console.status(d.addresses, d.ledger); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// settle waits until everything that was changed by now has arrived, or nothing more does. Others may go on changing rows meanwhile.
func (d *demo) settle(ctx context.Context) (err error) {
	if d.boundary, err = d.shop.newest(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	changes := map[string]int{}
	for _, t := range tables() {
		if changes[t.name], err = d.shop.count(ctx, t.name, d.boundary); err != nil {
			return unlessStopped(ctx, err)
		}
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for since, before := time.Now(), 0; time.Since(since) < patience; {
		missing, closed := d.ledger.settle(changes)
		if closed {
			return nil
		}
		if missing != before {
			since, before = time.Now(), missing
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// conclude tells what went through and whether it was right.
func (d *demo) conclude(ctx context.Context) error {
	if err := d.console.flushAll(ctx); err != nil {
		return err
	}
	checks, err := d.ledger.verify(ctx, d.shop, d.boundary)
	if err != nil {
		return err
	}
	text := "\n" + d.ledger.summary() + "\n" + d.console.verdict(checks)
	if p := d.addresses.place; p.keep {
		text += "\nKept in " + p.dir + "; ctbridge demo --keep goes on from there.\n"
	}
	if _, err := io.WriteString(d.console.wrapped, text); err != nil {
		return err
	}
	for _, c := range checks {
		if !c.ok {
			return ErrFailed
		}
	}
	return nil
}
