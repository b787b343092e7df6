package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5"

	"ctbridge/sink/kafka"
)

const pageRows = 5000

func measureEngine(ctx context.Context, p place, engine string, rows int, formats []string) ([]result, error) {
	db, err := open(ctx, p, engine, rows)
	if err != nil || db == nil {
		return nil, err
	}
	defer db.close()
	driver, err := measureDriver(ctx, db, rows)
	if err != nil {
		return nil, fmt.Errorf("driver: %w", err)
	}
	var out []result
	for _, format := range formats {
		r := result{Engine: engine, Format: format, Driver: driver}
		task := fmt.Sprintf("bench%08x", rand.Uint32())
		if r.Bridge, err = measureBridge(ctx, p, db, task, format, rows); err != nil {
			return nil, fmt.Errorf("bridge: %w", err)
		}
		messages, bytes, err := readBack(ctx, p, task+".orders")
		if err != nil {
			return nil, fmt.Errorf("read back: %w", err)
		}
		if len(messages) != rows {
			return nil, fmt.Errorf("the bridge published %d messages, want %d", len(messages), rows)
		}
		r.Bridge.MBPerSecond = r.Bridge.RowsPerSecond * float64(bytes) / float64(rows) / 1e6
		if r.Producer, err = measureProducer(ctx, p, task+".bare", messages); err != nil {
			return nil, fmt.Errorf("producer: %w", err)
		}
		r.OfSlower = r.Bridge.RowsPerSecond / min(r.Driver.RowsPerSecond, r.Producer.RowsPerSecond)
		out = append(out, r)
	}
	return out, nil
}

// timed measures a piece of work in this process.
func timed(rows int, work func() error) (rate, error) {
	begin, cpu := time.Now(), processCPU()
	if err := work(); err != nil {
		return rate{}, err
	}
	seconds := time.Since(begin).Seconds()
	return rate{RowsPerSecond: float64(rows) / seconds, CPUMicros: (processCPU() - cpu).Seconds() * 1e6 / float64(rows)}, nil
}

func processCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measureDriver reads the pages with the bare driver: raw values, nothing kept.
func measureDriver(ctx context.Context, db *database, rows int) (rate, error) {
	if db.engine == "postgres" {
		return measurePgx(ctx, db.dsn, rows)
	}
	pool, err := sql.Open(db.driver, db.dsn)
	if err != nil {
		return rate{}, err
	}
	defer pool.Close()
	return timed(rows, func() error {
		return pages(rows, func(after string) (int, string, error) {
			result, err := pool.QueryContext(ctx, "SELECT * FROM orders__ct WHERE header__change_seq > ? ORDER BY header__change_seq LIMIT "+strconv.Itoa(pageRows), after)
			if err != nil {
				return 0, "", err
			}
			defer result.Close()
			names, err := result.Columns()
			if err != nil {
				return 0, "", err
			}
			row, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
			for i := range row {
				into[i] = &row[i]
			}
			n := 0
			for ; result.Next(); n++ {
				if err := result.Scan(into...); err != nil {
					return n, "", err
				}
				after = string(row[0])
			}
			return n, after, result.Err()
		})
	})
}

func measurePgx(ctx context.Context, dsn string, rows int) (rate, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return rate{}, err
	}
	defer conn.Close(ctx)
	return timed(rows, func() error {
		return pages(rows, func(after string) (int, string, error) {
			result, err := conn.Query(ctx, "SELECT * FROM orders__ct WHERE header__change_seq > $1 ORDER BY header__change_seq LIMIT "+strconv.Itoa(pageRows), after)
			if err != nil {
				return 0, "", err
			}
			defer result.Close()
			n := 0
			for ; result.Next(); n++ {
				after = string(result.RawValues()[0])
			}
			return n, after, result.Err()
		})
	})
}

func pages(rows int, page func(after string) (int, string, error)) error {
	after := ""
	for read := 0; read < rows; {
		n, next, err := page(after)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("only %d rows", read)
		}
		read, after = read+n, next
	}
	return nil
}

// measureBridge runs the built program until everything is published.
func measureBridge(ctx context.Context, p place, db *database, task, format string, rows int) (rate, error) {
	config := filepath.Join(p.dir, task+".yaml")
	text := fmt.Sprintf("task: %s\nsource:\n  engine: %s\n  dsn: %q\n  page_rows: %d\n  horizon: {settle: 0s}\nformat: %s\nkafka:\n  brokers: [%q]\n  topic: \"{task}.{table}\"\n  topics: {data: {partitions: 6}}\nmetrics: {listen: \"127.0.0.1:0\"}\nlog: {format: text}\n",
		task, db.engine, db.dsn, pageRows, format, p.brokers)
	if format == "avro" {
		text += fmt.Sprintf("schema_registry: {url: %q}\n", p.registry)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return rate{}, err
	}
	bridge := exec.CommandContext(ctx, p.binary, "run", config)
	stderr, err := bridge.StderrPipe()
	if err != nil {
		return rate{}, err
	}
	if err := bridge.Start(); err != nil {
		return rate{}, err
	}
	defer func() { _ = bridge.Process.Kill(); _ = bridge.Wait() }()
	address, begin, err := waitStarted(stderr)
	if err != nil {
		return rate{}, err
	}
	look := time.NewTicker(50 * time.Millisecond) // rarely: looking costs the bridge time
	defer look.Stop()
	for published := 0; published < rows; {
		<-look.C
		if published, err = publishedRows(ctx, address); err != nil {
			return rate{}, err
		}
	}
	seconds := time.Since(begin).Seconds()
	cpu, resident, err := processUse(bridge.Process.Pid)
	return rate{RowsPerSecond: float64(rows) / seconds, CPUMicros: cpu.Seconds() * 1e6 / float64(rows), ResidentMiB: resident}, err
}

// waitStarted reads the log until the task has started and gives the address of its metrics.
func waitStarted(log io.Reader) (address string, begin time.Time, err error) {
	lines := bufio.NewScanner(log)
	var seen []string
	for lines.Scan() {
		line := lines.Text()
		seen = append(seen, line)
		if _, rest, found := strings.Cut(line, "metrics="); found {
			address, _, _ = strings.Cut(rest, " ")
		}
		if strings.Contains(line, "msg=started") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return address, time.Now(), nil
		}
	}
	return "", begin, fmt.Errorf("the bridge ended: %s", strings.Join(seen, "\n"))
}

func publishedRows(ctx context.Context, address string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept-Encoding", "identity")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	total := 0.0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if name, value, found := strings.Cut(lines.Text(), "} "); found && strings.HasPrefix(name, "ctbridge_events_published_total{") {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return int(total), nil
}

// processUse reads CPU time and the highest resident memory of another process.
func processUse(pid int) (cpu time.Duration, mib float64, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return time.Duration(user+system) * 10 * time.Millisecond, kib / 1024, err
}

// readBack collects what the bridge has published.
func readBack(ctx context.Context, p place, topic string) ([]*kafka.Message, int, error) {
	var out []*kafka.Message
	bytes := 0
	options := kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart, Exit: true}
	err := kafka.Tail(ctx, kafka.Config{Brokers: []string{p.brokers}}, options, func(m *kafka.Message) error {
		out = append(out, m)
		bytes += len(m.Key) + len(m.Value)
		return nil
	})
	return out, bytes, err
}

// measureProducer sends the same bytes with a bare sarama producer: same settings, transactions of the same size.
func measureProducer(ctx context.Context, p place, topic string, messages []*kafka.Message) (rate, error) {
	producer, err := bareProducer(p, topic)
	if err != nil {
		return rate{}, err
	}
	defer producer.Close()
	return timed(len(messages), func() error {
		for len(messages) > 0 && ctx.Err() == nil {
			n := min(len(messages), 20_000)
			if err := sendAll(producer, topic, messages[:n]); err != nil {
				return err
			}
			messages = messages[n:]
		}
		return ctx.Err()
	})
}

func bareProducer(p place, topic string) (sarama.AsyncProducer, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Idempotent, config.Producer.RequiredAcks, config.Net.MaxOpenRequests = true, sarama.WaitForAll, 1
	config.Producer.Compression, config.Producer.Partitioner = sarama.CompressionLZ4, sarama.NewMurmur2Partitioner
	config.Producer.Return.Successes, config.Producer.Transaction.ID = true, topic
	config.Producer.Transaction.Retry.Backoff, config.Producer.Transaction.Retry.Max = 2*time.Millisecond, 1000
	admin, err := sarama.NewClusterAdmin([]string{p.brokers}, config)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 6, ReplicationFactor: 1}, false); err != nil {
		return nil, err
	}
	return sarama.NewAsyncProducer([]string{p.brokers}, config)
}

func sendAll(producer sarama.AsyncProducer, topic string, messages []*kafka.Message) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		for range messages {
			select {
			case <-producer.Successes():
			case e := <-producer.Errors():
				done <- e.Err
				return
			}
		}
		done <- nil
	}()
	for _, m := range messages {
		producer.Input() <- &sarama.ProducerMessage{Topic: topic, Key: sarama.ByteEncoder(m.Key), Value: sarama.ByteEncoder(m.Value)}
	}
	if err := <-done; err != nil {
		return err
	}
	return producer.CommitTxn()
}
