package config

import "strings"

// usesRegistry reports whether schemas go to the registry.
func (t *Task) usesRegistry() bool { return t.Format == FormatAvro && t.SchemaRegistry.Enabled() }

func (r *rules) checkFormat() {
	if r.Format == FormatJSON {
		if r.SchemaRegistry.Enabled() {
			r.wrong("schema_registry.url", "set format: avro, or remove schema_registry", "has no effect with format json")
		}
		if r.Qlik.LogicalTypes {
			r.wrong("qlik.logical_types", "set format: avro, or remove it", "has no effect with format json")
		}
	}
	const path = "qlik.envelope"
	switch {
	case r.Format == FormatAvro && !r.usesRegistry() && !r.Qlik.Envelope:
		r.wrong(path, "configure schema_registry, or use format json", "is impossible with format avro and no registry: nothing would name the schema of a message")
	case r.usesRegistry() && r.Qlik.Envelope && r.has(path):
		r.wrong(path, "remove it", "is impossible with a registry, whose wire format has no envelope")
	}
}

func (r *rules) checkQlik() {
	const path = "qlik.metadata"
	switch {
	case r.Qlik.Metadata == MetadataRegistry && !r.usesRegistry():
		r.wrong(path, "set format: avro and schema_registry.url, or metadata: topic", "needs format avro and a schema registry")
	case r.Qlik.Metadata == MetadataTopic && r.usesRegistry():
		r.wrong(path, "use auto", "is impossible with a registry, which holds the schemas itself")
	}
	if !r.Qlik.BeforeImage && r.Qlik.DeleteRowIn != "data" {
		r.wrong("qlik.delete_row_in", "use data, or before_image: true", "is impossible with before_image false: beforeData would always be null")
	}
	r.checkRecordNames()
}

func (r *rules) checkKey() {
	if r.Key.Format == "avro" {
		switch {
		case r.Format != FormatAvro:
			r.wrong("key.format", "set format: avro, or key.format: text", "needs format avro")
		case r.Key.Mode != KeyPrimary:
			r.wrong("key.format", "use text", "needs key.mode primary_key: only key columns make a record")
		}
	}
	compacted := strings.Contains(r.Kafka.Topics.Data.Config["cleanup.policy"], "compact")
	switch {
	case !compacted:
	case r.Key.Mode != KeyPrimary:
		r.wrong("key.mode", "use primary_key, or do not compact", "is impossible with compacted data topics, which keep one record per key")
	case r.sharesTopic() && r.Key.Format != "avro":
		r.wrong("kafka.topic", "add {table}, use key.format: avro, or do not compact", "lets tables share a compacted topic, in which rows of equal keys would replace each other")
	}
	if r.usesRegistry() && r.SchemaRegistry.SubjectStrategy == "topic" && r.sharesTopic() {
		r.wrong("schema_registry.subject_strategy", "use record or topic_record", "is impossible where tables share a topic: their schemas would share a subject")
	}
}

// sharesTopic reports whether two tables can have one topic.
func (r *rules) sharesTopic() bool {
	one := len(r.Source.Tables) == 1 && len(r.Source.Tables.Exact()) == 1
	return !one && r.Kafka.SharedTopic()
}
