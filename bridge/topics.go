package bridge

import (
	"fmt"
	"slices"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// claims gives each topic the one table that may use it. Different tables can come to one name where dots inside their names meet those of
// the template, or where a name that had to be adjusted meets one that is spelled so. Their keys would mix, and readers could not tell them
// apart.
type claims map[string]change.TableID

// claims lets a table keep its topic: one that streams now goes before one that has published earlier, and that before a new one.
func (r *Runner) claims(found source.Discovery) claims {
	c := make(claims)
	claim := func(id change.TableID) {
		topic, err := r.options.Topic(id)
		if err != nil {
			return // admit tells
		}
		if other, taken := c[topic]; !taken || r.hold(id) > r.hold(other) {
			c[topic] = id
		}
	}
	for _, captured := range found.Tables {
		claim(captured.Table.ID)
	}
	for _, problem := range found.Problems {
		claim(problem.Table)
	}
	return c
}

// hold ranks a table's right to its topic.
func (r *Runner) hold(id change.TableID) int {
	if t := r.tables[id]; t != nil && !t.stopped {
		return 2
	}
	if t := r.state.Tables[id]; t != nil && t.Position != "" {
		return 1
	}
	return 0
}

// topicOf gives a table's topic; an error of class Table where it belongs to another table or to the task itself.
func (r *Runner) topicOf(id change.TableID, c claims) (string, error) {
	topic, err := r.options.Topic(id)
	switch owner := c[topic]; {
	case err != nil:
		return "", err
	case slices.Contains(r.options.OwnTopics, topic):
		return "", fault.New(fault.Table, "topic "+topic, fmt.Errorf("table %s would share it with the task's own records", quoted(id)),
			"set kafka.topic, kafka.metadata_topic or checkpoint.topic to another name, or leave the table out in source.tables")
	case owner != id && !r.options.SharedTopics:
		return "", fault.New(fault.Table, "topic "+topic, fmt.Errorf("table %s would share it with table %s", quoted(id), quoted(owner)),
			"set kafka.topic to a template that tells them apart, or leave one of them out in source.tables")
	}
	return topic, nil
}

// quoted is a table's name as source.tables spells it: "a.b".c and a."b.c" are two tables.
func quoted(id change.TableID) string {
	part := func(name string) string {
		if !strings.ContainsAny(name, `."[`+"`") {
			return name
		}
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	if id.Schema == "" {
		return part(id.Name)
	}
	return part(id.Schema) + "." + part(id.Name)
}
