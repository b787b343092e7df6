package preflight

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const message1 = `{"type":"record","name":"Message","namespace":"m","fields":[
	{"name":"data","type":["null",{"type":"record","name":"Row","namespace":"m.t","fields":[
		{"name":"id","type":"int"},
		{"name":"fee","type":["null",{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}],"default":null}]}]},
	{"name":"before","type":["null","m.t.Row"]},
	{"name":"tags","type":{"type":"array","items":"string"}},
	{"name":"op","type":{"type":"enum","name":"Op","symbols":["I","U"]}}]}`

func TestAvroChanges(t *testing.T) {
	t.Parallel()
	swap := func(was, is string) string {
		if !strings.Contains(message1, was) {
			t.Fatal(was)
		}
		return strings.Replace(message1, was, is, 1)
	}
	for name, c := range map[string]struct {
		next string
		want []Change
	}{
		"same":    {message1, nil},
		"added":   {swap(`{"name":"id","type":"int"},`, `{"name":"id","type":"int"},{"name":"note","type":["null","string"],"default":null},`), []Change{{Added, "data.note", "", "null|string = null"}}},
		"removed": {swap(`{"name":"id","type":"int"},`, ``), []Change{{Removed, "data.id", "int", ""}}},
		"widened": {swap(`"id","type":"int"`, `"id","type":"long"`), []Change{{Changed, "data.id", "int", "long"}}},
		"scale":   {swap(`"scale":2`, `"scale":4`), []Change{{Changed, "data.fee", "null|bytes(decimal,10,2) = null", "null|bytes(decimal,10,4) = null"}}},
		"symbols": {swap(`["I","U"]`, `["I","U","D"]`), []Change{{Changed, "op", `enum m.Op(["I","U"])`, `enum m.Op(["I","U","D"])`}}},
		"items":   {swap(`"items":"string"`, `"items":"int"`), []Change{{Changed, "tags", "array<string>", "array<int>"}}},
		"renamed": {swap(`"name":"Message"`, `"name":"Other"`), []Change{{Changed, "(record)", "record m.Message", "record m.Other"}}},
		"a record appears with its fields": {swap(`{"name":"tags"`, `{"name":"head","type":{"type":"record","name":"Head","fields":[{"name":"x","type":"int"}]}},{"name":"tags"`),
			[]Change{{Added, "head", "", "record m.Head"}}},
		"broken": {`{`, []Change{{Removed, "(record)", "record m.Message", ""}, {Removed, "data", "null|record m.t.Row", ""}, {Removed, "before", "null|record m.t.Row", ""},
			{Removed, "tags", "array<string>", ""}, {Removed, "op", `enum m.Op(["I","U"])`, ""}}},
	} {
		if got := avroChanges(message1, c.next); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A type that names itself ends.
func TestRecursiveSchema(t *testing.T) {
	t.Parallel()
	text := `{"type":"record","name":"Node","fields":[{"name":"next","type":["null","Node"]}]}`
	if got := fieldsOf(text); len(got) != 2 || got[1].text != "null|record Node" {
		t.Errorf("%+v", got)
	}
}

// What one direction adds, the other removes.
func TestChangesAreSymmetric(t *testing.T) {
	t.Parallel()
	draw := rapid.MapOf(rapid.StringMatching("[a-f]"), rapid.SampledFrom([]string{"int", "long", "string"}))
	schemaOf := func(fields map[string]string) string {
		var list []string
		for _, name := range "abcdef" {
			if typ := fields[string(name)]; typ != "" {
				list = append(list, fmt.Sprintf(`{"name":"%c","type":"%s"}`, name, typ))
			}
		}
		return `{"type":"record","name":"R","fields":[` + strings.Join(list, ",") + `]}`
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := schemaOf(draw.Draw(t, "a")), schemaOf(draw.Draw(t, "b"))
		there, back := map[Change]bool{}, map[Change]bool{}
		for _, c := range avroChanges(a, b) {
			there[c] = true
		}
		opposite := map[string]string{Added: Removed, Removed: Added, Changed: Changed}
		for _, c := range avroChanges(b, a) {
			back[Change{opposite[c.Kind], c.Path, c.Is, c.Was}] = true
		}
		if !reflect.DeepEqual(there, back) {
			t.Fatalf("%v\n%v", there, back)
		}
	})
}

func FuzzAvroChanges(f *testing.F) {
	f.Add(message1, `"int"`)
	f.Add(`{"type":{"type":"map","values":["null","string"]}}`, `[{"type":"fixed","name":"F","size":4},7]`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if got := avroChanges(a, a); len(got) != 0 {
			t.Errorf("%q differs from itself: %+v", a, got)
		}
		avroChanges(a, b)
	})
}
