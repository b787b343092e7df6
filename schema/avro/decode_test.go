package avro

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	oracle "github.com/twmb/avro"
	"pgregory.net/rapid"

	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/treetest"
)

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, hex, want string }{
		{`"null"`, "", `null`},
		{`"boolean"`, "01", `true`},
		{`"int"`, "03", `-2`},
		{`"float"`, "cdcccc3d", `0.1`},
		{`"double"`, "000000000000f87f", `"NaN"`},
		{`"string"`, "0622c3a9", `"\"é"`},
		{`"bytes"`, "04abcd", `"ABCD"`},
		{`{"type":"fixed","name":"Magic","size":5}`, "61744d5347", `"atMSG"`},
		{`{"type":"fixed","name":"F","size":2}`, "00ff", `"00FF"`},
		{`{"type":"enum","name":"E","symbols":["A","B"]}`, "02", `"B"`},
		{`{"type":"array","items":"int"}`, "040204020600", `[1,2,3]`},
		{`{"type":"array","items":"int"}`, "03040204" + "00", `[1,2]`},
		{`{"type":"map","values":"int"}`, "0202610200", `{"a":1}`},
		{`["null","int"]`, "00", `null`},
		{`["null","int"]`, "0202", `1`},
		{`{"type":"int","logicalType":"date"}`, "01", `"1969-12-31"`},
		{`{"type":"int","logicalType":"date"}`, "8080808010", `-2147483648x`},
		{`{"type":"int","logicalType":"time-millis"}`, "02", `"00:00:00.001"`},
		{`{"type":"long","logicalType":"time-micros"}`, "01", `-1`},
		{`{"type":"long","logicalType":"timestamp-millis"}`, "01", `"1969-12-31T23:59:59.999Z"`},
		{`{"type":"long","logicalType":"timestamp-micros"}`, "02", `"1970-01-01T00:00:00.000001Z"`},
		{`{"type":"long","logicalType":"timestamp-nanos"}`, "02", `"1970-01-01T00:00:00.000000001Z"`},
		{`{"type":"long","logicalType":"local-timestamp-micros"}`, "02", `"1970-01-01T00:00:00.000001"`},
		{`{"type":"long","logicalType":"queer"}`, "02", `1`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, "02ff", `"-0.01"`},
		{`{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}`, "0404d2", `"12.34"`},
		{`{"type":"bytes","logicalType":"decimal","precision":9}`, "0404d2", `"1234"`},
		{`{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}`, "02" + "02" + "04" + "00", `{"v":1,"next":{"v":2,"next":null}}`},
		{`{"type":"record","name":"R","namespace":"n","fields":[{"name":"b","type":{"type":"fixed","name":"F","size":1}},{"name":"a","type":"F"}]}`, "4142", `{"b":"A","a":"B"}`},
	} {
		body, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeJSON(c.schema, body)
		if strings.HasSuffix(c.want, "x") { // any bare number
			if err != nil || !json.Valid(got) || got[0] == '"' {
				t.Errorf("%s: %s, %v", c.schema, got, err)
			}
			continue
		}
		if err != nil || string(got) != c.want {
			t.Errorf("%s %s: %s, %v; want %s", c.schema, c.hex, got, err, c.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, hex, says string }{
		{`"int"`, "", "too early"},
		{`"int"`, "0202", "left over"},
		{`"string"`, "08aa", "too early"},
		{`"string"`, "01", "too early"},
		{`["null","int"]`, "04", "branch 2"},
		{`{"type":"enum","name":"E","symbols":["A"]}`, "02", "no such symbol"},
		{`{"type":"array","items":"null"}`, "feffffffffffffffff01", "items in"},
		{`{"type":"array","items":"null"}`, "ffffffffffffffffff0100", "items in"},
		{`{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string"}]}`, "02", "byte 1 of 1: b: "},
		{`nonsense`, "", "avro schema"},
	} {
		body, _ := hex.DecodeString(c.hex)
		if got, err := DecodeJSON(c.schema, body); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %s, %v; want %q", c.schema, c.hex, got, err, c.says)
		}
	}
	deep := bytes.Repeat([]byte{2}, 5000)
	if _, err := DecodeJSON(`{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}`, deep); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Errorf("5000 levels: %v", err)
	}
}

func TestDecodeRandomTrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := treetest.DrawCase(t)
		encoder, err := Compile(c.Tree)
		if err != nil {
			t.Fatal(err)
		}
		body, err := encoder.Append(nil, c.Event)
		if err != nil {
			t.Fatal(err)
		}
		text, err := DecodeJSON(encoder.Schema(), body)
		if err != nil {
			t.Fatalf("%v\n%s\n%x", err, encoder.Schema(), body)
		}
		in := json.NewDecoder(bytes.NewReader(text))
		in.UseNumber()
		if err := shows(in, c.Tree, c.Want.Avro); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}

// shows walks over the JSON token by token, so that the order of the members counts.
func shows(in *json.Decoder, n *envelope.Node, want any) error {
	record, isRecord := want.(map[string]any)
	token, err := in.Token()
	if err != nil {
		return err
	}
	if items, isArray := want.([]any); isArray {
		return showsItems(in, n, items)
	}
	if !isRecord {
		return showsLeaf(token, want)
	}
	if token != json.Delim('{') {
		return fmt.Errorf("%v instead of a record", token)
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		name, err := in.Token()
		if err != nil {
			return fmt.Errorf("member %s: %w", f.InAvro(), err)
		}
		if name != f.InAvro() {
			return fmt.Errorf("member %v, want %s", name, f.InAvro())
		}
		if err := shows(in, f.Node, record[f.InAvro()]); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	_, err = in.Token()
	return err
}

func showsItems(in *json.Decoder, n *envelope.Node, want []any) error {
	for i := range want {
		if err := shows(in, n.Item, want[i]); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	_, err := in.Token()
	return err
}

func showsLeaf(got any, want any) error {
	var texts []any
	switch want := want.(type) {
	case treetest.Embedded: // its content is compared in the tests of the encoder
		_, err := hex.DecodeString(fmt.Sprint(got))
		return err
	case []byte:
		texts = append(texts, strings.ToUpper(hex.EncodeToString(want)), string(want))
	case time.Time:
		for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z", "2006-01-02T15:04:05.000000000Z"} {
			texts = append(texts, want.Format(layout))
		}
	case time.Duration:
		at := time.Unix(0, int64(want)).UTC()
		texts = append(texts, at.Format("15:04:05.000"), at.Format("15:04:05.000000"))
	case *big.Rat:
		if r, ok := new(big.Rat).SetString(fmt.Sprint(got)); ok && r.Cmp(want) == 0 {
			return nil
		}
	case int32, int64:
		texts = append(texts, json.Number(fmt.Sprint(want)))
	case float32, float64:
		text, err := json.Marshal(want)
		if err != nil {
			return err
		}
		texts = append(texts, json.Number(text))
	default:
		texts = append(texts, want)
	}
	for _, text := range texts {
		if got == text {
			return nil
		}
	}
	return fmt.Errorf("%v, want one of %v", got, texts)
}

// FuzzDecode feeds any bytes: what the oracle decodes we decode too, and nothing breaks.
func FuzzDecode(f *testing.F) {
	schema := `{"type":"record","name":"R","fields":[{"name":"a","type":["null","string","R"]},{"name":"b","type":{"type":"array","items":["long","double"]}},` +
		`{"name":"c","type":{"type":"map","values":{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}}},{"name":"d","type":{"type":"int","logicalType":"date"}}]}`
	reference := oracle.MustParse(schema)
	decoder, err := NewDecoder(schema)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"00000002", "02026103000002", "0002000200020261020102", "04000000020000000"} {
		body, _ := hex.DecodeString(seed)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decoder.AppendJSON(nil, body)
		if err == nil && !json.Valid(got) {
			t.Fatalf("%x: %s", body, got)
		}
		var value any
		rest, refused := reference.Decode(body, &value)
		if refused == nil && len(rest) == 0 && err != nil {
			t.Fatalf("%x: the oracle reads %v, we say %v", body, value, err)
		}
	})
}
