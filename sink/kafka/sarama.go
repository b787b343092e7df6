package kafka

import (
	"context"
	"log/slog"

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

// RouteLogs sends what the Kafka client has to say to log, at debug level. The client has one log for the whole process: call this once,
// before any sink is opened.
func RouteLogs(log *slog.Logger) {
	sarama.Logger = clientLog{log}
	sarama.DebugLogger = clientLog{log}
}
