package qlik

import (
	"strings"
	"testing"

	"ctbridge/bridge/fault"
)

func TestZeroOptionsTakeTheDefaults(t *testing.T) {
	t.Parallel()
	got, want := Options{Task: "t", Envelope: true, BeforeImage: true}, Defaults("t", "")
	got.fill()
	if got.Names != want.Names || got.Format != want.Format || got.DeleteRowIn != want.DeleteRowIn || got.KeyChange != want.KeyChange ||
		got.IncludeSourceName != want.IncludeSourceName || got.MetadataKey != want.MetadataKey || got.Now == nil {
		t.Errorf("%+v\n%+v", got, want)
	}
}

func TestNewReportsEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := New(Options{
		Format: "xml", DeleteRowIn: "after", KeyChange: "skip", IncludeSourceName: "key", MetadataKey: "x", Metadata: true,
		Names: Names{Data: "headers", Row: "Headers", Namespace: "com.my-company", TableNamespace: "{namespace}.{topic}"},
	})
	if fault.ClassOf(err) != fault.Config {
		t.Fatalf("class of %v", err)
	}
	for _, part := range []string{
		`Format: "xml" is not one of json, avro, avro-registry`, `DeleteRowIn: "after"`, `KeyChange: "skip"`, `IncludeSourceName: "key"`,
		`MetadataKey: "x"`, "Task is empty", "Server is empty", "SchemaText is missing", "BeforeImage off",
		`"my-company" is not an Avro name`, `"{topic}"`, "without {table}", `Names of sections: "headers" stands there twice`, `Names of records: "Headers"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %q in:\n%v", part, err)
		}
	}
}

func TestImpossibleCombinations(t *testing.T) {
	t.Parallel()
	for want, set := range map[string][]func(*Options){
		"Envelope off with format avro":        {withAvro, bare},
		"Metadata with format avro-registry":   {withRegistry, withMetadata},
		"DeleteRowIn both with BeforeImage":    {deletedIn(InBoth), func(o *Options) { o.BeforeImage = false }},
		`Names.Data: "my-data"`:                {func(o *Options) { o.Names.Data = "my-data" }},
		`KeyColumns: "a" stands there twice`:   {func(o *Options) { o.KeyColumns = []string{"a", "b", "a"} }},
		`Names of records: "operation"`:        {func(o *Options) { o.Names.KeyRecord = "operation" }},
		`Names of sections: "schema"`:          {func(o *Options) { o.Names.BeforeData = "schema" }},
		`Names.TableNamespace: "" is neither`:  {func(o *Options) { o.Names.TableNamespace = "{namespace}..{table}" }},
		`Names.TableNamespace: "a-{table}" is`: {func(o *Options) { o.Names.TableNamespace = "a-{table}" }},
	} {
		if _, err := New(options(set...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := New(options(withRegistry, bare)); err != nil {
		t.Errorf("the registry format never has an envelope: %v", err)
	}
}
