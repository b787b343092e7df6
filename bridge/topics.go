package bridge

import (
	"fmt"
	"slices"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// claims gives each topic the one table and output that may use it. Different tables can come to one name where dots inside their names meet
// those of the template, or where a name that had to be adjusted meets one that is spelled so. Their keys would mix, and readers could not
// tell them apart.
type claims map[string]claim

type claim struct {
	table  change.TableID
	output int
}

// claims lets a table keep its topics: one that streams now goes before one that has published earlier, and that before a new one.
func (r *Runner) claims(found source.Discovery) claims {
	c := make(claims)
	for _, captured := range found.Tables {
		r.claim(c, captured.Table.ID)
	}
	for _, problem := range found.Problems {
		r.claim(c, problem.Table)
	}
	return c
}

func (r *Runner) claim(c claims, id change.TableID) {
	for i := range r.options.Outputs {
		topic, err := r.options.Outputs[i].Topic(id)
		if err != nil {
			continue // admit tells
		}
		if other, taken := c[topic]; !taken || r.hold(id) > r.hold(other.table) {
			c[topic] = claim{id, i}
		}
	}
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

// topicsOf gives a table's topics, of each output one; an error of class Table where one belongs to another table, to another output or to the
// task itself.
func (r *Runner) topicsOf(id change.TableID, c claims) ([]string, error) {
	topics := make([]string, len(r.options.Outputs))
	for i := range r.options.Outputs {
		topic, err := r.options.Outputs[i].Topic(id)
		if err == nil {
			err = r.refuseTopic(topic, claim{id, i}, c[topic])
		}
		if err != nil {
			return nil, err
		}
		topics[i] = topic
	}
	return topics, nil
}

func (r *Runner) refuseTopic(topic string, own, owner claim) error {
	output := &r.options.Outputs[own.output]
	switch {
	case slices.Contains(r.options.OwnTopics, topic):
		return fault.New(fault.Table, "topic "+topic, fmt.Errorf("table %s would share it with the task's own records", quoted(own.table)),
			"set kafka.topic, kafka.metadata_topic or checkpoint.topic to another name, or leave the table out in source.tables")
	case owner.output != own.output:
		return fault.New(fault.Table, "topic "+topic, fmt.Errorf("table %s in output %s would share it with table %s in output %s",
			quoted(own.table), output.Name, quoted(owner.table), r.options.Outputs[owner.output].Name), "set the topic of one output to a template with {envelope}")
	case owner.table != own.table && !output.SharedTopics:
		return fault.New(fault.Table, "topic "+topic, fmt.Errorf("table %s would share it with table %s", quoted(own.table), quoted(owner.table)),
			"set kafka.topic to a template that tells them apart, or leave one of them out in source.tables")
	}
	return nil
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
