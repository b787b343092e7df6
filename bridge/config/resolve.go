package config

import (
	"fmt"
	"strings"
)

// resolve fills in the placeholders that are known now and replaces auto and what other settings imply.
func (t *Task) resolve(host string) {
	known := strings.NewReplacer("{task}", t.Name, "{host}", host)
	for _, text := range []*string{&t.Server, &t.Kafka.ClientID, &t.Kafka.Topic, &t.Kafka.MetadataTopic, &t.Kafka.ControlTopic, &t.Checkpoint.Topic} {
		*text = known.Replace(*text)
	}
	if t.usesRegistry() {
		t.Qlik.Envelope = false
	}
	if t.Qlik.Metadata == MetadataAuto {
		t.Qlik.Metadata = MetadataTopic
		if t.usesRegistry() {
			t.Qlik.Metadata = MetadataRegistry
		}
	}
	if isHTTPS(t.SchemaRegistry.URL) {
		t.SchemaRegistry.TLS.Enabled = true
	}
}

// Summary says in a few lines what the task does, without secrets.
func (t *Task) Summary() string {
	tables := make([]string, len(t.Source.Tables))
	for i, p := range t.Source.Tables {
		tables[i] = p.String()
	}
	schemas := "no schema registry"
	if t.SchemaRegistry.Enabled() {
		schemas = "registry " + t.SchemaRegistry.URL
	}
	return fmt.Sprintf("task        %s\nsource      %s, layout %s, tables %s\nmessages    envelope %s, format %s, %s, metadata %s, key %s\nkafka       %s, topic %s\ndelivery    %s, checkpoint in %s\n",
		t.Name, t.Source.Engine, t.Source.Layout, strings.Join(tables, " "),
		t.Envelope, t.Format, schemas, t.Qlik.Metadata, t.Key.Mode,
		strings.Join(t.Kafka.Brokers, ","), t.Kafka.Topic, t.Delivery, t.checkpointPlace())
}

func (t *Task) checkpointPlace() string {
	switch t.Checkpoint.Store {
	case StoreFile:
		return "file " + t.Checkpoint.Path
	case StoreSQL:
		return t.Checkpoint.Engine + " table " + t.Checkpoint.Table
	}
	return "topic " + t.Checkpoint.Topic
}
