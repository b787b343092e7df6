package config

import "time"

// Task is one validated configuration. Only Load and Parse make one.
type Task struct {
	Name   string `yaml:"task" required:"true" example:"orders" doc:"Name of the task. It names the task's topics and its transactional id, so a new name is a new task that starts from nothing. Letters, digits, dot, underscore and hyphen, at most 200."`
	Server string `yaml:"server" default:"{host}" doc:"Server name in metadata messages; {host} is the name of this machine."`

	Source Source `yaml:"source" doc:"The database and its change tables."`

	Columns  Columns  `yaml:"columns" doc:"What is published of columns: which, and whether as they are."`
	FullLoad FullLoad `yaml:"full_load" doc:"Reading base tables whole."`

	Envelope   string   `yaml:"envelope" default:"qlik" oneof:"qlik|datastream|debezium" doc:"What a message looks like."`
	Envelopes  []Output `yaml:"envelopes" example:"[qlik, debezium]" doc:"Several outputs at once instead of envelope, each with topics of its own: names of envelopes, or the keys below. What an entry leaves out is as the task has it."`
	Format     string   `yaml:"format" default:"json" oneof:"json|avro" doc:"How it is encoded. Avro uses the schema registry where one is configured, else (qlik only) the binary MessageEnvelope."`
	Key        Key      `yaml:"key" doc:"Record keys."`
	Tombstones string   `yaml:"tombstones" default:"auto" oneof:"auto|true|false" doc:"After each DELETE with a key, a record with the same key and no value, which makes compacted topics forget the row. auto: with envelope debezium."`

	Qlik       QlikShape       `yaml:"qlik" doc:"Options of the Qlik envelope."`
	Datastream DatastreamShape `yaml:"datastream" doc:"Options of the Datastream envelope."`
	Debezium   DebeziumShape   `yaml:"debezium" doc:"Options of the Debezium envelope."`

	BadRecords BadRecords `yaml:"bad_records" doc:"Rows that cannot become messages: values that do not decode or do not fit the format, and records over the size limit."`

	Delivery   string     `yaml:"delivery" default:"exactly_once" oneof:"exactly_once|at_least_once" doc:"exactly_once writes records and checkpoint in one Kafka transaction; at_least_once writes the checkpoint after the acknowledgements, so that a crash can repeat records."`
	Ordering   string     `yaml:"ordering" default:"task" oneof:"task|table" doc:"task keeps the order of changes over all tables: one replica works, the others stand by. table keeps it within each table and spreads the tables over shards, which replicas share; counters and last flags of transactions then count within a shard."`
	Shards     int        `yaml:"shards" default:"4" min:"1" max:"256" doc:"With ordering table: into how many shards the tables are spread, by their names. No more replicas than that have work. To change it, or the ordering, stop all replicas first."`
	Kafka      Kafka      `yaml:"kafka" doc:"The brokers and topics."`
	Commit     Commit     `yaml:"commit" doc:"How much one commit holds at most; larger source transactions are cut."`
	Memory     Memory     `yaml:"memory" doc:"Bounds of memory."`
	Checkpoint Checkpoint `yaml:"checkpoint" doc:"Where the task remembers how far it came."`

	HighAvailability HighAvailability `yaml:"high_availability" doc:"Replicas of the task: processes with the same file that take over from each other."`

	SchemaRegistry SchemaRegistry `yaml:"schema_registry" doc:"A Confluent-compatible schema registry, for format avro."`

	Metrics         Metrics       `yaml:"metrics" doc:"Prometheus metrics and health."`
	Log             Log           `yaml:"log" doc:"The log on stderr."`
	Health          Health        `yaml:"health" doc:"When /healthz turns red."`
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" default:"30s" min:"1s" max:"1h" doc:"After SIGTERM: time to publish what was read and to write the checkpoint."`
}

// Deliveries.
const (
	ExactlyOnce = "exactly_once"
	AtLeastOnce = "at_least_once"
)

// Formats.
const (
	FormatJSON = "json"
	FormatAvro = "avro"
)

// Commit limits one commit.
type Commit struct {
	MaxRecords int  `yaml:"max_records" default:"20000" min:"1" max:"1000000" doc:"Records in one commit."`
	MaxBytes   Size `yaml:"max_bytes" default:"16MiB" min:"64KiB" max:"1GiB" doc:"Bytes of keys and values in one commit."`
}

// Memory bounds what is held at a time (I10).
type Memory struct {
	MaxBytes Size `yaml:"max_bytes" default:"64MiB" min:"1MiB" max:"64GiB" doc:"Rows and records that are read and not yet published. The process needs about as much again, and more where many tables have a backlog at once."`
}

// Log says what is logged and how.
type Log struct {
	Level  string `yaml:"level" default:"info" oneof:"debug|info|warn|error" doc:"Least important lines to write."`
	Format string `yaml:"format" default:"text" oneof:"text|json" doc:"text for people, json for collectors."`
}

// Health says when a task that does not move is ill.
type Health struct {
	StallTimeout time.Duration `yaml:"stall_timeout" default:"2m" min:"1s" max:"24h" doc:"/healthz turns red when no poll ended for so long, or changes are waiting and none was committed. Longer than source.horizon.max_wait, during which changes wait on purpose."`
}
