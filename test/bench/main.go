// Command bench measures the bridge, as the built program, on the real servers of test/stack, and beside it what its parts reach at best: the bare
// driver reading the same rows, and a bare sarama producer sending the same bytes in transactions of the same size. Ratios within a run count more
// than absolute figures. docs/benchmarks.md says what the figures mean.
//
//	go run ./test/stack run -only kafka,registry,postgres,mariadb -- go run ./test/bench [-section …] [-engines …] …
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == peerVerb {
		exit(servePeer(os.Stdin, os.Stdout))
		return
	}
	o, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, o)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// say tells how far the work is.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// run measures section by section. What one cannot measure does not keep the others from it.
func run(ctx context.Context, o options) (err error) {
	debug.SetGCPercent(400) // the ceilings run in this process
	p, err := newPlace(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	r := newReport(o, p)
	for _, name := range o.sections {
		begin := time.Now()
		sections[name](ctx, p, o, r)
		say("section %s took %.0f s", name, time.Since(begin).Seconds())
		if ctx.Err() != nil {
			r.fail(ctx.Err())
			break
		}
	}
	r.Seconds = time.Since(r.Begun).Seconds()
	if err := r.save(o); err != nil {
		return err
	}
	fmt.Print(r.markdown())
	return errors.Join(r.errs...)
}

// section measures one thing and adds it to the report, with what went wrong.
type section func(ctx context.Context, p *place, o options, r *report)

var sections = map[string]section{
	"throughput":   eachEngine(measureThroughput),
	"latency":      eachEngine(measureLatency),
	"tables":       once(measureTables),
	"transactions": once(measureTransactions),
	"columns":      once(measureColumns),
	"encoding":     once(measureEncoding),
}

// eachEngine runs a measurement for all engines whose servers are there.
func eachEngine(measure func(context.Context, *place, options, string, *report) error) section {
	return func(ctx context.Context, p *place, o options, r *report) {
		for _, engine := range o.engines {
			err := measure(ctx, p, o, engine, r)
			if ctx.Err() != nil {
				return // run tells
			}
			if errors.Is(err, errAway) {
				r.leave(engine)
			} else if err != nil {
				r.fail(fmt.Errorf("%s: %w", engine, err))
			}
		}
	}
}
