package config

import (
	"slices"
	"strings"
)

// outputRules judge one output. A problem is told of the key that the value comes from: that of the list's entry, or that of the task.
type outputRules struct {
	*rules
	out   *Output
	index int
}

// checkOutputs judges every output, then what they mean for each other and for the sections that they share.
func (r *rules) checkOutputs() {
	if r.has("envelope") && r.has("envelopes") {
		r.wrong("envelopes", "keep one of them", "contradicts envelope")
	}
	if r.has("envelopes") && len(r.Envelopes) == 1 && !r.has(outputPath(0)) {
		r.wrong("envelopes", "name one, or use envelope", "is empty")
	}
	named := map[string]string{}
	for i := range r.Envelopes {
		o := outputRules{rules: r, out: &r.Envelopes[i], index: i}
		o.check()
		if other, taken := named[o.out.Name]; taken {
			r.wrong(outputPath(i), "give one of them another name", "is the second output of the name %s, after %s", o.out.Name, other)
		}
		named[o.out.Name] = outputPath(i)
	}
	r.checkFormats()
	r.checkSections()
}

func (o *outputRules) check() {
	o.checkName()
	o.checkFormat()
	o.checkMetadata()
	o.checkKey()
	o.checkCompaction()
	o.checkSubjects()
}

// outputKeys are where the task says what an output leaves out.
var outputKeys = map[string]string{
	"topic": "kafka.topic", "metadata_topic": "kafka.metadata_topic", "metadata": "qlik.metadata", "subject_strategy": "schema_registry.subject_strategy",
}

// key is the path of the value in the file.
func (o *outputRules) key(name string) string {
	if at := outputPath(o.index) + "." + name; o.has(at) {
		return at
	}
	if base, other := outputKeys[name]; other {
		return base
	}
	return name
}

func (o *outputRules) checkName() {
	if !legalName.MatchString(o.out.Name) || strings.Contains(o.out.Name, "..") || len(o.out.Name) > maxName {
		o.wrong(o.key("name"), "use at most 50 letters, digits, dots, underscores and hyphens", "is not legal in the names of topics")
	}
}

// maxName keeps what outputs put into topics short.
const maxName = 50

func (o *outputRules) checkFormat() {
	if o.out.Format != FormatAvro || o.UsesRegistry(o.out) {
		return
	}
	switch {
	case o.out.Envelope != EnvelopeQlik:
		o.wrong(o.key("format"), "configure schema_registry, or use format json", "needs schema_registry.url with envelope %s: nothing else names the schema of a message", o.out.Envelope)
	case !o.Qlik.Envelope:
		o.wrong("qlik.envelope", "configure schema_registry, or use format json", "is impossible with format avro and no registry: nothing would name the schema of a message")
	}
}

func (o *outputRules) checkMetadata() {
	path := o.key("metadata")
	own := outputPath(o.index) + "."
	switch {
	case o.out.Envelope != EnvelopeQlik:
		o.noEffect("with envelope "+o.out.Envelope+", which has no metadata messages", "remove it", own+"metadata", own+"metadata_topic")
	case o.out.Metadata == MetadataRegistry && !o.UsesRegistry(o.out):
		o.wrong(path, "set format: avro and schema_registry.url, or metadata: topic", "needs format avro and a schema registry")
	case o.out.Metadata == MetadataTopic && o.UsesRegistry(o.out):
		o.wrong(path, "use auto", "is impossible with a registry, which holds the schemas itself")
	}
}

func (o *outputRules) checkKey() {
	key, format := &o.out.Key, o.key("key.format")
	switch {
	case key.Format == FormatAvro && o.out.Format != FormatAvro:
		o.wrong(format, "set format: avro, or key.format: text", "needs format avro")
	case key.Format != KeyText && !key.ofRow():
		o.wrong(format, "use text", "needs key.mode primary_key or columns: only columns make a record")
	}
	columns := o.key("key.columns")
	switch {
	case key.Mode == KeyColumns && len(key.Columns) == 0:
		o.wrong(o.key("key.mode"), "list them in key.columns", "needs key.columns")
	case key.Mode != KeyColumns:
		o.noEffect("with key.mode "+key.Mode, "set key.mode: columns, or remove it", columns)
	case slices.ContainsFunc(key.Columns.Lists(), func(list []string) bool { return len(list) == 0 || hasTwice(list) }):
		o.wrong(columns, "list the columns of each table once", "has a table without columns, or with one column twice")
	}
	if o.out.Tombstones == "true" && !key.ofRow() {
		o.wrong(o.key("tombstones"), "use key.mode primary_key or columns", "is impossible with key.mode %s: a tombstone would delete more than its row", key.Mode)
	}
}

func hasTwice(list []string) bool {
	for i, item := range list {
		if slices.Contains(list[:i], item) {
			return true
		}
	}
	return false
}

func (o *outputRules) checkCompaction() {
	if !strings.Contains(o.Kafka.Topics.Data.Config["cleanup.policy"], "compact") {
		return
	}
	switch {
	case o.out.Key.Mode != KeyPrimary:
		o.wrong(o.key("key.mode"), "use primary_key, or do not compact", "is impossible with compacted data topics, which keep one record per key")
	case o.sharesTopic(o.out) && o.out.Key.Format != FormatAvro:
		o.wrong(o.key("topic"), "add {table}, use key.format: avro, or do not compact", "lets tables share a compacted topic, in which rows of equal keys would replace each other")
	}
}

// Strategies names the templates of subjects that have names of their own.
var Strategies = map[string]string{"topic": "{topic}-{part}", "record": "{record}", "topic_record": "{topic}-{record}"}

// Subject is the output's template of subjects.
func (o *Output) Subject() string {
	if template, named := Strategies[o.SubjectStrategy]; named {
		return template
	}
	return o.SubjectStrategy
}

func (o *outputRules) checkSubjects() {
	if !o.UsesRegistry(o.out) {
		return
	}
	path, template := o.key("subject_strategy"), o.out.Subject()
	o.checkPlaceholders(path, template, "{task}", "{envelope}", "{topic}", "{record}", "{part}")
	record := strings.Contains(template, "{record}")
	switch {
	case template == o.out.SubjectStrategy && !strings.Contains(template, "{"):
		o.wrong(path, "choose topic, record or topic_record, or write a template such as {topic}-{part}", "is no strategy")
	case !record && o.sharesTopic(o.out):
		o.wrong(path, "use record or topic_record", "is impossible where tables share a topic: their schemas would share a subject")
	case !record && !strings.Contains(template, "{topic}"):
		o.wrong(path, "add {topic} or {record}", "gives every table one subject")
	case !record && !strings.Contains(template, "{part}") && o.out.Key.Format == FormatAvro:
		o.wrong(path, "add {part}", "gives keys and values one subject")
	}
}

// sharesTopic reports whether two tables can have one topic.
func (r *rules) sharesTopic(o *Output) bool {
	one := len(r.Source.Tables) == 1 && len(r.Source.Tables.Exact()) == 1
	return !one && o.SharedTopic()
}

// checkFormats judges what no output makes use of.
func (r *rules) checkFormats() {
	avro := func(o *Output) bool { return o.Format == FormatAvro }
	anyAvro := false
	for i := range r.Envelopes {
		anyAvro = anyAvro || avro(&r.Envelopes[i])
	}
	if !anyAvro && r.SchemaRegistry.Enabled() {
		r.wrong("schema_registry.url", "set format: avro, or remove schema_registry", "has no effect with format json")
	}
	qlik := r.outputsOf(EnvelopeQlik)
	if len(qlik) == 0 {
		return
	}
	if r.Qlik.LogicalTypes && !slices.ContainsFunc(qlik, avro) {
		r.wrong("qlik.logical_types", "set format: avro, or remove it", "has no effect with format json")
	}
	if plain := func(o *Output) bool { return !r.UsesRegistry(o) }; r.Qlik.Envelope && r.has("qlik.envelope") && !slices.ContainsFunc(qlik, plain) {
		r.wrong("qlik.envelope", "remove it", "is impossible with a registry, whose wire format has no envelope")
	}
}

// setsAny reports whether the file sets a key below a section.
func (r *rules) setsAny(prefix string) bool {
	for path := range r.set {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// checkSections refuses options of envelopes that are not published.
func (r *rules) checkSections() {
	for _, envelope := range []string{EnvelopeQlik, EnvelopeDatastream, EnvelopeDebezium} {
		if r.setsAny(envelope+".") && len(r.outputsOf(envelope)) == 0 && !r.broken("envelope") {
			r.wrong(envelope, "set envelope: "+envelope+", or remove it", "has no effect without envelope %s", envelope)
		}
	}
}
