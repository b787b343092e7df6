package config

import (
	"fmt"
	"strings"
)

// resolve fills in the placeholders that are known now and what other settings imply.
func (t *Task) resolve(host string) {
	known := strings.NewReplacer("{task}", t.Name, "{host}", host)
	for _, text := range []*string{&t.Server, &t.Kafka.ClientID, &t.Kafka.Topic, &t.Kafka.MetadataTopic, &t.Kafka.ControlTopic, &t.Checkpoint.Topic,
		&t.BadRecords.Topic, &t.BadRecords.ReplayTopic, &t.Datastream.Stream, &t.Debezium.Prefix, &t.Debezium.TransactionTopic, &t.HighAvailability.Group, &t.HighAvailability.Topic} {
		*text = known.Replace(*text)
	}
	t.Source.Database = t.Source.databaseName()
	for i := range t.Envelopes {
		t.resolveOutput(&t.Envelopes[i])
	}
	if isHTTPS(t.SchemaRegistry.URL) {
		t.SchemaRegistry.TLS.Enabled = true
	}
}

func (t *Task) resolveOutput(o *Output) {
	known := strings.NewReplacer("{task}", t.Name, "{envelope}", o.Name, "{database}", topicPart(t.Source.Database))
	for _, text := range []*string{&o.Topic, &o.MetadataTopic} {
		*text = known.Replace(*text)
	}
	o.SubjectStrategy = strings.NewReplacer("{task}", t.Name, "{envelope}", o.Name).Replace(o.Subject())
}

// As is the task with one output, of that envelope and format and otherwise as the task has it.
func (t *Task) As(envelope, format string) *Task {
	out := *t
	o := out.base()
	o.Name, o.Envelope, o.Format = envelope, envelope, format
	if format == FormatAvro && envelope != EnvelopeQlik && !t.SchemaRegistry.Enabled() {
		out.SchemaRegistry.URL = "http://registry.invalid" // nothing else names their schemas
	}
	o.decide(out.SchemaRegistry.Enabled())
	out.resolveOutput(&o)
	out.Envelopes = []Output{o}
	return &out
}

// Summary says in a few lines what the task does, without secrets.
func (t *Task) Summary() string {
	tables := make([]string, len(t.Source.Tables))
	for i, p := range t.Source.Tables {
		tables[i] = p.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "task        %s\nsource      %s, layout %s, tables %s\n", t.Name, t.Source.Engine, t.Source.Layout, strings.Join(tables, " "))
	for i := range t.Envelopes {
		o := &t.Envelopes[i]
		schemas := "no schema registry"
		if t.UsesRegistry(o) {
			schemas = "registry " + t.SchemaRegistry.URL
		}
		fmt.Fprintf(&b, "messages    envelope %s, format %s, %s, metadata %s, key %s, topic %s\n", o.Envelope, o.Format, schemas, o.Metadata, o.Key.Mode, o.Topic)
	}
	fmt.Fprintf(&b, "kafka       %s\ndelivery    %s, checkpoint in %s\n", strings.Join(t.Kafka.Brokers, ","), t.Delivery, t.checkpointPlace())
	return b.String()
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
