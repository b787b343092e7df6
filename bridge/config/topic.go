package config

import (
	"fmt"
	"regexp"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

var schemaPart = regexp.MustCompile(`\{schema\}.?`)

func sharedTopic(template string) bool { return !strings.Contains(template, "{table}") }

func topicFor(template string, id change.TableID) (string, error) {
	if id.Schema == "" {
		template = schemaPart.ReplaceAllString(template, "")
	}
	topic := strings.NewReplacer("{schema}", topicPart(id.Schema), "{table}", topicPart(id.Name)).Replace(template)
	if topic == "" || topic == "." || topic == ".." || len(topic) > maxTopic {
		return "", fmt.Errorf("table %s: %q cannot be the name of a topic: set kafka.topic to another template", id, topic)
	}
	return topic, nil
}

// topicPart makes a name legal in a topic; envelope.OriginalName undoes it.
func topicPart(name string) string {
	if name == "" || legalName.MatchString(name) && envelope.OriginalName(name) == name {
		return name
	}
	return envelope.AvroName(name)
}
