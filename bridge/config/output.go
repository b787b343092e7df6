package config

import (
	"reflect"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
)

// Envelopes.
const (
	EnvelopeQlik       = "qlik"
	EnvelopeDatastream = "datastream"
	EnvelopeDebezium   = "debezium"
)

// Output is one set of messages. Parse makes one of each entry of envelopes, or one of the whole task where there is no list; what an entry leaves
// out is filled in.
type Output struct {
	Name            string `yaml:"name" doc:"Name of the output, {envelope} in topics; empty = its envelope. Counters of transactions are kept under it: a new name is a new output."`
	Envelope        string `yaml:"envelope" short:"true" oneof:"qlik|datastream|debezium" doc:"What a message looks like."`
	Format          string `yaml:"format" oneof:"json|avro" doc:"How it is encoded."`
	Topic           string `yaml:"topic" doc:"As kafka.topic. Left out, outputs after the first put their name in front of kafka.topic, unless {envelope} is in it."`
	MetadataTopic   string `yaml:"metadata_topic" doc:"As kafka.metadata_topic, for envelope qlik. Left out, outputs after the first put their name in front of it."`
	Metadata        string `yaml:"metadata" oneof:"auto|none|topic|registry" doc:"As qlik.metadata."`
	SubjectStrategy string `yaml:"subject_strategy" doc:"As schema_registry.subject_strategy."`
	Tombstones      string `yaml:"tombstones" oneof:"auto|true|false" doc:"As the task's tombstones."`
	Key             Key    `yaml:"key" doc:"Record keys."`
}

// base is an output with what the task as a whole says.
func (t *Task) base() Output {
	return Output{
		Envelope: t.Envelope, Format: t.Format, Topic: t.Kafka.Topic, MetadataTopic: t.Kafka.MetadataTopic, Metadata: t.Qlik.Metadata,
		SubjectStrategy: t.SchemaRegistry.SubjectStrategy, Tombstones: t.Tombstones, Key: t.Key,
	}
}

// fillOutputs makes the list of outputs complete.
func (t *Task) fillOutputs(d *decoder) {
	if len(t.Envelopes) == 0 {
		t.Envelopes = []Output{t.base()}
	}
	for i := range t.Envelopes {
		o, base := &t.Envelopes[i], t.base()
		if i > 0 && !strings.Contains(base.Topic, "{envelope}") {
			base.Topic = "{envelope}." + base.Topic
		}
		if i > 0 && !strings.Contains(base.MetadataTopic, "{envelope}") {
			base.MetadataTopic = "{envelope}." + base.MetadataTopic
		}
		d.inherit(reflect.ValueOf(o).Elem(), reflect.ValueOf(base), outputPath(i))
		if o.Name == "" {
			o.Name = o.Envelope
		}
		o.decide(t.SchemaRegistry.Enabled())
	}
}

func outputPath(i int) string { return "envelopes[" + strconv.Itoa(i) + "]" }

// inherit fills in the keys that the file leaves out of a section.
func (d *decoder) inherit(section, base reflect.Value, path string) {
	for _, f := range fieldsOf(section.Type()) {
		at, v := join(path, f.name), section.Field(f.index)
		if isSection(f.typ) {
			d.inherit(v, base.Field(f.index), at)
		} else if _, set := d.set[at]; !set || v.IsZero() { // also what was set wrong
			v.Set(base.Field(f.index))
		}
	}
}

// decide replaces auto by what it comes to.
func (o *Output) decide(registry bool) {
	registered := o.Format == FormatAvro && registry
	switch {
	case o.Envelope != EnvelopeQlik:
		o.Metadata = MetadataNone
	case o.Metadata == MetadataAuto && registered:
		o.Metadata = MetadataRegistry
	case o.Metadata == MetadataAuto:
		o.Metadata = MetadataTopic
	}
	if o.Key.Format == KeyAuto {
		o.Key.Format = KeyText
		if o.Envelope == EnvelopeDebezium && o.Key.ofRow() {
			o.Key.Format = o.Format
		}
	}
	if o.Tombstones == TombstonesAuto {
		o.Tombstones = strconv.FormatBool(o.Envelope == EnvelopeDebezium && o.Key.ofRow())
	}
}

// HasMetadataTopic reports whether metadata messages are published.
func (o *Output) HasMetadataTopic() bool { return o.Metadata == MetadataTopic }

// UsesRegistry reports whether the output's schemas go to the registry.
func (t *Task) UsesRegistry(o *Output) bool {
	return o.Format == FormatAvro && t.SchemaRegistry.Enabled()
}

// outputsOf finds the outputs of an envelope.
func (t *Task) outputsOf(envelope string) (found []*Output) {
	for i := range t.Envelopes {
		if t.Envelopes[i].Envelope == envelope {
			found = append(found, &t.Envelopes[i])
		}
	}
	return found
}

// TopicFor gives the topic of a table's messages. The only error is a name that is too long; two tables can get one name only where the
// template leaves something out, or where dots inside their names meet those of the template.
func (o *Output) TopicFor(id change.TableID) (string, error) { return topicFor(o.Topic, id) }

// SharedTopic reports whether tables share topics on purpose.
func (o *Output) SharedTopic() bool { return sharedTopic(o.Topic) }
