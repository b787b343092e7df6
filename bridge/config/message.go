package config

// Places for the metadata of Qlik messages.
const (
	MetadataAuto     = "auto"
	MetadataNone     = "none"
	MetadataTopic    = "topic"
	MetadataRegistry = "registry"
)

// QlikShape is what can be chosen about Qlik messages.
type QlikShape struct {
	Envelope          bool   `yaml:"envelope" default:"true" doc:"Wrap messages in {magic, type, …, message}. Avro without a registry always does, Avro with a registry never."`
	LogicalTypes      bool   `yaml:"logical_types" default:"false" doc:"Avro: dates, times and decimals as logical types instead of text."`
	BeforeImage       bool   `yaml:"before_image" default:"true" doc:"Write beforeData; false leaves it null."`
	DeleteRowIn       string `yaml:"delete_row_in" default:"data" oneof:"data|beforeData|both" doc:"Member that holds the row of a DELETE."`
	KeyChange         string `yaml:"key_change" default:"update" oneof:"update|delete_insert" doc:"An update that changes the key: one UPDATE, or a DELETE and an INSERT."`
	IncludeSourceName string `yaml:"include_source_name" default:"off" oneof:"off|headers|message" doc:"Write schema and table into the headers or at the top of the message."`
	ExternalSchemaID  bool   `yaml:"external_schema_id" default:"false" doc:"Write the header externalSchemaId."`
	Metadata          string `yaml:"metadata" default:"auto" oneof:"auto|none|topic|registry" doc:"Where the structure of tables goes: into kafka.metadata_topic, or only into the schema registry. auto is registry where one is used, else topic."`
	MetadataKey       string `yaml:"metadata_key" default:"schema_id" oneof:"schema_id|table" doc:"Record key of metadata messages. In a compacted topic schema_id keeps every version, table only the newest of each table."`
	Names             Names  `yaml:"names" doc:"Names of sections and records."`
}

// Names are the names of the sections of a message and of its Avro records.
type Names struct {
	Data           string `yaml:"data" default:"data" doc:"Section of the row."`
	BeforeData     string `yaml:"before_data" default:"beforeData" doc:"Section of the old row."`
	Headers        string `yaml:"headers" default:"headers" doc:"Section of the headers."`
	DataRecord     string `yaml:"data_record" default:"DataRecord" doc:"Avro record of the message."`
	Row            string `yaml:"row" default:"Data" doc:"Avro record of one row."`
	KeyRecord      string `yaml:"key_record" default:"KeyRecord" doc:"Avro record of the key."`
	HeadersRecord  string `yaml:"headers_record" default:"Headers" doc:"Avro record of the headers."`
	Namespace      string `yaml:"namespace" default:"com.attunity.queue.msg" doc:"Avro namespace of what all tables share."`
	TableNamespace string `yaml:"table_namespace" default:"{namespace}.{task}.{schema}.{table}" doc:"Avro namespace of one table's records, over {namespace}, {task}, {schema} and {table}; {table} must be in it, and {namespace} must stand alone between dots."`
}
