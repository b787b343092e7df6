package avro

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"ctbridge/bridge/envelope"
)

// SchemaText gives the Avro schema of a tree as compact JSON, the same bytes for the same tree. Errors name every field that cannot be
// declared.
func SchemaText(n *envelope.Node) (string, error) {
	w := newSchemaWriter()
	if err := w.node(n, "", ""); err != nil {
		return "", fmt.Errorf("avro schema: %w", err)
	}
	return w.out.String(), nil
}

type schemaWriter struct {
	out     strings.Builder
	defined map[string]*envelope.Node // by full name: those written in full already
}

func newSchemaWriter() *schemaWriter {
	return &schemaWriter{defined: map[string]*envelope.Node{}}
}

// node writes the type of a node that stands in the given namespace.
func (w *schemaWriter) node(n *envelope.Node, namespace, path string) error {
	if n == nil {
		return fmt.Errorf("%s: nothing is declared", place(path))
	}
	if !n.Nullable {
		return w.content(n, namespace, path)
	}
	w.out.WriteString(`["null",`)
	err := w.content(n, namespace, path)
	w.out.WriteString(`]`)
	return err
}

func (w *schemaWriter) content(n *envelope.Node, namespace, path string) error {
	switch {
	case n.Shape == envelope.Embedded && n.Inner == nil:
		return fmt.Errorf("%s: nothing is embedded", place(path))
	case n.Shape == envelope.Embedded:
		w.out.WriteString(`"bytes"`)
		return nil
	case n.Shape == envelope.Array:
		return w.arrayType(n, namespace, path)
	case n.Shape == envelope.Union:
		return w.unionType(n, namespace, path)
	case n.Shape == envelope.Split:
		return errors.Join(checkParts(n, path), w.named(n, namespace, path))
	case n.Shape == envelope.Record || n.Avro.Kind == envelope.FormEnum || n.Avro.Kind == envelope.FormFixed:
		return w.named(n, namespace, path)
	}
	text, err := primitive(&n.Avro)
	if err != nil {
		return fmt.Errorf("%s: %w", place(path), err)
	}
	if len(n.Props) == 0 {
		w.out.WriteString(text)
		return nil
	}
	return w.extended(text, n.Props, path)
}

// extended writes the type of a form with further members.
func (w *schemaWriter) extended(text string, props []envelope.Prop, path string) error {
	if text[0] == '"' {
		text = `{"type":` + text + `}`
	}
	w.out.WriteString(text[:len(text)-1])
	err := w.props(props, path)
	w.out.WriteString(`}`)
	return err
}

func (w *schemaWriter) props(props []envelope.Prop, path string) error {
	var problems []error
	for _, p := range props {
		if !json.Valid([]byte(p.Value)) {
			problems = append(problems, fmt.Errorf("%s: property %q is not JSON", place(path), p.Name))
		}
		w.out.WriteString(`,` + quote(p.Name) + `:` + p.Value)
	}
	return errors.Join(problems...)
}

// named writes the definition of a named type, or its full name where it is defined already.
func (w *schemaWriter) named(n *envelope.Node, enclosing, path string) error {
	namespace := n.Namespace
	if namespace == "" {
		namespace = enclosing
	}
	if err := checkNames(n.Name, namespace); err != nil {
		return fmt.Errorf("%s: %w", place(path), err)
	}
	full := join(namespace, n.Name)
	first, known := w.defined[full]
	if !known {
		w.defined[full] = n
		return w.define(n, namespace, enclosing, path)
	}
	if !sameDefinition(first, n, namespace) {
		return fmt.Errorf("%s: the name %q already means another type", place(path), full)
	}
	w.out.WriteString(quote(full))
	return nil
}

func checkNames(name, namespace string) error {
	if !legal(name) {
		return illegal(name)
	}
	if namespace == "" {
		return nil
	}
	for _, part := range strings.Split(namespace, ".") {
		if !legal(part) {
			return fmt.Errorf("namespace %q: %w", namespace, illegal(part))
		}
	}
	return nil
}

// legal reports whether a name is [A-Za-z_][A-Za-z0-9_]*.
func legal(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func illegal(name string) error {
	return fmt.Errorf("%q is not an Avro name (letters, digits and underscores, no digit in front)", clip(name))
}

// sameDefinition compares two nodes of one name by what they would write.
func sameDefinition(a, b *envelope.Node, namespace string) bool {
	if a == b {
		return true
	}
	first, second := newSchemaWriter(), newSchemaWriter()
	err := errors.Join(first.define(a, namespace, "", ""), second.define(b, namespace, "", ""))
	return err == nil && first.out.String() == second.out.String()
}

func (w *schemaWriter) define(n *envelope.Node, namespace, enclosing, path string) error {
	kind := "record"
	switch {
	case n.Shape == envelope.Record || n.Shape == envelope.Split:
	case n.Avro.Kind == envelope.FormEnum:
		kind = "enum"
	default:
		kind = "fixed"
	}
	w.out.WriteString(`{"type":"` + kind + `","name":` + quote(n.Name))
	if namespace != enclosing {
		w.out.WriteString(`,"namespace":` + quote(namespace))
	}
	err := w.doc(n.Doc, path)
	switch kind {
	case "record":
		err = errors.Join(err, w.fields(n, namespace, path))
	case "enum":
		err = errors.Join(err, w.symbols(n.Avro.Symbols, path))
	case "fixed":
		w.out.WriteString(`,"size":` + strconv.Itoa(n.Avro.Scale))
		if n.Avro.Scale < 1 {
			err = errors.Join(err, fmt.Errorf("%s: a fixed size of %d", place(path), n.Avro.Scale))
		}
	}
	err = errors.Join(err, w.props(n.Props, path))
	w.out.WriteString(`}`)
	return err
}

func (w *schemaWriter) fields(n *envelope.Node, namespace, path string) error {
	var problems []error
	taken := map[string]string{}
	w.out.WriteString(`,"fields":[`)
	for i := range n.Fields {
		if i > 0 {
			w.out.WriteString(",")
		}
		f := &n.Fields[i]
		if other, twice := taken[f.InAvro()]; twice {
			problems = append(problems, fmt.Errorf("%s: fields %q and %q both have the Avro name %q", place(path), other, f.Name, f.InAvro()))
		}
		taken[f.InAvro()] = f.Name
		problems = append(problems, w.field(f, namespace, join(path, f.Name)))
	}
	w.out.WriteString(`]`)
	return errors.Join(problems...)
}

func (w *schemaWriter) field(f *envelope.Field, namespace, path string) error {
	if !legal(f.InAvro()) {
		return fmt.Errorf("%s: %w", place(path), illegal(f.InAvro()))
	}
	w.out.WriteString(`{"name":` + quote(f.InAvro()) + `,"type":`)
	err := w.node(f.Node, namespace, path)
	if f.Node != nil && f.Node.Nullable {
		w.out.WriteString(`,"default":null`)
	}
	err = errors.Join(err, w.doc(fieldDoc(f), path), w.props(f.Props, path))
	w.out.WriteString(`}`)
	return err
}

// fieldDoc keeps the name that the source has for a field whose Avro name had to be another one.
func fieldDoc(f *envelope.Field) string {
	switch {
	case f.InAvro() == f.Name:
		return f.Doc
	case f.Doc == "":
		return f.Name
	}
	return f.Name + ": " + f.Doc
}

func (w *schemaWriter) doc(text, path string) error {
	if text == "" {
		return nil
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s: name or doc is not valid UTF-8", place(path))
	}
	w.out.WriteString(`,"doc":` + quote(text))
	return nil
}

func (w *schemaWriter) symbols(symbols []string, path string) error {
	var problems []error
	taken := map[string]bool{}
	w.out.WriteString(`,"symbols":[`)
	for i, symbol := range symbols {
		if i > 0 {
			w.out.WriteString(",")
		}
		if !legal(symbol) || taken[symbol] {
			problems = append(problems, fmt.Errorf("%s: the symbol %q is illegal or there twice", place(path), clip(symbol)))
		}
		taken[symbol] = true
		w.out.WriteString(quote(symbol))
	}
	w.out.WriteString(`]`)
	return errors.Join(problems...)
}

// quote writes a JSON string without escapes for HTML.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// place names a path for people; the root of the tree has none.
func place(path string) string {
	if path == "" {
		return "message"
	}
	return clip(path)
}

func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
