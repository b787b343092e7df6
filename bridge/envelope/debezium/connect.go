package debezium

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"ctbridge/bridge/envelope"
)

// The members of an Avro type that keep what Connect knows of it, in the order that its Avro converter writes them. They are the single place
// where the tree says it: the Connect schema of the JSON wrapper is read from them.
const (
	docProp        = "connect.doc"
	versionProp    = "connect.version"
	parametersProp = "connect.parameters"
	defaultProp    = "connect.default"
	nameProp       = "connect.name"
	typeProp       = "connect.type"
)

// parameter is one of a Connect schema's parameters.
type parameter struct{ name, value string }

// semantic gives the members of a named type; version 0 is none.
func semantic(name string, version int, parameters ...parameter) []envelope.Prop {
	var props []envelope.Prop
	if version > 0 {
		props = append(props, envelope.Prop{Name: versionProp, Value: strconv.Itoa(version)})
	}
	if len(parameters) > 0 {
		var b strings.Builder
		for i, p := range parameters {
			b.WriteString(separator(i, "{") + quote(p.name) + ":" + quote(p.value))
		}
		props = append(props, envelope.Prop{Name: parametersProp, Value: b.String() + "}"})
	}
	return append(props, envelope.Prop{Name: nameProp, Value: quote(name)})
}

// wrapped puts the Connect schema beside a message, as Connect's JSON converter does.
func wrapped(n *envelope.Node) *envelope.Node {
	var b strings.Builder
	writeSchema(&b, n, "")
	return &envelope.Node{Shape: envelope.Record, Fields: []envelope.Field{
		{Name: "schema", Node: &envelope.Node{Constant: new(letter(b.String())), Role: envelope.RoleSchema, JSON: envelope.Form{Kind: envelope.FormVerbatim}}},
		{Name: "payload", Node: n},
	}}
}

// writeSchema writes the Connect schema of a node; field is its name inside a struct.
func writeSchema(b *strings.Builder, n *envelope.Node, field string) {
	nullable := n.Nullable
	if n.Shape == envelope.Union { // a type and null, in the order of its default
		n, nullable = contentOf(n), true
	}
	b.WriteString(`{"type":` + quote(connectName(n)))
	if n.Shape == envelope.Array {
		b.WriteString(`,"items":`)
		writeSchema(b, n.Item, "")
	}
	for i := range n.Fields {
		b.WriteString(separator(i, `,"fields":[`))
		writeSchema(b, n.Fields[i].Node, n.Fields[i].Name)
	}
	if len(n.Fields) > 0 {
		b.WriteByte(']')
	}
	b.WriteString(`,"optional":` + strconv.FormatBool(nullable))
	writeProp(b, n, "name", nameProp)
	writeProp(b, n, "version", versionProp)
	writeProp(b, n, "doc", docProp)
	writeProp(b, n, "parameters", parametersProp)
	writeProp(b, n, "default", defaultProp)
	if field != "" {
		b.WriteString(`,"field":` + quote(field))
	}
	b.WriteByte('}')
}

// contentOf is the branch of a union that is not null.
func contentOf(n *envelope.Node) *envelope.Node {
	for _, branch := range n.Branches {
		if branch.Shape != envelope.Leaf || branch.Avro.Kind != envelope.FormNull {
			return branch
		}
	}
	return n
}

func separator(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

func writeProp(b *strings.Builder, n *envelope.Node, member, prop string) {
	if value, found := propOf(n, prop); found {
		b.WriteString(`,"` + member + `":` + value)
	}
}

func propOf(n *envelope.Node, name string) (string, bool) {
	for _, p := range n.Props {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// connectName is the Connect type of a node: what its Avro form holds.
func connectName(n *envelope.Node) string {
	switch n.Shape {
	case envelope.Array:
		return "array"
	case envelope.Record, envelope.Split, envelope.Embedded, envelope.Union:
		return "struct"
	case envelope.Leaf:
	}
	if _, is := propOf(n, typeProp); is {
		return "int16"
	}
	switch n.Avro.Kind {
	case envelope.FormBoolean:
		return "boolean"
	case envelope.FormInt, envelope.FormScalePart, envelope.FormDate, envelope.FormTimeMillis:
		return "int32"
	case envelope.FormLong, envelope.FormTimeMicros, envelope.FormTimeNanos, envelope.FormDurationMicros, envelope.FormTimestampMillis,
		envelope.FormTimestampMicros, envelope.FormTimestampNanos:
		return "int64"
	case envelope.FormFloat:
		return "float"
	case envelope.FormDouble, envelope.FormDecimalDouble:
		return "double"
	case envelope.FormBytes, envelope.FormDecimalBytes, envelope.FormUnscaledPart:
		return "bytes"
	}
	return "string"
}

// quote writes a JSON string without escapes for HTML.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
