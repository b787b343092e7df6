package config

import "time"

// Kafka is the sink.
type Kafka struct {
	Brokers  []string `yaml:"brokers" required:"true" list:"comma" example:"[\"kafka:9092\"]" doc:"host:port of some brokers; a list, or one text with commas."`
	ClientID string   `yaml:"client_id" default:"ctbridge-{task}" doc:"Name that brokers log and limit by."`
	Version  string   `yaml:"version" default:"3.6.0" doc:"Protocol level: at most the version of the oldest broker, at least 2.5.0."`

	Topic         string `yaml:"topic" default:"{schema}.{table}" doc:"Topic of a table's messages, over {task}, {schema} and {table}; a table that would get the topic of another is stopped. Without {table}, tables share a topic on purpose: then rows of different tables with equal keys have the same record key, unless key.format is avro. Where a table has no schema, {schema} is left out with the character behind it. Characters that topics do not allow become _uXXXX, as in Avro names."`
	MetadataTopic string `yaml:"metadata_topic" default:"{task}.metadata" doc:"Topic of metadata messages, over {task}."`
	ControlTopic  string `yaml:"control_topic" default:"ctbridge.{task}.control" doc:"Topic of requests to the running task, such as those of ctbridge snapshot, over {task}. The first request makes it, with the settings of the checkpoint's topic. Who may write to it may have any row read that the source's login can see."`
	CreateTopics  bool   `yaml:"create_topics" default:"true" doc:"Create missing topics."`
	Topics        Topics `yaml:"topics" doc:"Settings of topics that are created."`

	Compression        string        `yaml:"compression" default:"lz4" oneof:"none|gzip|snappy|lz4|zstd" doc:"Compression of batches."`
	Partitioner        string        `yaml:"partitioner" default:"murmur2" oneof:"murmur2|crc32" doc:"How a key chooses its partition: like Java clients, or like librdkafka. A change reorders keys that are under way."`
	MaxMessageBytes    Size          `yaml:"max_message_bytes" default:"1MiB" min:"1KiB" max:"64MiB" doc:"Largest record. The brokers' message.max.bytes and a topic's max.message.bytes must allow it."`
	TransactionTimeout time.Duration `yaml:"transaction_timeout" default:"60s" min:"1s" max:"15m" doc:"After so long the brokers abort a transaction whose task is gone."`

	TLS  TLS  `yaml:"tls" doc:"Encryption."`
	SASL SASL `yaml:"sasl" doc:"Authentication."`
}

// Topics are settings by role.
type Topics struct {
	Data        Topic           `yaml:"data" doc:"Topics of messages."`
	Metadata    Topic           `yaml:"metadata" default:"{partitions: 1, config: {cleanup.policy: compact}}" doc:"The topic of metadata messages."`
	DeadLetters Topic           `yaml:"dead_letters" default:"{partitions: 1, config: {retention.ms: -1}}" doc:"The topic of dead letters, which by default keeps them for ever."`
	Checkpoint  CheckpointTopic `yaml:"checkpoint" default:"{config: {cleanup.policy: compact, segment.bytes: 16777216, min.cleanable.dirty.ratio: 0.1}}" doc:"The topic of checkpoints; it always has one partition."`
}

// Topic is what a new topic gets.
type Topic struct {
	Partitions        int               `yaml:"partitions" default:"-1" min:"-1" max:"100000" doc:"Partitions; -1 = the brokers' default."`
	ReplicationFactor int               `yaml:"replication_factor" default:"-1" min:"-1" max:"1000" doc:"Replicas; -1 = the brokers' default."`
	Config            map[string]string `yaml:"config" example:"{retention.ms: \"604800000\"}" doc:"Topic settings by their Kafka names."`
}

// CheckpointTopic is what the topic of checkpoints gets.
type CheckpointTopic struct {
	ReplicationFactor int               `yaml:"replication_factor" default:"-1" min:"-1" max:"1000" doc:"Replicas; -1 = the brokers' default."`
	Config            map[string]string `yaml:"config" doc:"Topic settings by their Kafka names."`
}

// TLS is how a neighbour is reached: brokers, registry and database.
type TLS struct {
	Enabled            bool   `yaml:"enabled" default:"false" doc:"Use TLS."`
	CAFile             string `yaml:"ca_file" doc:"PEM file of the authorities to trust; empty = those of the system."`
	CertFile           string `yaml:"cert_file" doc:"PEM file of the client's certificate."`
	KeyFile            string `yaml:"key_file" doc:"PEM file of its key."`
	ServerName         string `yaml:"server_name" doc:"Name that the server's certificate must carry; empty = the host connected to."`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify" default:"false" doc:"Accept any certificate. For tests only."`
}

// SASL mechanisms.
const (
	SASLNone        = "none"
	SASLPlain       = "PLAIN"
	SASLScram256    = "SCRAM-SHA-256"
	SASLScram512    = "SCRAM-SHA-512"
	SASLOAuthBearer = "OAUTHBEARER"
)

// SASL says who the task is.
type SASL struct {
	Mechanism string `yaml:"mechanism" default:"none" oneof:"none|PLAIN|SCRAM-SHA-256|SCRAM-SHA-512|OAUTHBEARER" doc:"How to log in."`
	Username  string `yaml:"username" doc:"User, for PLAIN and SCRAM."`
	Password  Secret `yaml:"password" example:"file:/run/secrets/kafka" doc:"Its password."`
	Token     Secret `yaml:"token" doc:"A fixed token, for OAUTHBEARER."`
	OAuth     OAuth  `yaml:"oauth" doc:"Tokens by client credentials, for OAUTHBEARER."`
}

// OAuth is a client-credentials grant.
type OAuth struct {
	TokenURL     string   `yaml:"token_url" example:"https://login.example.com/token" doc:"Token endpoint."`
	ClientID     string   `yaml:"client_id" doc:"Client."`
	ClientSecret Secret   `yaml:"client_secret" doc:"Its secret."`
	Scopes       []string `yaml:"scopes" example:"[kafka]" doc:"Scopes to ask for."`
}
