package config

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

const introduction = `One YAML file configures one task. Unknown keys, duplicate keys and values out of range are errors; all of them are reported at once.

- ${NAME} and ${NAME:-text} in a value stand for an environment variable, $$ for a dollar sign.
- A secret that is written file:/path is the content of that file, without its last line break.
- Durations have a unit: 200ms, 30s, 5m, 1h. Sizes have one, too: 512KiB, 1MiB.
`

// WriteMarkdown writes every key with its type, default and meaning.
func WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Configuration reference\n\n" + introduction)
	table := func(path, doc string, section reflect.Value) {
		if path != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", path, doc)
		}
		if !hasValues(section.Type()) {
			return
		}
		b.WriteString("\n| Key | Value | Default | Meaning |\n|---|---|---|---|\n")
		for _, f := range fieldsOf(section.Type()) {
			if !isSection(f.typ) {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", join(path, f.name), cell(f.kind()), code(f.defaultText(section.Field(f.index))), cell(f.doc))
			}
		}
	}
	eachSection(reflect.ValueOf(Defaults()).Elem(), "", "", table)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteYAML writes a file that sets what is required and shows every other key, commented out, with its default.
func WriteYAML(w io.Writer) error {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(introduction), "\n") {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	writeSection(&b, reflect.ValueOf(Defaults()).Elem(), "")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeSection marks documentation with "# " and keys that are left at their default with "#".
func writeSection(b *strings.Builder, section reflect.Value, indent string) {
	for _, f := range fieldsOf(section.Type()) {
		v := section.Field(f.index)
		if isSection(f.typ) {
			fmt.Fprintf(b, "\n%s# %s\n%s%s:\n", indent, f.doc, indent, f.name)
			writeSection(b, v, indent+"  ")
			continue
		}
		fmt.Fprintf(b, "\n%s# %s (%s)\n", indent, f.doc, f.kind())
		text, off := f.defaultText(v), "#"
		switch {
		case f.required:
			text, off = f.example, ""
		case text == "" && f.example != "":
			fmt.Fprintf(b, "%s# example: %s: %s\n", indent, f.name, f.example)
		}
		fmt.Fprintf(b, "%s%s%s: %s\n", indent, off, f.name, f.yamlText(text))
	}
}

func eachSection(section reflect.Value, path, doc string, visit func(path, doc string, section reflect.Value)) {
	visit(path, doc, section)
	for _, f := range fieldsOf(section.Type()) {
		switch {
		case isSection(f.typ):
			eachSection(section.Field(f.index), join(path, f.name), f.doc, visit)
		case isSectionList(f.typ):
			eachSection(reflect.New(f.typ.Elem()).Elem(), join(path, f.name)+"[]", f.doc, visit)
		}
	}
}

func hasValues(section reflect.Type) bool {
	for _, f := range fieldsOf(section) {
		if !isSection(f.typ) {
			return true
		}
	}
	return false
}

// kind says in words what a key takes.
func (f *field) kind() string {
	switch {
	case f.oneof != nil:
		return strings.Join(quoteEmpty(f.oneof), " or ")
	case f.typ == secretType:
		return "secret"
	case f.typ == durationType:
		return "duration" + f.bounds()
	case f.typ == sizeType:
		return "size" + f.bounds()
	case f.typ.Kind() == reflect.Int:
		return "whole number" + f.bounds()
	case f.typ.Kind() == reflect.Bool:
		return "true or false"
	case f.typ.Kind() == reflect.Slice:
		return "list"
	case f.typ.Kind() == reflect.Map && f.typ.Elem().Kind() == reflect.Slice:
		return "lists by name"
	case f.typ.Kind() == reflect.Map && f.typ.Elem().Kind() == reflect.Int:
		return "whole numbers by name"
	case f.typ.Kind() == reflect.Map:
		return "texts by name"
	}
	return "text"
}

func (f *field) bounds() string { return " from " + f.min + " to " + f.max }

// defaultText is the default as the file would spell it, "" where there is none.
func (f *field) defaultText(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case Secret:
		return ""
	case time.Duration:
		return Duration(x)
	case TablePatterns:
		return quotedList(x)
	case map[string]string:
		return quotedMap(x)
	}
	if (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

func quotedList(patterns TablePatterns) string {
	texts := make([]string, len(patterns))
	for i, p := range patterns {
		texts[i] = strconv.Quote(p.String())
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func quotedMap(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	texts := make([]string, 0, len(m))
	for key, value := range m {
		texts = append(texts, key+": "+strconv.Quote(value))
	}
	slices.Sort(texts)
	return "{" + strings.Join(texts, ", ") + "}"
}

// yamlText quotes what YAML would read as something else.
func (f *field) yamlText(text string) string {
	switch f.typ.Kind() {
	case reflect.Slice:
		if text == "" {
			return "[]"
		}
		return text
	case reflect.Map:
		if text == "" {
			return "{}"
		}
		return text
	}
	if f.typ.Kind() == reflect.String && (f.oneof == nil || text == "") || f.typ == secretType {
		return strconv.Quote(text)
	}
	return text
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + cell(text) + "`"
}

// cell keeps a text inside its cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
