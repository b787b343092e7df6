package jsonenc

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/internal/treetest"
)

func TestRandomTreesAgainstEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := treetest.DrawCase(t)
		encoder, err := Compile(c.Tree)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with used buffers
			got, err := encoder.Append([]byte("kept"), c.Event)
			if err != nil || string(got) != "kept"+c.Want.JSON {
				t.Fatalf("%v\n%s\nwant\n%s", err, got, c.Want.JSON)
			}
			if text := got[len("kept"):]; !json.Valid(text) || !utf8.Valid(text) {
				t.Fatalf("no JSON: %q", text)
			}
		}
	})
}

func TestRowAgainstEncodingJSON(t *testing.T) {
	t.Parallel()
	node, ev := treetest.Row()
	encoder, err := Compile(node)
	if err != nil {
		t.Fatal(err)
	}
	got, err := encoder.Append(nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(treetest.Struct())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s\nwant\n%s\n%v", got, want, err)
	}
}

func TestMembersAreNeverOmitted(t *testing.T) {
	t.Parallel()
	data := &envelope.Node{
		Shape: envelope.Record, Nullable: true, Image: func(ev *change.Event) []change.Value { return ev.Before },
		Fields: []envelope.Field{{Name: "id", Node: &envelope.Node{JSON: envelope.Form{Kind: envelope.FormLong}}}},
	}
	note := change.TextValue([]byte("x"))
	root := &envelope.Node{Shape: envelope.Record, Fields: []envelope.Field{
		{Name: "beforeData", Node: data},
		{Name: "none", Node: &envelope.Node{Nullable: true, Constant: &change.Null, JSON: envelope.Form{Kind: envelope.FormText}}},
		{Name: `a "b"`, AvroName: "a_b", Node: &envelope.Node{Constant: &note, JSON: envelope.Form{Kind: envelope.FormText}}},
		{Name: "empty", Node: &envelope.Node{Shape: envelope.Record}},
	}}
	encoder, err := Compile(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := encoder.Append(nil, &change.Event{})
	if want := `{"beforeData":null,"none":null,"a \"b\"":"x","empty":{}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	got, err = encoder.Append(nil, &change.Event{Before: []change.Value{change.IntValue(7)}})
	if want := `{"beforeData":{"id":7},"none":null,"a \"b\"":"x","empty":{}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestConstantsNeedNoEvent(t *testing.T) {
	t.Parallel()
	number := change.IntValue(5)
	encoder, err := Compile(&envelope.Node{Shape: envelope.Record, Fields: []envelope.Field{
		{Name: "ordinal", Node: &envelope.Node{Constant: &number, JSON: envelope.Form{Kind: envelope.FormInt}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := encoder.Append(nil, nil); err != nil || string(got) != `{"ordinal":5}` {
		t.Errorf("%s, %v", got, err)
	}
}

func row(forms ...envelope.Form) *envelope.Node {
	n := &envelope.Node{Shape: envelope.Record, Image: func(ev *change.Event) []change.Value { return ev.After }}
	for i, form := range forms {
		n.Fields = append(n.Fields, envelope.Field{Name: []string{"fee", "b", "c"}[i], Node: &envelope.Node{Column: i, JSON: form}})
	}
	return n
}

func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	text := func(s string) change.Value { return change.TextValue([]byte(s)) }
	for name, c := range map[string]struct {
		form  envelope.Form
		value change.Value
		says  string
	}{
		"nan":              {envelope.Form{Kind: envelope.FormDouble}, change.Float64Value(math.NaN()), "JSON has no number NaN"},
		"infinity":         {envelope.Form{Kind: envelope.FormFloat}, change.Float32Value(float32(math.Inf(1))), "JSON has no number +Inf"},
		"float of double":  {envelope.Form{Kind: envelope.FormFloat}, change.Float64Value(1), "a 32-bit float is needed"},
		"double of int":    {envelope.Form{Kind: envelope.FormDouble}, change.IntValue(1), "a float is needed"},
		"null":             {envelope.Form{Kind: envelope.FormText}, change.Null, "NULL"},
		"broken text":      {envelope.Form{Kind: envelope.FormText}, text("ok\xffok"), "not valid UTF-8"},
		"cut text":         {envelope.Form{Kind: envelope.FormText}, text("ok\xe2\x80"), "not valid UTF-8"},
		"int":              {envelope.Form{Kind: envelope.FormInt}, change.IntValue(1 << 31), "does not fit"},
		"boolean":          {envelope.Form{Kind: envelope.FormBoolean}, text("true"), "a truth value is needed"},
		"number":           {envelope.Form{Kind: envelope.FormNumber}, change.DecimalValue([]byte("1e5")), "not a decimal"},
		"number of text":   {envelope.Form{Kind: envelope.FormNumber}, text("1"), "a decimal is needed"},
		"decimal":          {envelope.Form{Kind: envelope.FormDecimalText, Precision: 4, Scale: 2}, change.DecimalValue([]byte("123.45")), "123.45"},
		"verbatim":         {envelope.Form{Kind: envelope.FormVerbatim}, text(`{"a":}`), "not a JSON document"},
		"verbatim two":     {envelope.Form{Kind: envelope.FormVerbatim}, text(`{} {}`), "not a JSON document"},
		"verbatim empty":   {envelope.Form{Kind: envelope.FormVerbatim}, text(""), "not a JSON document"},
		"verbatim broken":  {envelope.Form{Kind: envelope.FormVerbatim}, text("\"\xff\""), "UTF-8"},
		"verbatim of int":  {envelope.Form{Kind: envelope.FormVerbatim}, change.IntValue(1), "text is needed"},
		"enum":             {envelope.Form{Kind: envelope.FormEnum, Symbols: []string{"A"}}, text("B"), "not one of"},
		"fixed":            {envelope.Form{Kind: envelope.FormFixed, Scale: 2}, text("B"), "exactly 2"},
		"map":              {envelope.Form{Kind: envelope.FormMap}, text("B"), "NULL is needed"},
		"mask":             {envelope.Form{Kind: envelope.FormMaskHex, Scale: 1}, change.BytesValue([]byte{1, 1}), "beyond"},
		"base64 of text":   {envelope.Form{Kind: envelope.FormBase64}, text("B"), "bytes are needed"},
		"iso of date":      {envelope.Form{Kind: envelope.FormISOMillis}, change.DateValue(0), "a date with time is needed"},
		"instant far away": {envelope.Form{Kind: envelope.FormInstantText}, change.InstantValue(1<<40, 0, 0), "year"},
	} {
		encoder, err := Compile(row(c.form))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := encoder.Append([]byte("kept"), &change.Event{After: []change.Value{c.value}})
		if err == nil || string(got) != "kept" || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "fee: ") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if fault.ClassOf(err) != fault.Poison {
			t.Errorf("%s: class %v", name, fault.ClassOf(err))
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	leaf := func(kind envelope.FormKind) *envelope.Node { return &envelope.Node{JSON: envelope.Form{Kind: kind}} }
	fields := func(fields ...envelope.Field) *envelope.Node {
		return &envelope.Node{Shape: envelope.Record, Fields: fields, Image: func(ev *change.Event) []change.Value { return ev.After }}
	}
	for says, n := range map[string]*envelope.Node{
		"message: nothing is declared":            nil,
		"x: nothing is declared":                  fields(envelope.Field{Name: "x"}),
		"x: JSON has no form 0":                   fields(envelope.Field{Name: "x", Node: leaf(envelope.FormNone)}),
		"y: JSON has no form":                     fields(envelope.Field{Name: "y", Node: leaf(envelope.FormDecimalBytes)}),
		"z: JSON has no form":                     fields(envelope.Field{Name: "z", Node: leaf(envelope.FormBytes)}),
		`the member "x" is there twice`:           fields(envelope.Field{Name: "x", Node: leaf(envelope.FormInt)}, envelope.Field{Name: "x", Node: leaf(envelope.FormInt)}),
		"the name: the text is not valid UTF-8":   fields(envelope.Field{Name: "x\xff", Node: leaf(envelope.FormInt)}),
		"x: NULL in a field that is not nullable": fields(envelope.Field{Name: "x", Node: &envelope.Node{Constant: &change.Null, JSON: envelope.Form{Kind: envelope.FormInt}}}),
		"a.b: a column outside of any row image":  {Shape: envelope.Record, Fields: []envelope.Field{{Name: "a", Node: &envelope.Node{Shape: envelope.Record, Fields: []envelope.Field{{Name: "b", Node: leaf(envelope.FormInt)}}}}}},
		"e: nothing is declared":                  fields(envelope.Field{Name: "e", Node: &envelope.Node{Shape: envelope.Embedded}}),
		"x[1]: JSON has no form 0":                fields(envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Array, Items: []*envelope.Node{{Constant: new(change.IntValue(1)), JSON: envelope.Form{Kind: envelope.FormInt}}, leaf(envelope.FormNone)}}}),
		"x: branch -1 of a union of 0":            fields(envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Union, Branch: -1}}),
		"r.x: JSON has no form 0":                 fields(envelope.Field{Name: "r", Node: fields(envelope.Field{Name: "x", Node: leaf(envelope.FormNone)})}),
	} {
		if _, err := Compile(n); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	node, ev := treetest.Row()
	for _, form := range []envelope.FormKind{envelope.FormVerbatim, envelope.FormNumber, envelope.FormBase64, envelope.FormISOMillis, envelope.FormInstantText} {
		column := &envelope.Node{Column: len(ev.After), JSON: envelope.Form{Kind: form, Scale: 7}}
		node.Fields = append(node.Fields, envelope.Field{Name: string(rune('A' + form)), Node: column})
		ev.After = append(ev.After, map[envelope.FormKind]change.Value{
			envelope.FormVerbatim: change.TextValue([]byte(`{"a":[1,2,{"b":"\u00e9"}]}`)), envelope.FormNumber: change.UintValue(math.MaxUint64),
			envelope.FormBase64: change.BytesValue(make([]byte, 100)), envelope.FormISOMillis: change.InstantValue(1, 5, 0),
			envelope.FormInstantText: change.InstantValue(1, 500, 60),
		}[form])
	}
	encoder, err := Compile(node)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := encoder.Append(dst, ev); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzString compares text and documents with encoding/json, byte by byte and decoded.
func FuzzString(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\"b\\c\n\x00\x7f", "\u2028\u2029", "<&>", "é名😀", "\xff", "\xed\xa0\x80", `{"a":1}`, "\ufffd"} {
		f.Add([]byte(seed))
	}
	encoder, err := Compile(row(envelope.Form{Kind: envelope.FormText}))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := encoder.Append(nil, &change.Event{After: []change.Value{change.TextValue(text)}})
		if valid := utf8.Valid(text); valid != (err == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(map[string]string{"fee": string(text)}); err != nil || string(got)+"\n" != want.String() {
			t.Fatalf("%s, want %s, %v", got, want.String(), err)
		}
		var back map[string]any
		if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, map[string]any{"fee": string(text)}) {
			t.Fatalf("%q came back as %q, %v", text, back, err)
		}
	})
}

func BenchmarkRow(b *testing.B) {
	node, ev := treetest.Row()
	encoder, err := Compile(node)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("ctbridge", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			if dst, err = encoder.Append(dst[:0], ev); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, value := range map[string]any{"struct": treetest.Struct(), "map": treetest.Native()} {
		b.Run("encoding-json-"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := json.Marshal(value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzTrees(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		c := treetest.DrawCase(t)
		encoder, err := Compile(c.Tree)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := encoder.Append(nil, c.Event); err != nil || string(got) != c.Want.JSON {
			t.Fatalf("%v\n%s\nwant\n%s", err, got, c.Want.JSON)
		}
	}))
}
