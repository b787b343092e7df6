package config

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// everyField visits the keys of a task and those of the entries of its lists.
func everyField(visit func(path string, f field)) {
	walk(reflect.TypeFor[Task](), "", func(path string, f field) {
		visit(path, f)
		if isSectionList(f.typ) {
			walk(f.typ.Elem(), path+"[]", visit)
		}
	})
}

func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	count := 0
	everyField(func(path string, f field) {
		count++
		if f.name == "" || f.doc == "" || !strings.HasSuffix(f.doc, ".") || strings.Contains(f.doc, "|") {
			t.Errorf("%s: documentation %q", path, f.doc)
		}
		if !regexp.MustCompile(`^[a-z_0-9]+$`).MatchString(f.name) {
			t.Errorf("%s: key %q", path, f.name)
		}
		if f.required && (f.example == "" || f.hasDef) {
			t.Errorf("%s: required keys have an example and no default", path)
		}
		if numeric := f.typ == durationType || f.typ == sizeType || f.typ.Kind() == reflect.Int; numeric != (f.min != "") || numeric != (f.max != "") {
			t.Errorf("%s: numbers have limits, other values have none", path)
		}
	})
	if count < 100 {
		t.Errorf("only %d keys", count)
	}
}

// applyDefaults cannot report what is wrong with a tag, so every tag is read here.
func TestEveryTagCanBeRead(t *testing.T) {
	t.Parallel()
	everyField(func(path string, f field) {
		for _, text := range []string{f.min, f.max} {
			if text != "" {
				if err := setScalar(reflect.New(f.typ).Elem(), text); err != nil {
					t.Errorf("%s: limit %q %v", path, text, err)
				}
			}
		}
		if !f.hasDef {
			return
		}
		v := reflect.New(f.typ).Elem()
		if v.Kind() == reflect.Struct || v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
			n, problem := parseYAML([]byte(f.def))
			if problem != nil {
				t.Fatalf("%s: %v", path, problem)
			}
			d := newDecoder(nil)
			d.value(n, v, &f, path)
			if len(d.problems) > 0 {
				t.Error(d.problems)
			}
			return
		}
		if err := setScalar(v, f.def); err != nil {
			t.Errorf("%s: default %q %v", path, f.def, err)
		}
		if err := f.check(v); err != nil {
			t.Errorf("%s: default %q %v", path, f.def, err)
		}
	})
}

func TestMarkdownShowsEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	everyField(func(path string, f field) {
		if isSection(f.typ) {
			if !strings.Contains(b.String(), "\n## "+path+"\n\n"+f.doc+"\n") {
				t.Errorf("section %s is not there", path)
			}
			return
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(path) + "` \\|.*$").FindString(b.String())
		if !strings.Contains(row, f.doc) || strings.Count(row, "|") != 5 {
			t.Errorf("row of %s: %q", path, row)
		}
		if shown := "| `" + f.def + "` |"; f.def != "" && !strings.Contains(path, "[]") && f.typ.Kind() == reflect.String && !strings.Contains(row, shown) {
			t.Errorf("row of %s does not show %s", path, shown)
		}
	})
}

// The commented YAML is a valid file as it stands, and with every key uncommented it says the same: so the defaults shown are the real ones.
func TestYAMLShowsTheRealDefaults(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WriteYAML(&b); err != nil {
		t.Fatal(err)
	}
	asIs, err := parse(b.Bytes(), testEnv, noFiles)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	all := regexp.MustCompile(`(?m)^( *)#([a-z])`).ReplaceAllString(b.String(), "$1$2")
	keys := 0
	walk(reflect.TypeFor[Task](), "", func(string, field) { keys++ })
	if got := len(regexp.MustCompile(`(?m)^ *[a-z_]+:`).FindAllString(all, -1)); got != keys {
		t.Errorf("%d keys shown, there are %d", got, keys)
	}
	uncommented := Defaults()
	root, problem := parseYAML([]byte(all))
	if problem != nil {
		t.Fatalf("%v\n%s", problem, all)
	}
	d := newDecoder(testEnv)
	d.section(root, reflect.ValueOf(uncommented).Elem(), "", 0)
	if len(d.problems) > 0 {
		t.Fatal(d.problems)
	}
	uncommented.fillOutputs(d)
	uncommented.resolve(hostName())
	emptyToNil(reflect.ValueOf(uncommented).Elem())
	if !reflect.DeepEqual(asIs, uncommented) {
		t.Errorf("as it stands %+v\nuncommented  %+v", asIs, uncommented)
	}
}

// emptyToNil forgets the difference between an empty list and none, and between an empty secret and none.
func emptyToNil(v reflect.Value) {
	switch {
	case v.Type() == secretType && !v.Interface().(Secret).IsSet():
		v.SetZero()
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0:
		v.SetZero()
	case isSectionList(v.Type()):
		for i := range v.Len() {
			emptyToNil(v.Index(i))
		}
	case isSection(v.Type()):
		for i := range v.NumField() {
			emptyToNil(v.Field(i))
		}
	}
}
