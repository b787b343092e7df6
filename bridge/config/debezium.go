package config

import "strings"

// DebeziumShape is what can be chosen about Debezium messages.
type DebeziumShape struct {
	Prefix           string `yaml:"prefix" default:"{task}" doc:"Logical name of the source, as topic.prefix of a connector, over {task}: source.name, and the first part of the names of schemas. Topics are named by kafka.topic."`
	Schemas          bool   `yaml:"schemas" default:"false" doc:"JSON: wrap values and keys in {schema, payload}."`
	Decimals         string `yaml:"decimals" default:"auto" oneof:"auto|precise|double|string" doc:"As decimal.handling.mode. auto is precise, but string in JSON without schemas, which would not say the scale."`
	Times            string `yaml:"times" default:"auto" oneof:"auto|adaptive|adaptive_time_microseconds|connect|isostring|microseconds|nanoseconds" doc:"As time.precision.mode. auto is adaptive, with mysql adaptive_time_microseconds."`
	Binary           string `yaml:"binary" default:"bytes" oneof:"bytes|base64|hex" doc:"As binary.handling.mode."`
	Unsigned         string `yaml:"unsigned" default:"long" oneof:"long|precise" doc:"As bigint.unsigned.handling.mode."`
	Required         string `yaml:"required" default:"keys" oneof:"keys|source|none" doc:"Columns that are not nullable in schemas: those of the key, every NOT NULL column as in a connector, or none. A column that can be null can be added later and need not be captured."`
	Unavailable      string `yaml:"unavailable" default:"__debezium_unavailable_value" doc:"What stands for texts and bytes that were not captured."`
	Transaction      bool   `yaml:"transaction" default:"true" doc:"Write the transaction block: id and counters."`
	TransactionTopic string `yaml:"transaction_topic" example:"{task}.transaction" doc:"Topic of messages that tell where transactions begin and end, with the numbers of their events, over {task} and {envelope}; empty = none."`

	Version string `yaml:"version" default:"ctbridge" doc:"What source.version says."`
}

// TransactionTopic is where an output tells of its transactions; empty = nowhere.
func (t *Task) TransactionTopic(o *Output) string {
	if o.Envelope != EnvelopeDebezium {
		return ""
	}
	return strings.ReplaceAll(t.Debezium.TransactionTopic, "{envelope}", o.Name)
}

func (r *rules) checkDebezium() {
	outputs := r.outputsOf(EnvelopeDebezium)
	if len(outputs) == 0 {
		return
	}
	const prefix = "debezium.prefix"
	r.checkPlaceholders(prefix, r.Debezium.Prefix, "{task}")
	if !legalName.MatchString(placeholder.ReplaceAllString(r.Debezium.Prefix, "x")) {
		r.wrong(prefix, "use letters, digits, dot, underscore and hyphen", "is no name of a source")
	}
	anyJSON := false
	for _, o := range outputs {
		anyJSON = anyJSON || o.Format == FormatJSON
	}
	if r.Debezium.Schemas && !anyJSON {
		r.wrong("debezium.schemas", "remove it", "has no effect with format avro")
	}
	if named := r.Source.Engine == EngineSQLServer || r.Source.Engine == EnginePostgres; named && r.Source.DSN.IsSet() && r.Source.databaseName() == "" {
		r.wrong("source.database", "add it", "is needed with envelope debezium: source.dsn does not name the database")
	}
}
