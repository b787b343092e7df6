package config

import (
	"regexp"
	"slices"
	"strings"
)

// topicKey is a topic, or a template of topics, with its place in the file.
type topicKey struct {
	path, template string
	output         string // name of the output, empty for the task's own
}

// checkTopics judges each template, then looks for two that are one.
func (r *rules) checkTopics() {
	var topics []topicKey
	for i := range r.Envelopes {
		o := outputRules{rules: r, out: &r.Envelopes[i], index: i}
		topics = append(topics, topicKey{o.key("topic"), o.out.Topic, o.out.Name})
		r.checkTopic(topics[i], "{task}", "{envelope}", "{database}", "{schema}", "{table}")
	}
	for i := range r.Envelopes {
		if o := (outputRules{rules: r, out: &r.Envelopes[i], index: i}); o.out.Envelope == EnvelopeQlik {
			metadata := topicKey{o.key("metadata_topic"), o.out.MetadataTopic, o.out.Name}
			topics = append(topics, metadata)
			r.checkTopic(metadata, "{task}", "{envelope}")
		}
	}
	if template := r.Debezium.TransactionTopic; template != "" {
		for _, o := range r.outputsOf(EnvelopeDebezium) {
			topics = append(topics, topicKey{"debezium.transaction_topic", template, o.Name})
			r.checkTopic(topics[len(topics)-1], "{task}", "{envelope}")
		}
	}
	for _, own := range []topicKey{{path: "checkpoint.topic", template: r.Checkpoint.Topic}, {path: "kafka.control_topic", template: r.Kafka.ControlTopic},
		{path: "bad_records.topic", template: r.BadRecords.Topic}, {path: "bad_records.replay_topic", template: r.BadRecords.ReplayTopic},
		{path: "high_availability.topic", template: r.HighAvailability.Topic}} {
		topics = append(topics, own)
		r.checkTopic(own, "{task}")
	}
	for i, t := range topics {
		for _, earlier := range topics[:i] {
			r.tellApart(t, earlier)
		}
	}
}

func (r *rules) tellApart(t, earlier topicKey) {
	switch {
	case r.named(t) != r.named(earlier):
	case t.path == earlier.path:
		r.wrong(t.path, "add {envelope}", "gives outputs %s and %s the same topics", earlier.output, t.output)
	default:
		r.wrong(t.path, "name another topic", "is %s, too", earlier.path)
	}
}

// named fills in what is known of a template.
func (r *rules) named(t topicKey) string {
	return strings.NewReplacer("{task}", r.Name, "{envelope}", t.output).Replace(t.template)
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

func (r *rules) checkPlaceholders(path, template string, known ...string) {
	for _, p := range placeholder.FindAllString(template, -1) {
		if !slices.Contains(known, p) {
			r.wrong(path, "known: "+strings.Join(known, ", "), "has the unknown placeholder %s", p)
		}
	}
}

// checkTopic checks a topic template; what stands for schema and table is checked when the tables are known.
func (r *rules) checkTopic(t topicKey, known ...string) {
	r.checkPlaceholders(t.path, t.template, known...)
	literal := placeholder.ReplaceAllString(t.template, "x")
	if !legalName.MatchString(literal) || literal == "." || literal == ".." {
		r.wrong(t.path, "use letters, digits, dot, underscore and hyphen", "is not a topic name")
	}
	if len(r.named(t)) > maxTopic {
		r.wrong(t.path, "", "is longer than the %d characters of a topic name", maxTopic)
	}
	if strings.Contains(t.template, "{database}") && r.Source.databaseName() == "" {
		r.wrong(t.path, "set source.database", "needs the name of the database, which source.dsn does not tell")
	}
}
