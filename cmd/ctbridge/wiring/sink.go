package wiring

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"ctbridge/bridge"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/file"
	checkpointsql "ctbridge/bridge/checkpoint/sql"
	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
	"ctbridge/source/mssql"
	"ctbridge/source/mysql"
	"ctbridge/source/postgres"
)

// sink is what the wiring needs beyond the runner.
type sink interface {
	bridge.Sink
	Ping(ctx context.Context) error
}

// KafkaConfig translates the kafka section.
func KafkaConfig(k *config.Kafka) (kafka.Config, error) {
	secure, err := tlsConfig("kafka.tls", &k.TLS)
	if err != nil {
		return kafka.Config{}, err
	}
	c := kafka.Config{
		Brokers: k.Brokers, ClientID: k.ClientID, Version: k.Version, TLS: secure,
		SASL: kafka.SASL{
			Mechanism: k.SASL.Mechanism, Username: k.SASL.Username, Password: k.SASL.Password.Reveal(), Token: k.SASL.Token.Reveal(),
			TokenURL: k.SASL.OAuth.TokenURL, ClientID: k.SASL.OAuth.ClientID, ClientSecret: k.SASL.OAuth.ClientSecret.Reveal(), Scopes: k.SASL.OAuth.Scopes,
		},
		Compression: k.Compression, MaxMessageBytes: int(k.MaxMessageBytes), Partitioner: k.Partitioner, CreateTopics: &k.CreateTopics,
		Data: topicSettings(k.Topics.Data), Metadata: topicSettings(k.Topics.Metadata), DeadLetters: topicSettings(k.Topics.DeadLetters),
		Checkpoint:         kafka.TopicSettings{Partitions: 1, ReplicationFactor: int16(k.Topics.Checkpoint.ReplicationFactor), Config: k.Topics.Checkpoint.Config},
		TransactionTimeout: k.TransactionTimeout,
	}
	return c, nil
}

func topicSettings(t config.Topic) kafka.TopicSettings {
	return kafka.TopicSettings{Partitions: int32(t.Partitions), ReplicationFactor: int16(t.ReplicationFactor), Config: t.Config}
}

// newSink builds the sink of a shard for the task's delivery.
func newSink(t *config.Task, shard checkpoint.Shard, log *slog.Logger) (sink, error) {
	c, err := KafkaConfig(&t.Kafka)
	if err != nil {
		return nil, err
	}
	c.MaxLetterBytes = t.LetterBytes()
	c.MaxInFlightBytes = int64(t.Memory.MaxBytes) / 2
	c.Log = log
	if t.Delivery == config.ExactlyOnce {
		return made(kafka.NewShard(c, t.Name, shard, t.Checkpoint.Topic))
	}
	store, err := stores[t.Checkpoint.Store](t, c, shard)
	if err != nil {
		return nil, err
	}
	return made(kafka.NewIdempotent(c, store))
}

// made keeps the nil pointer of a failure from becoming an interface that is not nil.
func made[S sink](s S, err error) (sink, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// stores opens each checkpoint store for delivery at_least_once.
var stores = map[string]func(t *config.Task, c kafka.Config, shard checkpoint.Shard) (checkpoint.Store, error){
	config.StoreKafka: func(t *config.Task, c kafka.Config, shard checkpoint.Shard) (checkpoint.Store, error) {
		return kafka.NewShardStore(c, t.Name, shard, t.Checkpoint.Topic)
	},
	config.StoreFile: func(t *config.Task, _ kafka.Config, _ checkpoint.Shard) (checkpoint.Store, error) {
		return file.New(t.Checkpoint.Path), nil
	},
	config.StoreSQL: func(t *config.Task, _ kafka.Config, _ checkpoint.Shard) (checkpoint.Store, error) {
		store, err := sqlStore(t)
		if err != nil {
			return nil, err
		}
		return store, nil
	},
}

// tableDatabases open the databases of the checkpoint table, and say it in their dialects.
var tableDatabases = map[string]struct {
	open    func(dsn string, secure *tls.Config) (*sql.DB, error)
	dialect func() checkpointsql.Dialect
}{
	config.EngineSQLServer: {mssql.OpenOwn, checkpointsql.SQLServer},
	config.EnginePostgres:  {postgres.OpenOwn, checkpointsql.PostgreSQL},
	config.EngineMySQL:     {mysql.OpenOwn, checkpointsql.MySQL},
	config.EngineSQLite:    {openSQLite, checkpointsql.SQLite},
}

func sqlStore(t *config.Task) (*checkpointsql.Store, error) {
	d := tableDatabases[t.Checkpoint.Engine]
	secure, err := tlsConfig("checkpoint.tls", &t.Checkpoint.TLS)
	if err != nil {
		return nil, err
	}
	db, err := d.open(t.Checkpoint.DSN.Reveal(), secure)
	if err != nil {
		return nil, fmt.Errorf("checkpoint.dsn: %w", err)
	}
	return checkpointsql.New(db, d.dialect(), t.Checkpoint.Table, t.Name)
}

func openSQLite(dsn string, _ *tls.Config) (*sql.DB, error) {
	db, err := sql.Open("sqlite", patientSQLite(dsn))
	if err != nil {
		return nil, fault.New(fault.Config, "open sqlite", errors.New("not a connection string of sqlite"), "see source.dsn for the forms")
	}
	return db, nil
}

// patientSQLite lets the checkpoint wait for other writers of the file, which may be that of the change tables; without it the first
// collision would end the session.
func patientSQLite(dsn string) string {
	separator := "?"
	switch {
	case strings.Contains(dsn, "busy_timeout"):
		return dsn
	case strings.Contains(dsn, "?"):
		separator = "&"
	}
	return dsn + separator + "_pragma=busy_timeout(5000)"
}
