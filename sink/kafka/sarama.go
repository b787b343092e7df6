package kafka

import (
	"context"
	"log/slog"
	"time"

	"github.com/IBM/sarama"
)

// clientConfig builds the client's settings for one session on a line: those that every use shares. Requests fail fast, because whoever
// asks classifies the error.
func (c Config) clientConfig(ctx context.Context, l *line) *sarama.Config {
	conf := sarama.NewConfig()
	conf.ClientID = c.ClientID
	conf.Version, _ = sarama.ParseKafkaVersion(c.Version) // checked
	conf.MetricRegistry = newNoMetrics()
	conf.Net.Proxy.Enable, conf.Net.Proxy.Dialer = true, l
	conf.Net.DialTimeout = c.DialTimeout
	conf.Net.ReadTimeout, conf.Net.WriteTimeout = c.RequestTimeout, c.RequestTimeout
	conf.Admin.Timeout = c.RequestTimeout
	conf.Metadata.Full = false // only topics in use
	conf.Metadata.AllowAutoTopicCreation = false
	conf.Metadata.Retry.Max = 0
	c.SASL.login(ctx, conf)
	return conf
}

// producerConfig adds what a producer needs: idempotent, all acks (I1), order kept per key (I4), patience for patience's length. Flush
// settings stay at their defaults: with one request in flight a batch gathers while the last one travels.
func (c Config) producerConfig(conf *sarama.Config, l *line, transactionalID string, patience time.Duration, doomed func() bool) *sarama.Config {
	out := *conf
	out.Net.MaxOpenRequests = 1
	out.Metadata.Retry.Max, out.Metadata.Retry.BackoffFunc = attempts(patience), l.backoff
	out.Producer.Idempotent = true
	out.Producer.RequiredAcks = sarama.WaitForAll
	out.Producer.Timeout = c.RequestTimeout / 2
	out.Producer.Retry.Max = attempts(patience)
	out.Producer.Retry.BackoffFunc = func(retries, most int) time.Duration {
		if doomed() {
			return 0
		}
		return l.backoff(retries, most)
	}
	out.Producer.Return.Successes, out.Producer.Return.Errors = true, true
	out.Producer.Compression = compressions[c.Compression]
	out.Producer.MaxMessageBytes = c.MaxMessageBytes
	out.Producer.Partitioner = func(string) sarama.Partitioner { return partitioner{hashes[c.Partitioner]} }
	out.Producer.Transaction.ID = transactionalID
	out.Producer.Transaction.Timeout = c.TransactionTimeout
	out.Producer.Transaction.Retry.Max = transactionRetries
	out.Producer.Transaction.Retry.BackoffFunc = func(retries, _ int) time.Duration { return l.transactionBackoff(retries) }
	return &out
}

// transactionRetries with transactionBackoff fill about half a minute.
const transactionRetries = 400

// transactionBackoff starts small: the brokers finish one transaction in moments and refuse the next one meanwhile
// (CONCURRENT_TRANSACTIONS), which every transaction meets.
func (l *line) transactionBackoff(retries int) time.Duration {
	switch {
	case l.isCut():
		return 0
	case retries < 25:
		return 2 * time.Millisecond
	case retries < 100:
		return 20 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// RouteLogs sends what the Kafka client has to say to log, at debug level. The client has one log for the whole process: call this once,
// before any sink is opened.
func RouteLogs(log *slog.Logger) {
	sarama.Logger = clientLog{log}
	sarama.DebugLogger = clientLog{log}
}
