package datastream

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/linkedin/goavro/v2"
	oracle "github.com/twmb/avro"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/avro"
	"ctbridge/schema/jsonenc"
	"ctbridge/test/golden"
)

func declare(t testing.TB, e *Envelope, table *change.Table) *envelope.Declaration {
	t.Helper()
	d, err := e.Declare(table)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func jsonOf(t testing.TB, n *envelope.Node, ev *change.Event) []byte {
	t.Helper()
	encoder, err := jsonenc.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	text, err := encoder.Append(nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func avroOf(t testing.TB, n *envelope.Node, ev *change.Event) (schema string, body []byte) {
	t.Helper()
	encoder, err := avro.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	if body, err = encoder.Append(nil, ev); err != nil {
		t.Fatal(err)
	}
	return encoder.Schema(), body
}

// decode reads Avro binary by another implementation, with logical types as Go values.
func decode(t testing.TB, schema string, body []byte) map[string]any {
	t.Helper()
	parsed, err := oracle.Parse(schema)
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	var value any
	rest, err := parsed.Decode(body, &value)
	if err != nil || len(rest) != 0 {
		t.Fatalf("%v, %d bytes left\n%s", err, len(rest), schema)
	}
	return value.(map[string]any)
}

// textual is what a second implementation makes of Avro binary: the JSON encoding of the Avro specification.
func textual(t testing.TB, schema string, body []byte) []byte {
	t.Helper()
	codec, err := goavro.NewCodec(schema)
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	native, rest, err := codec.NativeFromBinary(body)
	if err != nil || len(rest) != 0 {
		t.Fatalf("%v, %d bytes left", err, len(rest))
	}
	return fmt.Appendf(nil, "%s", printable(native))
}

// printable is a native value of goavro as JSON, decimals and times as Go prints them.
func printable(v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			v[name] = json.RawMessage(printable(item))
		}
	case []any:
		for i, item := range v {
			v[i] = json.RawMessage(printable(item))
		}
	case []byte:
		return fmt.Appendf(nil, "%q", "0x"+hex.EncodeToString(v))
	case fmt.Stringer:
		return fmt.Appendf(nil, "%q", v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a test value that JSON does not know
	}
	return bytes.TrimSpace(b.Bytes())
}

// goldenEvent is one event that has a golden file.
type goldenEvent struct {
	source
	name string // insert, update, delete, refresh, update_delete, update_insert
	node *envelope.Node
	ev   *change.Event
}

func goldenEvents(t testing.TB) []goldenEvent {
	t.Helper()
	var all []goldenEvent
	for _, s := range sources {
		e, table := newEnvelope(t, s.engine, s.set...), tableOf(s.engine)
		node := declare(t, e, table).Value
		for _, operation := range operations {
			parts := e.Expand(nil, eventOf(s, table, operation))
			if operation != "key_change" {
				all = append(all, goldenEvent{s, operation, node, parts[0]})
				continue
			}
			all = append(all, goldenEvent{s, "update_delete", node, parts[0]}, goldenEvent{s, "update_insert", node, parts[1]})
		}
	}
	return all
}

func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	for _, g := range goldenEvents(t) {
		golden.JSON(t, g.source.name+"-"+g.name+".json", jsonOf(t, g.node, g.ev))
		schema, body := avroOf(t, g.node, g.ev)
		golden.JSON(t, g.source.name+"-"+g.name+".avro.json", fmt.Appendf(nil, `{"hex":%q,"event":%s}`, hex.EncodeToString(body), textual(t, schema, body)))
		golden.JSON(t, g.source.name+".avsc", []byte(schema))
	}
}

func TestGoldenKeys(t *testing.T) {
	t.Parallel()
	table := tableOf(SQLServer)
	d := declare(t, newEnvelope(t, SQLServer, keys("id", "seen")), table)
	ev := eventOf(sources[0], table, "insert")
	golden.JSON(t, "key.json", jsonOf(t, d.Key, ev))
	schema, _ := avroOf(t, d.Key, ev)
	golden.JSON(t, "key.avsc", []byte(schema))
}

func avroAppend(t testing.TB, n *envelope.Node, ev *change.Event) ([]byte, error) {
	t.Helper()
	encoder, err := avro.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.Append(nil, ev)
}
