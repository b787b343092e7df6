package bridge

import (
	"fmt"
	"slices"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// claims gives each topic, and each subject of a schema registry, the one table and output that may use it. Different tables can come to one name
// where dots inside their names meet those of the template, or where a name that had to be adjusted meets one that is spelled so. Their keys
// would mix, and readers could not tell them apart.
type claims struct{ topics, subjects map[string]claim }

type claim struct {
	table  change.TableID
	output int
}

// claims lets a table keep its names: one that streams now goes before one that has published earlier, and that before a new one.
func (r *Runner) claims(found source.Discovery) claims {
	c := claims{make(map[string]claim), make(map[string]claim)}
	for _, captured := range found.Tables {
		r.claim(c, captured.Table.ID, captured.Table)
	}
	for _, problem := range found.Problems {
		r.claim(c, problem.Table, nil)
	}
	return c
}

// claim takes the names of a table; the subjects of one whose columns are not known cannot be told.
func (r *Runner) claim(c claims, id change.TableID, version *change.Table) {
	for i := range r.options.Outputs {
		topic, err := r.options.Outputs[i].Topic(id)
		if err != nil {
			continue // admit tells
		}
		r.take(c.topics, topic, claim{id, i})
		for _, subject := range r.subjects(i, topic, version) {
			r.take(c.subjects, subject, claim{id, i})
		}
	}
}

func (r *Runner) take(names map[string]claim, name string, own claim) {
	if other, taken := names[name]; !taken || r.hold(own.table) > r.hold(other.table) {
		names[name] = own
	}
}

// named is what subjects depend on: they are asked for again and again, and a declaration is not free.
type named struct {
	claim
	keyed bool
}

// subjects lists where the schemas of a table go, in one output.
func (r *Runner) subjects(output int, topic string, version *change.Table) []string {
	o := &r.options.Outputs[output]
	if _, registering := o.Format.(Registering); !registering || version == nil {
		return nil
	}
	of := named{claim{version.ID, output}, len(version.Key) > 0}
	known, asked := r.names[of]
	if !asked {
		known = o.subjects(topic, version)
	}
	if !asked && len(known) > 0 {
		r.names[of] = known
	}
	return known
}

// subjects asks the declaration. What cannot be declared has none: the table's first event tells why.
func (o *Output) subjects(topic string, version *change.Table) (out []string) {
	values, registering := o.Format.(Registering)
	if !registering {
		return nil
	}
	declared, err := o.Envelope.Declare(version)
	if err != nil {
		return nil
	}
	if subject, err := values.Subject(topic, "value", declared.Value); err == nil {
		out = append(out, subject)
	}
	if keys, registering := o.KeyFormat.(Registering); registering && declared.Key != nil {
		if subject, err := keys.Subject(topic, "key", declared.Key); err == nil {
			out = append(out, subject)
		}
	}
	return out
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

// topicsOf gives a table's topics, of each output one; an error of class Table where one, or a subject, belongs to another table, to another output
// or to the task itself.
func (r *Runner) topicsOf(version *change.Table, c claims) ([]string, error) {
	topics := make([]string, len(r.options.Outputs))
	for i := range r.options.Outputs {
		o := &r.options.Outputs[i]
		topic, err := o.Topic(version.ID)
		if err != nil {
			return nil, err
		}
		if slices.Contains(r.options.OwnTopics, topic) {
			return nil, fault.New(fault.Table, "topic "+topic, fmt.Errorf("table %s would share it with the task's own records", quoted(version.ID)),
				"set kafka.topic, kafka.metadata_topic or checkpoint.topic to another name, or leave the table out in source.tables")
		}
		if err := r.refuse("topic "+topic, "kafka.topic", claim{version.ID, i}, c.topics[topic], o.SharedTopics); err != nil {
			return nil, err
		}
		for _, subject := range r.subjects(i, topic, version) {
			if err := r.refuse("subject "+subject, "schema_registry.subject_strategy", claim{version.ID, i}, c.subjects[subject], false); err != nil {
				return nil, err
			}
		}
		topics[i] = topic
	}
	return topics, nil
}

// refuse tells who owns a name that a table would use, too.
func (r *Runner) refuse(name, key string, own, owner claim, shared bool) error {
	switch {
	case owner.output != own.output:
		return fault.New(fault.Table, name, fmt.Errorf("table %s in output %s would share it with table %s in output %s", quoted(own.table),
			r.options.Outputs[own.output].Name, quoted(owner.table), r.options.Outputs[owner.output].Name), "set "+key+" to a template with {envelope}")
	case owner.table != own.table && !shared:
		return fault.New(fault.Table, name, fmt.Errorf("table %s would share it with table %s", quoted(own.table), quoted(owner.table)),
			"set "+key+" to a template that tells them apart, or leave one of them out in source.tables")
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
