package config

import (
	"strings"

	"ctbridge/bridge/envelope"
)

// The names that messages have of their own beside the chosen ones: section members of include_source_name, and the enum of the headers.
var (
	ownSections = []string{"schema", "table"}
	ownRecords  = []string{"operation"}
)

// checkRecordNames refuses what the envelope would refuse: a file that passes can be run.
func (r *rules) checkRecordNames() {
	n := &r.Qlik.Names
	r.distinct(map[string]string{"data": n.Data, "before_data": n.BeforeData, "headers": n.Headers}, ownSections, "data", "before_data", "headers")
	r.distinct(map[string]string{"data_record": n.DataRecord, "row": n.Row, "key_record": n.KeyRecord, "headers_record": n.HeadersRecord}, ownRecords,
		"data_record", "row", "key_record", "headers_record")
	if !allSegments(n.Namespace, legalAvro) {
		r.wrong("qlik.names.namespace", "use names of letters, digits and underscore, joined by dots", "is not an Avro namespace")
	}
	r.checkTableNamespace(n.TableNamespace)
}

func (r *rules) checkTableNamespace(template string) {
	const path = "qlik.names.table_namespace"
	sample := strings.NewReplacer("{task}", "t", "{schema}", "s", "{table}", "t")
	legal := func(segment string) bool { return segment == "{namespace}" || legalAvro(sample.Replace(segment)) }
	switch {
	case !allSegments(strings.ReplaceAll(template, "{namespace}", "n"), legal):
		r.wrong(path, "use names of letters, digits and underscore, and {namespace}, {task}, {schema}, {table}, joined by dots", "is not an Avro namespace")
	case !allSegments(template, legal):
		r.wrong(path, "put dots around it", "has {namespace} inside a name: it is a namespace of its own")
	case !strings.Contains(template, "{table}"):
		r.wrong(path, "add {table}", "lacks {table}: the records of all tables would have one name")
	}
}

func allSegments(namespace string, legal func(string) bool) bool {
	for _, segment := range strings.Split(namespace, ".") {
		if !legal(segment) {
			return false
		}
	}
	return true
}

func legalAvro(name string) bool { return name != "" && envelope.AvroName(name) == name }

func (r *rules) distinct(names map[string]string, own []string, keys ...string) {
	taken := map[string]string{}
	for _, name := range own {
		taken[name] = "is a name that messages have of their own"
	}
	for _, key := range keys {
		name, path := names[key], "qlik.names."+key
		if !legalAvro(name) {
			r.wrong(path, "use letters, digits and underscore", "is not an Avro name")
		}
		if other, twice := taken[name]; twice {
			r.wrong(path, "choose another", "%s", other)
		}
		taken[name] = "is the name of qlik.names." + key + ", too"
	}
}
