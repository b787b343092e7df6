package kafka_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/sink/embedded"
	"ctbridge/sink/kafka"
)

// The benchmarks compare the sink with the bare client on the same broker in one run; only the ratio counts. The broker is a process of its
// own, so that the CPU figures are those of the client.

const brokerEnv = "CTBRIDGE_BENCH_BROKER"

// TestBrokerProcess is not a test but the broker of the benchmarks. It keeps little of what it gets.
func TestBrokerProcess(t *testing.T) {
	if os.Getenv(brokerEnv) == "" {
		t.Skip("only the benchmarks start it")
	}
	servers, err := embedded.Start(embedded.Options{NoRegistry: true, Partitions: 6})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening", servers.Brokers()[0])
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			servers.Cluster().ApplyRetention()
		}
	}()
	os.Stdin.Read(make([]byte, 1)) // until the parent is gone
}

func benchBroker(b *testing.B) kafka.Config {
	b.Helper()
	command := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestBrokerProcess$")
	command.Env = append(os.Environ(), brokerEnv+"=1")
	if _, err := command.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	var address string
	if _, err := fmt.Fscanf(out, "listening %s\n", &address); err != nil {
		b.Fatal(err)
	}
	return kafka.Config{Brokers: []string{address}, Data: kafka.TopicSettings{Partitions: 6, Config: map[string]string{"retention.bytes": "1000000"}}}
}

const perTransaction = 20_000

// benchRecords are 300-byte records of text over many keys.
func benchRecords() []*change.Record {
	records := make([]*change.Record, 4096)
	for i := range records {
		value := fmt.Appendf(nil, `{"id":%d,"status":"delivered","fee":"%d.%02d","note":"`, i, i%500, i%100)
		for n := 0; len(value) < 298; n++ {
			value = fmt.Appendf(value, "w%x ", (i*31+n*7919)%65536)
		}
		records[i] = &change.Record{Table: parcel, Topic: "parcel", Key: fmt.Append(nil, i), Value: append(value, `"}`...)}
	}
	return records
}

func BenchmarkPublish(b *testing.B) {
	c := benchBroker(b)
	records := benchRecords()
	s, err := kafka.NewTransactional(c, "prepare", "checkpoint")
	if err == nil {
		_, err = s.Open(b.Context())
	}
	if err == nil {
		err = errors.Join(s.EnsureTopic(b.Context(), "parcel", change.DataTopic), s.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
	for _, codec := range []string{"none", "lz4"} {
		c.Compression = codec
		b.Run("bare/"+codec, func(b *testing.B) { benchBare(b, c, records) })
		b.Run("transactional/"+codec, func(b *testing.B) { benchSink(b, c, records) })
	}
}

func benchSink(b *testing.B, c kafka.Config, records []*change.Record) {
	s, err := kafka.NewTransactional(c, "task.0", "checkpoint")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	entries := []checkpoint.Entry{{Key: "p", Value: []byte("1")}}
	measure(b, func(i int) error {
		if err := s.Publish(b.Context(), records[i%len(records)]); err != nil {
			return err
		}
		if i%perTransaction < perTransaction-1 {
			return nil
		}
		return s.Commit(b.Context(), entries)
	}, func() error { return s.Commit(b.Context(), entries) })
}

// benchBare does with the client alone what the sink does: the same transactions, with a goroutine that counts acks.
func benchBare(b *testing.B, c kafka.Config, records []*change.Record) {
	conf := sarama.NewConfig()
	conf.Version = sarama.V3_6_0_0
	conf.Net.MaxOpenRequests = 1
	conf.Producer.Idempotent, conf.Producer.RequiredAcks = true, sarama.WaitForAll
	conf.Producer.Return.Successes = true
	conf.Producer.Partitioner = sarama.NewMurmur2Partitioner
	conf.Producer.Transaction.ID = "bare"
	conf.Producer.Transaction.Retry.Backoff, conf.Producer.Transaction.Retry.Max = 2*time.Millisecond, 1000
	if c.Compression == "lz4" {
		conf.Producer.Compression = sarama.CompressionLZ4
	}
	producer, err := sarama.NewAsyncProducer(c.Brokers, conf)
	if err != nil {
		b.Fatal(err)
	}
	defer producer.Close()
	acks := make(chan struct{}, perTransaction)
	go func() {
		for range producer.Successes() {
			acks <- struct{}{}
		}
	}()
	open := 0
	commit := func() error {
		for ; open > 0; open-- {
			<-acks
		}
		return producer.CommitTxn()
	}
	measure(b, func(i int) error {
		if i%perTransaction == 0 {
			if err := producer.BeginTxn(); err != nil {
				return err
			}
		}
		r := records[i%len(records)]
		producer.Input() <- &sarama.ProducerMessage{Topic: r.Topic, Key: sarama.ByteEncoder(r.Key), Value: sarama.ByteEncoder(r.Value)}
		open++
		if i%perTransaction < perTransaction-1 {
			return nil
		}
		return commit()
	}, func() error {
		if open == 0 {
			return nil
		}
		return commit()
	})
}

// measure runs b.N steps and reports CPU time per record.
func measure(b *testing.B, step func(i int) error, end func() error) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	for i := range b.N {
		if err := step(i); err != nil {
			b.Fatal(err)
		}
	}
	if err := end(); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/record")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// cpuTime is what this process used so far, user and system.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
