package kafka

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// The vectors are those of the Java client's own test (org.apache.kafka.common.utils.UtilsTest, testMurmur2).
func TestMurmur2OfTheJavaClient(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

// Our partitioners agree with the client's own for every key.
func TestPartitionersAgreeWithTheClients(t *testing.T) {
	t.Parallel()
	clients := map[string]sarama.Partitioner{"murmur2": sarama.NewMurmur2Partitioner("t"), "crc32": sarama.NewConsistentCRCHashPartitioner("t")}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		partitions := rapid.Int32Range(1, 1000).Draw(t, "partitions")
		for name, client := range clients {
			want, err := client.Partition(&sarama.ProducerMessage{Key: sarama.ByteEncoder(key)}, partitions)
			if err != nil {
				t.Fatal(err)
			}
			if got := int32(hashes[name](key) % uint32(partitions)); got != want {
				t.Fatalf("%s: partition %d, want %d", name, got, want)
			}
		}
	})
}

// Rows without key keep their order: they share the partition of their table, or the one that the record asks for.
func TestCase74_PartitionWithoutKey(t *testing.T) {
	t.Parallel()
	table := change.TableID{Schema: "shop", Name: "log"}
	partition := func(r *change.Record) uint32 { return murmur2(partitionKey(r)) % 64 }
	byTable := partition(&change.Record{Table: table})
	for i := range 100 {
		if p := partition(&change.Record{Table: table, Value: []byte{byte(i)}}); p != byTable {
			t.Fatalf("partition %d, before %d", p, byTable)
		}
	}
	if p := partition(&change.Record{Table: table, Key: []byte("shop.log")}); p != byTable {
		t.Errorf("without key the table's name decides: %d, %d", p, byTable)
	}
	if p := partition(&change.Record{Table: table, Key: []byte("5"), PartitionBy: []byte("shop.log")}); p != byTable {
		t.Errorf("PartitionBy is stronger than the key: %d, %d", p, byTable)
	}
	spread := map[uint32]bool{}
	for i := range 100 {
		spread[partition(&change.Record{Table: table, Key: fmt.Append(nil, i)})] = true
	}
	if len(spread) < 30 {
		t.Errorf("100 keys lie on %d of 64 partitions", len(spread))
	}
}

func TestSequenceNumbersBeginAgain(t *testing.T) {
	t.Parallel()
	const most = 1<<31 - 1
	for _, tt := range []struct {
		from int32
		n    int
		want int32
	}{{0, 5, 5}, {most - 4, 4, most}, {most - 4, 5, 0}, {most, 1, 0}, {most, 3, 2}} {
		if got := nextSequence(tt.from, tt.n); got != tt.want {
			t.Errorf("%d after %d: %d, want %d", tt.n, tt.from, got, tt.want)
		}
	}
}

func TestClassesOfErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want fault.Class
	}{
		{sarama.ErrOutOfBrokers, fault.Retry},
		{errors.New("connection reset"), fault.Retry},
		{context.Canceled, fault.Retry},
		{sarama.ErrNotLeaderForPartition, fault.Retry},
		{sarama.ErrRequestTimedOut, fault.Retry},
		{sarama.ErrUnknownTopicOrPartition, fault.Retry},
		{sarama.ErrConcurrentTransactions, fault.Retry},
		{sarama.ErrClusterAuthorizationFailed, fault.Fatal},
		{sarama.ErrTransactionalIDAuthorizationFailed, fault.Fatal},
		{sarama.ErrSASLAuthenticationFailed, fault.Fatal},
		{sarama.ErrUnsupportedSASLMechanism, fault.Fatal},
		{sarama.ErrUnsupportedVersion, fault.Fatal},
		{sarama.ErrInvalidTransactionTimeout, fault.Config},
		{sarama.ErrTopicAuthorizationFailed, fault.Table},
		{sarama.ErrInvalidTopic, fault.Table},
		{sarama.ErrMessageSizeTooLarge, fault.Poison},
		{sarama.ErrInvalidRecord, fault.Table},
		{sarama.ErrPolicyViolation, fault.Table},
		{x509.UnknownAuthorityError{}, fault.Fatal},
		{x509.CertificateInvalidError{Reason: x509.Expired}, fault.Fatal},
		{x509.HostnameError{Certificate: &x509.Certificate{}, Host: "kafka"}, fault.Fatal},
		{fault.New(fault.Poison, "", errors.New("x"), ""), fault.Poison},
	}
	for _, tt := range tests {
		wrapped := []error{tt.err, fmt.Errorf("wrapped: %w", tt.err), sarama.Wrap(sarama.ErrOutOfBrokers, tt.err)}
		var code sarama.KError
		if errors.As(tt.err, &code) {
			wrapped = append(wrapped, sarama.Wrap(code, errors.New("words of the broker"))) // how the client reports a refused login
		}
		for _, err := range wrapped {
			got := classify("doing something", err)
			if fault.ClassOf(got) != tt.want || !errors.Is(got, tt.err) {
				t.Errorf("%v: class %v, want %v", err, fault.ClassOf(got), tt.want)
			}
		}
	}
	if classify("x", nil) != nil {
		t.Error("no error became one")
	}
	if err := classify("commit", sarama.ErrProducerFenced); !isFenced(err) || strings.Contains(err.Error(), "Unknown error") {
		t.Errorf("code 90 reads %q", err)
	}
}

func TestConfigNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := NewTransactional(Config{
		Version: "0.8", Compression: "rar", Partitioner: "random", MaxMessageBytes: 5, TransactionTimeout: time.Millisecond,
		SASL: SASL{Mechanism: "KERBEROS", Password: "hush"},
	}, "id", "topic")
	if err == nil || fault.ClassOf(err) != fault.Config {
		t.Fatalf("got %v", err)
	}
	for _, word := range []string{"broker", "0.8", "rar", "random", "5", "1ms", "KERBEROS"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is missing in %v", word, err)
		}
	}
	if strings.Contains(err.Error(), "hush") {
		t.Error("the error tells the password")
	}
	for name, make := range map[string]func() error{
		"no id":     func() error { _, err := NewTransactional(Config{Brokers: []string{"b:1"}}, "", "topic"); return err },
		"bad topic": func() error { _, err := NewTransactional(Config{Brokers: []string{"b:1"}}, "id", "a/b"); return err },
		"two tokens": func() error {
			_, err := NewIdempotent(Config{Brokers: []string{"b:1"}, SASL: SASL{Mechanism: "OAUTHBEARER", Token: "a", TokenURL: "b"}}, nil)
			return err
		},
		"no password": func() error {
			_, err := NewStore(Config{Brokers: []string{"b:1"}, SASL: SASL{Mechanism: "PLAIN", Username: "u"}}, "id", "t")
			return err
		},
	} {
		if err := make(); err == nil || fault.ClassOf(err) != fault.Config {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The check of a record's size is exact enough for the brokers' default limit: what passes it fits a batch of that size.
func TestWireSizeBoundsTheBatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &change.Record{Topic: "t", Value: rapid.SliceOfN(rapid.Byte(), 0, 500).Draw(t, "value"), Key: rapid.SliceOf(rapid.Byte()).Draw(t, "key")}
		for range rapid.IntRange(0, 5).Draw(t, "headers") {
			r.Headers = append(r.Headers, change.Header{Name: rapid.String().Draw(t, "name"), Value: rapid.SliceOf(rapid.Byte()).Draw(t, "header")})
		}
		if got, want := batchSize(r), batchOverhead+wireSize(r); got > want {
			t.Fatalf("a batch of %d bytes, allowed for %d", got, want)
		}
	})
}

// batchSize is what a record batch of one record takes (KIP-98): 61 bytes, and the record in variable-length numbers.
func batchSize(r *change.Record) int {
	body := 1 + 1 + 1 + varint(len(r.Key)) + len(r.Key) + varint(len(r.Value)) + len(r.Value) + varint(len(r.Headers))
	for _, h := range r.Headers {
		body += varint(len(h.Name)) + len(h.Name) + varint(len(h.Value)) + len(h.Value)
	}
	return 61 + varint(body) + body
}

func varint(n int) int {
	size := 1
	for n = n * 2; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func TestLine(t *testing.T) {
	t.Parallel()
	var total time.Duration
	for i := range 60 {
		total += backoff(i)
	}
	if total < 50*time.Second || total > 60*time.Second || backoff(0) > 20*time.Millisecond {
		t.Errorf("60 retries take %v, the first %v", total, backoff(0))
	}
	l := newLine(t.Context(), Config{})
	l.cut()
	if l.sleep(time.Hour) {
		t.Error("a cut line still waits")
	}
	if _, err := l.Dial("tcp", "127.0.0.1:1"); !errors.Is(err, errCut) {
		t.Errorf("dial on a cut line: %v", err)
	}
}
