package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ctbridge/sink/kafka"
)

// latency is how long rows take from their commit until a consumer can read them, and a start until its first record.
type latency struct {
	Engine     string    `json:"engine"`
	Rows       int       `json:"rows"`
	PollMillis float64   `json:"poll_ms"`
	P50        float64   `json:"p50_ms"`
	P99        float64   `json:"p99_ms"`
	Most       float64   `json:"max_ms"`
	Millis     []float64 `json:"ms"`        // of every row, in order
	Starts     []float64 `json:"start_ms"`  // of new tasks, from the start of the process until the first record can be read
	Resumes    []float64 `json:"resume_ms"` // the same of a task that goes on
}

const (
	trickleRows  = 500
	trickleEvery = 20 * time.Millisecond
	starts       = 3
)

// measureLatency lets rows trickle in. The topic has one partition, so that the n-th record is the n-th row; envelope and format are the first given.
func measureLatency(ctx context.Context, p *place, o options, engine string, r *report) error {
	db, err := openDatabase(ctx, p, engine)
	if err != nil {
		return err
	}
	defer db.close()
	w := &trickle{db: db, shape: shape{table: "trickle", columns: standard(300), transaction: 1}}
	if err := db.fill(ctx, w.shape); err != nil {
		return err
	}
	l := latency{Engine: engine, Rows: trickleRows, PollMillis: millis(p.poll)}
	t := newTask(db, o.envelopes[0], o.formats[0], 1, w.shape.table)
	if err := createTopics(p, 1, t.topic(w.shape.table)); err != nil {
		return err
	}
	watcher := follow(ctx, p, t.topic(w.shape.table))
	defer watcher.stop()
	if err := w.insert(ctx); err != nil {
		return err
	}
	if err := l.trickle(ctx, p, t, w, watcher); err != nil {
		return err
	}
	for range starts {
		if err := l.resume(ctx, p, t, w, watcher); err != nil {
			return err
		}
	}
	r.Latency = append(r.Latency, l)
	say("%s", l.line())
	return errors.Join(deleteTopics(p, t.topics()...), r.save(o))
}

// trickle is a writer of one row at a time.
type trickle struct {
	db    *database
	shape shape
	rows  int
}

// insert commits the next row.
func (w *trickle) insert(ctx context.Context) error {
	w.rows++
	s := w.shape
	s.events, s.first = 1, w.rows
	to := w.db.remote
	if to == nil {
		to = w.db.pool
	}
	return insertLiterals(ctx, to, w.db, s)
}

// trickle starts a new task, waits for its first record, and then measures row by row. The time of a row begins before its INSERT is sent: what it takes
// to commit counts as the bridge's.
func (l *latency) trickle(ctx context.Context, p *place, t task, w *trickle, watcher *watcher) error {
	b, err := startBridge(ctx, p, t)
	if err != nil {
		return err
	}
	first, err := watcher.await(ctx, w.rows)
	if err != nil {
		return errors.Join(fmt.Errorf("first record: %w\n%s", err, b.log), b.stop())
	}
	l.Starts = append(l.Starts, millis(first.Sub(b.begun)))
	var latencies []time.Duration
	begun, err := w.write(ctx)
	if err == nil {
		_, err = watcher.await(ctx, w.rows)
	}
	if err = errors.Join(err, b.stop()); err != nil {
		return err
	}
	for i, at := range begun {
		latencies = append(latencies, watcher.arrival(w.rows-len(begun)+i).Sub(at))
		l.Millis = append(l.Millis, millis(latencies[i]))
	}
	l.P50, l.P99, l.Most = millis(percentile(latencies, 50)), millis(percentile(latencies, 99)), millis(percentile(latencies, 100))
	return nil
}

// write commits a row at each tick and tells when it began.
func (w *trickle) write(ctx context.Context) (begun []time.Time, err error) {
	every := time.NewTicker(trickleEvery)
	defer every.Stop()
	for range trickleRows {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-every.C:
		}
		begun = append(begun, time.Now())
		if err := w.insert(ctx); err != nil {
			return nil, err
		}
	}
	return begun, nil
}

// resume lets a row wait for a task that has stopped, and starts it again.
func (l *latency) resume(ctx context.Context, p *place, t task, w *trickle, watcher *watcher) error {
	if err := w.insert(ctx); err != nil {
		return err
	}
	b, err := startBridge(ctx, p, t)
	if err != nil {
		return err
	}
	at, err := watcher.await(ctx, w.rows)
	if err = errors.Join(err, b.stop()); err != nil {
		return err
	}
	l.Resumes = append(l.Resumes, millis(at.Sub(b.begun)))
	return nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// watcher is a read_committed consumer that notes when each record arrives.
type watcher struct {
	arrivals []time.Time // of the records before the one that comes next
	came     chan time.Time
	err      error // good once came is closed
	stop     func()
}

// follow reads a topic of one partition until it is stopped.
func follow(ctx context.Context, p *place, topic string) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{came: make(chan time.Time, 2*trickleRows)}
	w.stop = func() {
		cancel()
		for range w.came { // until the consumer has gone
		}
	}
	go func() {
		defer close(w.came)
		options := kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart}
		w.err = kafka.Tail(ctx, kafka.Config{Brokers: []string{p.brokers}}, options, func(*kafka.Message) error {
			w.came <- time.Now()
			return nil
		})
	}()
	return w
}

// await waits until that many records have come and tells when the last one did.
func (w *watcher) await(ctx context.Context, records int) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for len(w.arrivals) < records {
		select {
		case at, open := <-w.came:
			if !open {
				return time.Time{}, fmt.Errorf("the consumer ended: %w", w.err)
			}
			w.arrivals = append(w.arrivals, at)
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%d of %d records came", len(w.arrivals), records)
		}
	}
	if len(w.arrivals) > records {
		return time.Time{}, fmt.Errorf("%d records came of %d rows", len(w.arrivals), records)
	}
	return w.arrivals[records-1], nil
}

// arrival is when the i-th record came, counted from 0.
func (w *watcher) arrival(i int) time.Time { return w.arrivals[i] }
