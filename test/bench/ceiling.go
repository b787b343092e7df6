package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5"
)

// pageRows is the bridge's default of source.page_rows.
const pageRows = 5000

// page is how many rows the driver reads at once: with updates one more, a multiple of the three rows of an insert and an update, so that no page ends
// between rows of equal sequence.
func (s shape) page() int {
	if s.updates {
		return pageRows + 1
	}
	return pageRows
}

// ceiling is what a bare client reaches.
type ceiling struct {
	RowsPerSecond  float64 `json:"rows_per_second"`
	CPUMicros      float64 `json:"cpu_us_per_row"`
	ServerMicros   float64 `json:"server_cpu_us_per_row"` // of the database or the broker
	BatchedRecords int     `json:"records_per_transaction,omitempty"`
}

// page is the time for one page of reading.
func (c ceiling) page() time.Duration {
	if c.RowsPerSecond == 0 {
		return 0
	}
	return time.Duration(pageRows / c.RowsPerSecond * float64(time.Second))
}

func processCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// timed measures work in this process over so many events.
func timed(events, server int, work func() error) (ceiling, error) {
	begin, cpu, other := time.Now(), processCPU(), treeCPU(server)
	if err := work(); err != nil {
		return ceiling{}, err
	}
	per := 1 / float64(events)
	took := time.Since(begin)
	return ceiling{
		RowsPerSecond: float64(events) / took.Seconds(), CPUMicros: micros(processCPU()-cpu) * per, ServerMicros: micros(treeCPU(server)-other) * per,
	}, nil
}

// measureDriver reads a change table with the bare driver: all its rows, before-images too, in pages in the order of the change sequence; values are
// not looked at. That is less than the bridge asks for, which joins the images of an update: no reader of these rows is faster.
func measureDriver(ctx context.Context, d *database, s shape) (ceiling, error) {
	read, done, err := d.reader(ctx, s)
	if err != nil {
		return ceiling{}, err
	}
	defer done()
	if _, _, err := read(""); err != nil { // connects and prepares
		return ceiling{}, err
	}
	return timed(s.events, d.pid, func() error { return readPages(read, s) })
}

// readPages reads all rows.
func readPages(read pageReader, s shape) error {
	after, rows := "", 0
	for n := s.page(); n == s.page(); {
		var err error
		if n, after, err = read(after); err != nil {
			return err
		}
		rows += n
	}
	if rows != s.changeRows() {
		return fmt.Errorf("%d rows were read, %d are there", rows, s.changeRows())
	}
	return nil
}

// pageReader reads the page behind a sequence.
type pageReader func(after string) (rows int, last string, err error)

func (d *database) reader(ctx context.Context, s shape) (pageReader, func(), error) {
	text := "SELECT " + strings.Join(s.names(), ", ") + " FROM " + d.changes(s) + " WHERE header__change_seq > " + d.param + " ORDER BY header__change_seq "
	if d.driver == "pgx" {
		return pgxReader(ctx, d.dsn, fmt.Sprint(text, "LIMIT ", s.page()), s.page())
	}
	limit := fmt.Sprint("LIMIT ", s.page())
	if d.driver == "sqlserver" {
		limit = fmt.Sprintf("OFFSET 0 ROWS FETCH NEXT %d ROWS ONLY", s.page())
	}
	return sqlReader(ctx, d, text+limit, len(s.names()), s.page())
}

// pgxReader takes the values as they came over the wire.
func pgxReader(ctx context.Context, dsn, text string, page int) (pageReader, func(), error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, nil, err
	}
	read := func(after string) (n int, last string, err error) {
		rows, err := conn.Query(ctx, text, after)
		if err != nil {
			return 0, "", err
		}
		defer rows.Close()
		for ; rows.Next(); n++ {
			if raw := rows.RawValues(); n == page-1 {
				last = string(raw[0])
			}
		}
		return n, last, rows.Err()
	}
	return read, func() { conn.Close(context.WithoutCancel(ctx)) }, nil
}

// sqlReader lets the driver hand its values to destinations that drop them.
func sqlReader(ctx context.Context, d *database, text string, width, page int) (pageReader, func(), error) {
	pool, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return nil, nil, err
	}
	statement, err := pool.PrepareContext(ctx, text)
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	var last lastText
	into := make([]any, width)
	into[0] = &last
	for i := 1; i < width; i++ {
		into[i] = dropped{}
	}
	read := func(after string) (n int, to string, err error) {
		rows, err := statement.QueryContext(ctx, d.bind(after))
		if err != nil {
			return 0, "", err
		}
		defer rows.Close()
		for ; rows.Next(); n++ {
			last.wanted = n == page-1
			if err := rows.Scan(into...); err != nil {
				return n, "", err
			}
		}
		return n, last.text, rows.Err()
	}
	return read, func() { statement.Close(); pool.Close() }, nil
}

// dropped is a destination for values that nobody looks at.
type dropped struct{}

// Scan drops a value.
func (dropped) Scan(any) error { return nil }

// lastText keeps the text of the last row of a full page.
type lastText struct {
	wanted bool
	text   string
}

// Scan keeps a value where it is wanted.
func (l *lastText) Scan(v any) error {
	if !l.wanted {
		return nil
	}
	switch v := v.(type) {
	case string:
		l.text = v
	case []byte:
		l.text = string(v)
	default:
		return fmt.Errorf("a sequence of type %T", v)
	}
	return nil
}

// measureProducer sends the same bytes to the same partitions with a bare sarama producer: lz4, idempotent, in transactions of as many records as the
// bridge's have.
func measureProducer(ctx context.Context, p *place, topic string, r *records, events, transaction int) (ceiling, error) {
	if err := createTopics(p, len(r.partitions), topic); err != nil {
		return ceiling{}, err
	}
	producer, err := bareProducer(p, topic)
	if err != nil {
		return ceiling{}, err
	}
	defer producer.Close()
	list := r.mixed()
	if err := sendAll(producer, topic, r, list[:min(len(list), 200)]); err != nil { // connects, meets all partitions
		return ceiling{}, err
	}
	c, err := timed(events, p.pid("kafka"), func() error {
		for rest := list; len(rest) > 0 && ctx.Err() == nil; {
			n := min(len(rest), transaction)
			if err := sendAll(producer, topic, r, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return ctx.Err()
	})
	c.BatchedRecords = transaction
	return c, err
}

func bareProducer(p *place, id string) (sarama.AsyncProducer, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Idempotent, config.Producer.RequiredAcks, config.Net.MaxOpenRequests = true, sarama.WaitForAll, 1
	config.Producer.Compression, config.Producer.Partitioner = sarama.CompressionLZ4, sarama.NewManualPartitioner
	config.Producer.Return.Successes, config.Producer.Transaction.ID = true, id
	config.Producer.Transaction.Retry.Backoff, config.Producer.Transaction.Retry.Max = 2*time.Millisecond, 1000
	return sarama.NewAsyncProducer([]string{p.brokers}, config)
}

// sendAll sends records in one transaction.
func sendAll(producer sarama.AsyncProducer, topic string, r *records, list []sent) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		var first error
		for range list {
			select {
			case <-producer.Successes():
			case e := <-producer.Errors():
				first = cmp.Or(first, e.Err)
			}
		}
		done <- first
	}()
	messages := make([]sarama.ProducerMessage, len(list))
	for i, s := range list {
		messages[i] = sarama.ProducerMessage{Topic: topic, Partition: s.partition, Key: sarama.ByteEncoder(r.key(s.span)), Value: sarama.ByteEncoder(r.value(s.span))}
		producer.Input() <- &messages[i]
	}
	if err := <-done; err != nil {
		return err
	}
	return producer.CommitTxn()
}
