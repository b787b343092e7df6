package avro

import (
	"crypto/sha256"
	"flag"
	"os"
	"path/filepath"
	"testing"

	oracle "github.com/twmb/avro"
	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/treetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// message is a tree with everything a schema can hold: references, namespaces, docs, properties, adjusted names.
func message() *envelope.Node {
	leaf := func(form envelope.Form, nullable bool) *envelope.Node {
		return &envelope.Node{Avro: form, Nullable: nullable}
	}
	row := []envelope.Field{
		{Name: "ID", Node: leaf(envelope.Form{Kind: envelope.FormLong}, false)},
		{Name: "a-b", AvroName: envelope.AvroName("a-b"), Node: leaf(envelope.Form{Kind: envelope.FormText}, true)},
		{Name: "größe", AvroName: envelope.AvroName("größe"), Doc: "in <cm>", Node: leaf(envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 9, Scale: 2}, true)},
		{Name: "seen", Node: leaf(envelope.Form{Kind: envelope.FormTimestampMicros}, true), Props: []envelope.Prop{{Name: "ctbridge.type", Value: `"datetime2(6)"`}, {Name: "x", Value: "[1,2]"}}},
	}
	image := func(nullable bool, of func(*change.Event) []change.Value) *envelope.Node {
		return &envelope.Node{Shape: envelope.Record, Name: "Data", Nullable: nullable, Fields: row, Image: of}
	}
	operation := &envelope.Node{
		Name: "operation", Avro: envelope.Form{Kind: envelope.FormEnum, Symbols: []string{"INSERT", "UPDATE"}},
		Get: func(ev *change.Event, _ *envelope.Scratch) change.Value {
			return change.TextValue([]byte(ev.Op.String()))
		},
	}
	headers := &envelope.Node{
		Shape: envelope.Record, Name: "Headers", Namespace: "com.attunity.queue.msg", Doc: "what happened",
		Fields: []envelope.Field{{Name: "operation", Node: operation}, {Name: "before", Node: operation}},
	}
	magic := change.TextValue([]byte("atMSG"))
	return &envelope.Node{
		Shape: envelope.Record, Name: "DataRecord", Namespace: "com.attunity.queue.msg.task.dbo.orders",
		Fields: []envelope.Field{
			{Name: "magic", Node: &envelope.Node{Name: "Magic", Avro: envelope.Form{Kind: envelope.FormFixed, Scale: 5}, Constant: &magic}},
			{Name: "data", Node: image(false, (*change.Event).Row)},
			{Name: "beforeData", Node: image(true, func(ev *change.Event) []change.Value { return ev.Before })},
			{Name: "headers", Node: headers},
			{Name: "again", Node: &envelope.Node{Shape: envelope.Record, Name: "Headers", Namespace: "com.attunity.queue.msg", Doc: "what happened", Fields: headers.Fields}},
		},
	}
}

func TestSchemaGolden(t *testing.T) {
	t.Parallel()
	got, err := SchemaText(message())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "message.avsc")
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got+"\n" != string(want) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	if _, err := oracle.Parse(got); err != nil {
		t.Error(err)
	}
}

func TestCase67_SchemaTextNeverDrifts(t *testing.T) {
	t.Parallel()
	fingerprints := map[[sha256.Size]byte]bool{}
	for range 100 {
		text, err := SchemaText(message())
		if err != nil {
			t.Fatal(err)
		}
		fingerprints[sha256.Sum256([]byte(text))] = true
	}
	if len(fingerprints) != 1 {
		t.Errorf("%d different texts of one tree", len(fingerprints))
	}
}

// A column that is added with null as default may come at any time: the registry accepts it in both directions.
func TestCase66_AddedNullableColumnIsCompatible(t *testing.T) {
	t.Parallel()
	id := envelope.Field{Name: "id", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormLong}}}
	weight := envelope.Field{Name: "weight", Node: &envelope.Node{Column: 1, Nullable: true, Avro: envelope.Form{Kind: envelope.FormInt}}}
	zone := envelope.Field{Name: "zone", Node: &envelope.Node{Column: 2, Avro: envelope.Form{Kind: envelope.FormText}}}
	schema := func(fields ...envelope.Field) *oracle.Schema {
		text, err := SchemaText(record("R", fields...))
		if err != nil {
			t.Fatal(err)
		}
		return oracle.MustParse(text)
	}
	first, added, required := schema(id), schema(id, weight), schema(id, weight, zone)
	if err := oracle.CheckCompatibility(first, added); err != nil {
		t.Errorf("backward: %v", err)
	}
	if err := oracle.CheckCompatibility(added, first); err != nil {
		t.Errorf("forward: %v", err)
	}
	if err := oracle.CheckCompatibility(added, required); err == nil {
		t.Error("the oracle accepts a column without default")
	}
}

// A name without namespace is in that of the record around it: the same node in two namespaces is two types.
func TestInheritedNamespace(t *testing.T) {
	t.Parallel()
	plain := &envelope.Node{Shape: envelope.Record, Name: "Plain"}
	inner := &envelope.Node{Shape: envelope.Record, Name: "Inner", Namespace: "n", Fields: []envelope.Field{{Name: "c", Node: plain}, {Name: "d", Node: plain}}}
	text, err := SchemaText(&envelope.Node{Shape: envelope.Record, Name: "Root", Fields: []envelope.Field{{Name: "a", Node: plain}, {Name: "b", Node: inner}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"record","name":"Root","fields":[{"name":"a","type":{"type":"record","name":"Plain","fields":[]}},{"name":"b","type":` +
		`{"type":"record","name":"Inner","namespace":"n","fields":[{"name":"c","type":{"type":"record","name":"Plain","fields":[]}},{"name":"d","type":"n.Plain"}]}}]}`
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if _, err := oracle.Parse(text); err != nil {
		t.Error(err)
	}
}

func FuzzTrees(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		c := treetest.DrawCase(t)
		encoder, err := Compile(c.Tree)
		if err != nil {
			t.Fatal(err)
		}
		body, err := encoder.Append(nil, c.Event)
		if err != nil {
			t.Fatal(err)
		}
		checkDecoded(t, encoder.Schema(), body, c.Want.Avro)
	}))
}
