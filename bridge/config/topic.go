package config

import (
	"fmt"
	"regexp"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

var schemaPart = regexp.MustCompile(`\{schema\}.?`)

// SharedTopic reports whether tables share topics on purpose.
func (k *Kafka) SharedTopic() bool { return !strings.Contains(k.Topic, "{table}") }

// TopicFor gives the topic of a table's messages. The only error is a name that is too long; two tables can get one name only where the
// template leaves something out, or where dots inside their names meet those of the template.
func (k *Kafka) TopicFor(id change.TableID) (string, error) {
	template := k.Topic
	if id.Schema == "" {
		template = schemaPart.ReplaceAllString(template, "")
	}
	topic := strings.NewReplacer("{schema}", topicPart(id.Schema), "{table}", topicPart(id.Name)).Replace(template)
	if topic == "" || topic == "." || topic == ".." || len(topic) > maxTopic {
		return "", fmt.Errorf("table %s: %q cannot be the name of a topic: set kafka.topic to another template", id, topic)
	}
	return topic, nil
}

// topicPart makes a name legal in a topic.
func topicPart(name string) string {
	if name == "" || legalName.MatchString(name) {
		return name
	}
	return envelope.AvroName(name)
}
