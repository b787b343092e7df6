package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Config says how to reach Kafka and how to write to it. A zero field takes the default that its comment names.
type Config struct {
	Brokers  []string // host:port of one or more brokers to start from; required
	ClientID string   // shown in the brokers' logs and quotas; default "ctbridge"
	Version  string   // protocol level, at most that of the oldest broker, at least 2.5.0; default "3.6.0"

	TLS  *tls.Config // nil = plain text; ServerName is filled in per broker
	SASL SASL

	Compression     string // none, gzip, snappy, lz4 or zstd; default lz4
	MaxMessageBytes int    // of one record and of one batch, before compression; default 1 MiB
	MaxLetterBytes  int    // the same for dead letters; default MaxMessageBytes
	Partitioner     string // murmur2 (the Java clients' default) or crc32 (librdkafka's "consistent"); default murmur2. Changing it moves keys.

	CreateTopics *bool // create missing topics; default true
	Data         TopicSettings
	Metadata     TopicSettings // cleanup.policy defaults to compact
	Checkpoint   TopicSettings // always one partition, always compacted
	DeadLetters  TopicSettings // retention.ms defaults to -1: nothing of it is deleted by itself

	// MaxInFlightBytes bounds the records handed over and not yet acknowledged (I10); Publish waits when it is reached. Default 32 MiB.
	MaxInFlightBytes int64

	TransactionTimeout time.Duration // a transaction is finished within it, or given up; at most the brokers' transaction.max.timeout.ms; default 60 s
	DeliveryTimeout    time.Duration // how long an at-least-once record is retried before the cycle starts again; default 2 min
	OpenTimeout        time.Duration // for connecting, fencing and reading the checkpoint; default 30 s
	DialTimeout        time.Duration // for one connection with its TLS handshake; default 10 s
	RequestTimeout     time.Duration // for one request; default 30 s

	Log *slog.Logger // tells of records that Kafka does not take for a while; nil = nobody is told
}

// TopicSettings is what a topic gets when it is created.
type TopicSettings struct {
	Partitions        int32             // 0 or -1 = the brokers' default
	ReplicationFactor int16             // 0 or -1 = the brokers' default
	Config            map[string]string // topic-level settings, e.g. "min.insync.replicas": "2"
}

// SASL says how to log in.
type SASL struct {
	Mechanism string // "" or none, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER
	Username  string
	Password  string

	// OAUTHBEARER only: a fixed token, or the client-credentials grant of RFC 6749 section 4.4 at TokenURL.
	Token        string
	TokenURL     string
	ClientID     string
	ClientSecret string
	Scopes       []string
	HTTP         *http.Client // for TokenURL; default: a plain client. A request ends after 10 s in any case.
}

// withDefaults fills in what is not set.
func (c Config) withDefaults() Config {
	def(&c.ClientID, "ctbridge")
	def(&c.Version, "3.6.0")
	def(&c.Compression, "lz4")
	def(&c.MaxMessageBytes, 1<<20)
	def(&c.MaxLetterBytes, c.MaxMessageBytes)
	def(&c.Partitioner, "murmur2")
	def(&c.SASL.Mechanism, "none")
	def(&c.MaxInFlightBytes, 32<<20)
	def(&c.TransactionTimeout, time.Minute)
	def(&c.DeliveryTimeout, 2*time.Minute)
	def(&c.OpenTimeout, 30*time.Second)
	def(&c.DialTimeout, 10*time.Second)
	def(&c.RequestTimeout, 30*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.CreateTopics == nil {
		yes := true
		c.CreateTopics = &yes
	}
	return c
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

var compressions = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

// check reports everything that is wrong with a config whose defaults are filled in, as one error of class Config.
func (c Config) check() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Brokers) == 0 {
		wrong("no broker address")
	}
	if v, err := sarama.ParseKafkaVersion(c.Version); err != nil || !v.IsAtLeast(sarama.V2_5_0_0) {
		wrong("version %q: want 2.5.0 or later", c.Version)
	}
	if _, ok := compressions[c.Compression]; !ok {
		wrong("compression %q: want none, gzip, snappy, lz4 or zstd", c.Compression)
	}
	if _, ok := hashes[c.Partitioner]; !ok {
		wrong("partitioner %q: want murmur2 or crc32", c.Partitioner)
	}
	if c.MaxMessageBytes < 1<<10 || c.MaxMessageBytes >= int(sarama.MaxRequestSize) {
		wrong("max message bytes %d: want at least 1024 and less than %d", c.MaxMessageBytes, sarama.MaxRequestSize)
	}
	if c.TransactionTimeout < time.Second {
		wrong("transaction timeout %v: want at least 1s", c.TransactionTimeout)
	}
	errs = append(errs, c.SASL.check()...)
	if len(errs) == 0 {
		return nil
	}
	return fault.New(fault.Config, "kafka", errors.Join(errs...), "")
}

func (s SASL) check() []error {
	switch s.Mechanism {
	case "none":
		return nil
	case sarama.SASLTypePlaintext, sarama.SASLTypeSCRAMSHA256, sarama.SASLTypeSCRAMSHA512:
		if s.Username == "" || s.Password == "" {
			return []error{fmt.Errorf("SASL %s: user name and password are required", s.Mechanism)}
		}
		return nil
	case sarama.SASLTypeOAuth:
		if (s.Token == "") == (s.TokenURL == "") {
			return []error{errors.New("SASL OAUTHBEARER: either a token or a token URL is required")}
		}
		return nil
	}
	return []error{fmt.Errorf("SASL mechanism %q: want none, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", s.Mechanism)}
}

// settings gives what a topic of that role is created with.
func (c Config) settings(role change.TopicRole) TopicSettings {
	switch role {
	case change.MetadataTopic:
		return c.Metadata.with(map[string]string{"cleanup.policy": "compact"})
	case change.CheckpointTopic:
		s := c.Checkpoint.with(checkpointTopicConfig)
		s.Partitions = 1
		s.Config["cleanup.policy"] = "compact"
		return s
	case change.DeadLetterTopic:
		return c.DeadLetters.with(map[string]string{"retention.ms": "-1", "max.message.bytes": strconv.Itoa(c.MaxLetterBytes)})
	case change.DataTopic:
	}
	return c.Data.with(nil)
}

// checkpointTopicConfig keeps the topic small, so that a start reads it in moments: only closed segments are compacted.
var checkpointTopicConfig = map[string]string{
	"cleanup.policy":            "compact",
	"segment.bytes":             "16777216",
	"min.cleanable.dirty.ratio": "0.1",
}

// with gives the settings with explicit counts and with defaults for what the user did not set.
func (s TopicSettings) with(defaults map[string]string) TopicSettings {
	out := TopicSettings{Partitions: s.Partitions, ReplicationFactor: s.ReplicationFactor, Config: map[string]string{}}
	def(&out.Partitions, -1)
	def(&out.ReplicationFactor, -1)
	for _, values := range []map[string]string{defaults, s.Config} {
		for name, value := range values {
			out.Config[name] = value
		}
	}
	return out
}
