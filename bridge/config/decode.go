package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decoder walks the tree of the file beside the Go types. It never stops at a problem; a value that is wrong keeps its default.
type decoder struct {
	env      Lookup
	problems Problems
	set      map[string]origin // what the file sets, by path
	files    []secretFile
	values   int // decoded so far
}

// maxValues stops a file whose aliases multiply.
const maxValues = 100_000

// origin is where a value stands in the file and how it may be shown.
type origin struct {
	line  int
	shown string // quoted; empty for sections, lists and secrets
}

// secretFile is a secret that is still to be read.
type secretFile struct {
	path   string // of the key
	name   string // of the file
	shown  string // the name as it stands in the configuration
	secret *Secret
}

// newDecoder takes no environment for one without variables.
func newDecoder(env Lookup) *decoder {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	return &decoder{env: env, set: map[string]origin{}}
}

func (d *decoder) fail(path string, line int, text, fix string) {
	d.problems = append(d.problems, Problem{Path: path, Line: line, Text: text, Fix: fix})
}

// applyDefaults decodes the default tags of a section and of all below it.
func (d *decoder) applyDefaults(section reflect.Value) {
	for _, f := range fieldsOf(section.Type()) {
		v := section.Field(f.index)
		if isSection(f.typ) {
			d.applyDefaults(v)
		}
		if !f.hasDef {
			continue
		}
		if !isSection(f.typ) && v.Kind() != reflect.Slice && v.Kind() != reflect.Map {
			_ = setScalar(v, f.def) // a test checks every default
			continue
		}
		if n, problem := parseYAML([]byte(f.def)); problem == nil {
			d.value(n, v, &f, f.name)
		}
	}
}

// value decodes a node onto v, whose defaults are in place.
func (d *decoder) value(n *yaml.Node, v reflect.Value, f *field, path string) {
	line := n.Line
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.set[path] = origin{line: line}
	d.values++
	switch {
	case d.values == maxValues:
		d.fail("", line, fmt.Sprintf("the file has more than %d values", maxValues), "write fewer aliases")
	case d.values > maxValues:
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(path, line, "has a YAML tag, which has no meaning here", "remove what begins with !")
	case isSection(v.Type()):
		d.section(n, v, path, line)
	case v.Kind() == reflect.Map:
		d.mapping(n, v, path, line)
	case v.Kind() == reflect.Slice:
		d.list(n, v, f, path, line)
	default:
		d.scalar(n, v, f, path, line)
	}
}

// section decodes keys onto the fields of a struct. An empty section sets nothing.
func (d *decoder) section(n *yaml.Node, v reflect.Value, path string, line int) {
	if isNull(n) {
		return
	}
	fields := map[string]field{}
	for _, f := range fieldsOf(v.Type()) {
		fields[f.name] = f
		if f.short && n.Kind == yaml.ScalarNode {
			d.value(n, v.Field(f.index), &f, join(path, f.name))
			return
		}
	}
	d.pairs(n, path, line, func(key, value *yaml.Node) {
		if f, known := fields[key.Value]; known {
			d.value(value, v.Field(f.index), &f, join(path, f.name))
		} else {
			d.unknown(key, v.Type(), path)
		}
	})
}

// mapping decodes keys that the user chooses; they are added to the default's.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string, line int) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	d.pairs(n, path, line, func(key, value *yaml.Node) {
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		at := join(path, key.Value)
		if err := setScalar(k, key.Value); err != nil {
			d.fail(at, key.Line, "the key "+err.Error(), "")
			return
		}
		d.value(value, e, &field{}, at)
		v.SetMapIndex(k, e)
	})
}

// pairs visits the keys of a mapping, each once.
func (d *decoder) pairs(n *yaml.Node, path string, line int, visit func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(path, line, "wants keys below it, found "+kindOf(n), "")
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch at, twice := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.fail(path, key.Line, "has a key that is not a text", "")
		case key.ShortTag() == "!!merge":
			d.fail(path, key.Line, "merge keys (<<) are not supported", "write the keys out")
		case twice:
			d.fail(join(path, key.Value), key.Line, fmt.Sprintf("is set twice, first in line %d", at), "keep one")
		default:
			first[key.Value] = key.Line
			visit(key, value)
		}
	}
}

// list decodes a list of texts; it replaces the default.
func (d *decoder) list(n *yaml.Node, v reflect.Value, f *field, path string, line int) {
	items := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && f.comma && !isNull(n):
		items = d.split(n, path, line)
	case n.Kind != yaml.SequenceNode:
		d.fail(path, line, "wants a list, found "+kindOf(n), "write [a, b]")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		d.value(item, list.Index(i), &field{required: true}, path+"["+strconv.Itoa(i)+"]")
	}
	if f.required && len(items) == 0 {
		d.fail(path, line, "is empty", "")
	}
	v.Set(list)
}

// split takes one text with commas for a list: that is how environment variables hold brokers.
func (d *decoder) split(n *yaml.Node, path string, line int) (items []*yaml.Node) {
	text, _, err := expand(n.Value, d.env)
	if err != nil {
		d.fail(path, line, err.Error(), "")
		return nil
	}
	for _, part := range strings.Split(text, ",") {
		item := *n
		item.Value = strings.ReplaceAll(strings.TrimSpace(part), "$", "$$") // not to be expanded again
		items = append(items, &item)
	}
	return items
}

// scalar decodes one value, after putting in the variables that it names.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, f *field, path string, line int) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.fail(path, line, "wants one value, found "+kindOf(n), `remove the key for its default, write "" for an empty text`)
		return
	}
	shown := ""
	if v.Type() != secretType {
		shown = show(n.Value)
	}
	d.set[path] = origin{line: line, shown: shown}
	text, _, err := expand(n.Value, d.env)
	if err == nil {
		err = d.assign(v, f, path, n.Value, text)
	}
	if err != nil {
		d.fail(path, line, strings.TrimPrefix(shown+" "+err.Error(), " "), "")
	}
}

// assign sets v to the text if that is allowed.
func (d *decoder) assign(v reflect.Value, f *field, path, raw, text string) error {
	if f.required && text == "" {
		return fmt.Errorf("is empty")
	}
	if v.Type() == secretType {
		v.Set(reflect.ValueOf(NewSecret(text)))
		if name, ok := strings.CutPrefix(text, "file:"); ok && strings.HasPrefix(raw, "file:") {
			d.files = append(d.files, secretFile{path: path, name: name, shown: show(raw), secret: v.Addr().Interface().(*Secret)})
		}
		return nil
	}
	fresh := reflect.New(v.Type()).Elem()
	if err := setScalar(fresh, text); err != nil {
		return err
	}
	if err := f.check(fresh); err != nil {
		return err
	}
	v.Set(fresh)
	return nil
}

var userInfo = regexp.MustCompile(`[^\s/@]*:[^\s/@]*@`)

// show quotes a value as it stands in the file, before variables are put in, without a user's password.
func show(raw string) string {
	const most = 80
	if len(raw) > most {
		raw = strings.ToValidUTF8(raw[:most], "") + "…"
	}
	return strconv.Quote(userInfo.ReplaceAllString(raw, hidden+"@"))
}

// unknown reports a key that the section does not have, with the one that was probably meant.
func (d *decoder) unknown(key *yaml.Node, section reflect.Type, path string) {
	var here, anywhere []string
	walk(section, "", func(at string, f field) {
		if !strings.Contains(at, ".") {
			here = append(here, at)
		}
	})
	walk(reflect.TypeFor[Task](), "", func(at string, f field) {
		if f.name == key.Value {
			anywhere = append(anywhere, at)
		}
	})
	fix := "known here: " + strings.Join(here, ", ")
	if near := nearest(key.Value, here); near != "" {
		fix = "did you mean " + near + "?"
	} else if len(anywhere) > 0 {
		fix = "did you mean " + strings.Join(anywhere, " or ") + "?"
	}
	d.fail(join(path, key.Value), key.Line, "is not a known key", fix)
}
