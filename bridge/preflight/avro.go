package preflight

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// The kinds of changes.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Change is one difference between two structures.
type Change struct {
	Kind string `json:"kind"` // added, removed, changed
	Path string `json:"path"` // names joined by dots
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
}

// avroChanges compares two Avro schemas by the paths of their fields, in the order of the newer one; what is gone comes last. A schema that cannot be
// read has no fields.
func avroChanges(was, is string) (out []Change) {
	if was == is {
		return nil
	}
	before, after := fieldsOf(was), fieldsOf(is)
	for _, f := range after {
		old := slices.IndexFunc(before, func(b field) bool { return b.path == f.path })
		switch {
		case old < 0:
			out = append(out, Change{Kind: Added, Path: f.path, Is: f.text})
		case before[old].text != f.text:
			out = append(out, Change{Kind: Changed, Path: f.path, Was: before[old].text, Is: f.text})
		}
	}
	for _, f := range before {
		if !slices.ContainsFunc(after, func(a field) bool { return a.path == f.path }) {
			out = append(out, Change{Kind: Removed, Path: f.path, Was: f.text})
		}
	}
	return outermost(out)
}

// outermost leaves out what lies inside something that was added or removed as a whole.
func outermost(all []Change) []Change {
	return slices.DeleteFunc(all, func(c Change) bool {
		return slices.ContainsFunc(all, func(o Change) bool {
			return o.Kind == c.Kind && c.Kind != Changed && strings.HasPrefix(c.Path, o.Path+".")
		})
	})
}

// field is one field of a schema, flattened.
type field struct{ path, text string }

// flattener walks a schema. A named type is walked where it is defined, and only named where it is used again.
type flattener struct {
	named map[string]string // kinds of the types defined so far
	depth int
	out   []field
}

func fieldsOf(schema string) []field {
	decoder := json.NewDecoder(bytes.NewReader([]byte(schema)))
	decoder.UseNumber()
	var root any
	if decoder.Decode(&root) != nil {
		return nil
	}
	f := &flattener{named: make(map[string]string)}
	name := f.walk("", "", root)
	return append([]field{{path: "(record)", text: name}}, f.out...)
}

// deepest is how far records may lie inside each other: a type may name itself.
const deepest = 16

// walk notes the fields below a type and gives the type's text.
func (f *flattener) walk(path, space string, node any) string {
	switch t := node.(type) {
	case string:
		for _, name := range []string{t, space + "." + t} {
			if kind := f.named[name]; kind != "" {
				return kind + " " + name
			}
		}
		return t
	case []any:
		parts := make([]string, len(t))
		for i, branch := range t {
			parts[i] = f.walk(path, space, branch)
		}
		return strings.Join(parts, "|")
	case map[string]any:
		return f.walkType(path, space, t)
	}
	return "?"
}

func (f *flattener) walkType(path, space string, t map[string]any) string {
	kind, plain := t["type"].(string)
	if !plain {
		return f.walk(path, space, t["type"])
	}
	name, space := fullName(t, space)
	if name != "" {
		f.named[name] = kind
	}
	switch kind {
	case "record":
		f.walkFields(path, space, t)
		return "record " + name
	case "array":
		return "array<" + f.walk(join(path, "[]"), space, t["items"]) + ">"
	case "map":
		return "map<" + f.walk(join(path, "{}"), space, t["values"]) + ">"
	case "enum", "fixed":
		return kind + " " + name + details(t, "symbols", "size", "logicalType", "precision", "scale")
	}
	return kind + details(t, "logicalType", "precision", "scale", "connect.name")
}

func (f *flattener) walkFields(path, space string, t map[string]any) {
	if f.depth++; f.depth < deepest {
		fields, _ := t["fields"].([]any)
		for _, item := range fields {
			member, _ := item.(map[string]any)
			name, _ := member["name"].(string)
			at, place := join(path, name), len(f.out)
			f.out = append(f.out, field{path: at})
			text := f.walk(at, space, member["type"])
			if value, has := member["default"]; has {
				text += " = " + compact(value)
			}
			f.out[place].text = text
		}
	}
	f.depth--
}

// fullName is a named type's name with its namespace, and the namespace of what lies inside.
func fullName(t map[string]any, space string) (name, inside string) {
	name, _ = t["name"].(string)
	if own, has := t["namespace"].(string); has {
		space = own
	}
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		space = name[:at]
		return name, space
	}
	if name != "" && space != "" {
		return space + "." + name, space
	}
	return name, space
}

func details(t map[string]any, keys ...string) string {
	var parts []string
	for _, key := range keys {
		if value, has := t[key]; has {
			parts = append(parts, strings.Trim(compact(value), `"`))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ",") + ")"
}

func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return string(text)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
