package config

import (
	"reflect"
	"strings"
	"time"
)

// field is one key of a section, as its struct tags declare it.
type field struct {
	name     string // the key
	index    int    // in the struct
	typ      reflect.Type
	doc      string
	def      string // YAML text; hasDef tells an empty text from none
	hasDef   bool
	oneof    []string
	min, max string
	required bool
	comma    bool // a list that may be written as one text with commas
	example  string
	short    bool // of a section: the key that one value alone stands for
}

// fieldsOf lists the keys of a section in their order.
func fieldsOf(section reflect.Type) []field {
	fields := make([]field, 0, section.NumField())
	for i := range section.NumField() {
		f := section.Field(i)
		tag := f.Tag
		def, hasDef := tag.Lookup("default")
		fields = append(fields, field{
			name: tag.Get("yaml"), index: i, typ: f.Type, doc: tag.Get("doc"), def: def, hasDef: hasDef,
			oneof: choices(tag), min: tag.Get("min"), max: tag.Get("max"),
			required: tag.Get("required") == "true", comma: tag.Get("list") == "comma", example: tag.Get("example"),
			short: tag.Get("short") == "true",
		})
	}
	return fields
}

func choices(tag reflect.StructTag) []string {
	list, has := tag.Lookup("oneof")
	if !has {
		return nil
	}
	return strings.Split(list, "|")
}

var (
	secretType   = reflect.TypeFor[Secret]()
	sizeType     = reflect.TypeFor[Size]()
	durationType = reflect.TypeFor[time.Duration]()
	patternType  = reflect.TypeFor[TablePattern]()
)

// isSection tells a section from a value that happens to be a struct.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != secretType && t != patternType
}

// isSectionList tells lists whose entries are sections.
func isSectionList(t reflect.Type) bool { return t.Kind() == reflect.Slice && isSection(t.Elem()) }

// join is the path of a key inside a section.
func join(section, key string) string {
	if section == "" {
		return key
	}
	return section + "." + key
}

// walk visits every key below a section, sections before what they hold.
func walk(section reflect.Type, path string, visit func(path string, f field)) {
	for _, f := range fieldsOf(section) {
		at := join(path, f.name)
		visit(at, f)
		if isSection(f.typ) {
			walk(f.typ, at, visit)
		}
	}
}
