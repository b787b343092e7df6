package config

import "time"

// Checkpoint stores.
const (
	StoreKafka = "kafka"
	StoreFile  = "file"
	StoreSQL   = "sql"
)

// Checkpoint says where the task remembers how far it came.
type Checkpoint struct {
	Store  string `yaml:"store" default:"kafka" oneof:"kafka|file|sql" doc:"kafka is a compacted topic; file and sql go with delivery at_least_once."`
	Topic  string `yaml:"topic" default:"ctbridge.{task}.checkpoint" doc:"Topic of store kafka, over {task}."`
	Path   string `yaml:"path" example:"/var/lib/ctbridge/orders.checkpoint" doc:"File of store file."`
	Engine string `yaml:"engine" oneof:"|sqlserver|postgres|mysql|sqlite" example:"postgres" doc:"Database product of store sql."`
	DSN    Secret `yaml:"dsn" example:"${CHECKPOINT_DSN}" doc:"Connection string of store sql, as in source.dsn."`
	TLS    TLS    `yaml:"tls" doc:"Encryption to the server of store sql, instead of what the DSN says of it."`
	Table  string `yaml:"table" default:"ctbridge_checkpoint" doc:"Table of store sql, made where it is missing."`
}

// SchemaRegistry is used with format avro.
type SchemaRegistry struct {
	URL             string        `yaml:"url" example:"http://registry:8081" doc:"Base URL; empty = no registry."`
	Username        string        `yaml:"username" doc:"User for basic authentication."`
	Password        Secret        `yaml:"password" example:"${REGISTRY_PASSWORD}" doc:"Its password."`
	Bearer          Secret        `yaml:"bearer" doc:"Bearer token instead of user and password."`
	SubjectStrategy string        `yaml:"subject_strategy" default:"topic" doc:"How subjects are named: topic, record, topic_record as Confluent's clients know them, or a template over {task}, {envelope}, {topic}, {record} and {part}, which is key or value. Tables that share a topic need {record}; tables that would share a subject are stopped."`
	Compatibility   string        `yaml:"compatibility" oneof:"|BACKWARD|BACKWARD_TRANSITIVE|FORWARD|FORWARD_TRANSITIVE|FULL|FULL_TRANSITIVE|NONE" doc:"Compatibility of subjects that the task creates; empty leaves the registry's own. Subjects that exist are never changed."`
	Timeout         time.Duration `yaml:"timeout" default:"10s" min:"100ms" max:"10m" doc:"Time for one request."`
	TLS             TLS           `yaml:"tls" doc:"Encryption; on with an https URL."`
}

// Enabled reports whether there is a registry.
func (r *SchemaRegistry) Enabled() bool { return r.URL != "" }
