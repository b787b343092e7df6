package show

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	twmb "github.com/twmb/avro"
)

var update = flag.Bool("update", false, "write the golden files")

var at = time.Date(2031, 5, 10, 16, 0, 1, 604_000_000, time.UTC)

// message wraps a body like a task does.
func message(kind, body string) []byte {
	return []byte(`{"magic":"atMSG","type":"` + kind + `","headers":null,"messageSchemaId":null,"messageSchema":null,"message":` + body + `}`)
}

func headers(operation, extra string) string {
	return `"headers":{"operation":"` + operation + `","changeSequence":"20230911032325000000000000000000005","timestamp":"2023-09-11T03:23:25.000","streamPosition":"p",` +
		`"transactionId":"00000000000000000000000000060008",` + extra + `"transactionEventCounter":1,"transactionLastEvent":true}`
}

const both = `"changeMask":"02","columnMask":"07",`

// samples are messages of every kind, in the order of the golden file.
func samples() []Message {
	values := [][]byte{
		message("DT", `{"data":{"ID":"2","NAME":"zwei","note":null},"beforeData":{"ID":"2","NAME":"two","note":null},`+headers("UPDATE", both)+`}`),
		message("DT", `{"data":{"ID":"2","NAME":"zwei","note":null},"beforeData":null,`+headers("UPDATE", both)+`}`),
		message("DT", `{"data":{"ID":"2","NAME":"zwei"},"beforeData":null,`+headers("UPDATE", `"changeMask":null,"columnMask":null,`)+`}`),
		message("DT", `{"data":{"ID":"2","NAME":"zwei","note":null},"beforeData":null,`+headers("INSERT", `"changeMask":"03","columnMask":"03",`)+`}`),
		[]byte(`{"data":{"ID":"2"},"beforeData":null,` + headers("DELETE", both) + `}`),
		[]byte(`{"data":null,"beforeData":{"ID":"2"},` + headers("DELETE", both) + `}`),
		[]byte(`{"data":{"ID":"2"},"beforeData":null,"headers":{"operation":"REFRESH","changeSequence":"","timestamp":"","streamPosition":"","transactionId":"","changeMask":null,"columnMask":null,"transactionEventCounter":null,"transactionLastEvent":null}}`),
		message("MD", `{"schemaId":"A","lineage":{"server":"s","task":"t","schema":"shop","table":"parcel","tableVersion":2,"timestamp":"x"},"tableStructure":{"tableColumns":{"id":{"ordinal":1},"status":{"ordinal":2}}},"dataSchema":"{}"}`),
		[]byte(`{"any": "thing"}`),
		[]byte(`[1,2]`),
		nil,
		[]byte("\x00\x00\x00\x00\x07abc"),
		[]byte("plain text"),
		[]byte(`{"data":{"n":"` + strings.Repeat("long ", 60) + `"},"beforeData":null,` + headers("INSERT", "") + `}`),
	}
	out := make([]Message, len(values))
	for i, value := range values {
		out[i] = Message{Topic: "shop.parcel", Partition: 3, Offset: int64(40 + i), Key: []byte("2"), Value: value, Timestamp: at}
	}
	out[4].Key, out[5].Key, out[6].Key = nil, []byte{0xff, 0x01}, []byte("evil\x1b[2J\u009bkey")
	return out
}

func printed(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	p := New(&b, NewDecoder(nil), o)
	for _, m := range samples() {
		if err := p.Print(context.Background(), &m); err != nil {
			t.Fatal(err)
		}
	}
	if p.Undecoded() != 2 {
		t.Errorf("%d messages could not be decoded", p.Undecoded())
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"pretty.txt": {}, "color.txt": {Color: true}, "lines.json": {JSON: true}} {
		got := printed(t, o)
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n--- got\n%s--- want\n%s", name, got, want)
		}
	}
}

func TestContentCannotMoveTheCursor(t *testing.T) {
	t.Parallel()
	if got := printed(t, Options{}); strings.ContainsAny(got, "\x1b\u009b") {
		t.Errorf("%q", got)
	}
}

func TestJSONLinesAreJSON(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(printed(t, Options{JSON: true})), "\n")
	if len(lines) != len(samples()) {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil || m["topic"] != "shop.parcel" || m["timestamp"] != "2031-05-10T16:00:01.604Z" {
			t.Errorf("%v: %s", err, line)
		}
	}
}

const orderSchema = `{"type":"record","name":"DataRecord","fields":[
	{"name":"data","type":{"type":"record","name":"Data","fields":[{"name":"id","type":["null","int"]},{"name":"status","type":["null","string"]}]}},
	{"name":"beforeData","type":["null","Data"]},
	{"name":"headers","type":{"type":"record","name":"Headers","fields":[{"name":"operation","type":"string"},{"name":"changeMask","type":["null","bytes"]}]}}]}`

func encode(t *testing.T, schema string, value any) []byte {
	t.Helper()
	s, err := twmb.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.AppendEncode(nil, value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func order(t *testing.T) []byte {
	return encode(t, orderSchema, map[string]any{
		"data": map[string]any{"id": 7, "status": "sent"}, "beforeData": map[string]any{"id": 7, "status": "new"},
		"headers": map[string]any{"operation": "UPDATE", "changeMask": []byte{2}},
	})
}

func TestRegistryAvro(t *testing.T) {
	t.Parallel()
	asked := 0
	d := NewDecoder(func(_ context.Context, id int) (string, error) {
		asked++
		if id != 258 {
			return "", errors.New("no such schema")
		}
		return orderSchema, nil
	})
	var b bytes.Buffer
	p := New(&b, d, Options{})
	wire := append(binary.BigEndian.AppendUint32([]byte{0}, 258), order(t)...)
	for range 3 {
		if err := p.Print(context.Background(), &Message{Topic: "o", Key: wire, Value: wire, Timestamp: at}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); strings.Count(got, `status "new" → "sent"`) != 3 || !strings.Contains(got, `key {"data":`) || asked != 1 {
		t.Errorf("asked %d times:\n%s", asked, got)
	}
	b.Reset()
	bad := append(binary.BigEndian.AppendUint32([]byte{0}, 9), 1)
	if err := p.Print(context.Background(), &Message{Topic: "o", Value: bad}); err != nil || !strings.Contains(b.String(), "cannot be decoded: schema id 9: no such schema") || p.Undecoded() != 1 {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestBinaryEnvelope(t *testing.T) {
	t.Parallel()
	const metadataSchema = `{"type":"record","name":"MetadataMessage","fields":[{"name":"schemaId","type":"string"},
		{"name":"lineage","type":{"type":"record","name":"Lineage","fields":[{"name":"schema","type":"string"},{"name":"table","type":"string"},{"name":"tableVersion","type":"long"}]}},
		{"name":"tableStructure","type":{"type":"record","name":"TableStructure","fields":[{"name":"tableColumns","type":{"type":"record","name":"TableColumns","fields":[{"name":"id","type":"int"}]}}]}},
		{"name":"dataSchema","type":"string"}]}`
	wrap := func(kind, schema string, body []byte) []byte {
		v := map[string]any{"magic": []byte("atMSG"), "type": kind, "headers": nil, "messageSchemaId": "ABC", "messageSchema": nil, "message": body}
		if schema != "" {
			v["messageSchema"] = schema
		}
		return encode(t, envelopeSchema, v)
	}
	data := wrap("DT", "", order(t))
	metadata := wrap("MD", metadataSchema, encode(t, metadataSchema, map[string]any{
		"schemaId": "ABC", "lineage": map[string]any{"schema": "shop", "table": "parcel", "tableVersion": 1},
		"tableStructure": map[string]any{"tableColumns": map[string]any{"id": 1}}, "dataSchema": orderSchema,
	}))
	var b bytes.Buffer
	p := New(&b, NewDecoder(nil), Options{})
	for _, value := range [][]byte{data, metadata, data} {
		if err := p.Print(context.Background(), &Message{Topic: "o", Value: value, Timestamp: at}); err != nil {
			t.Fatal(err)
		}
	}
	got := b.String()
	for _, want := range []string{"schema id ABC was seen: read the metadata topic first", "METADATA shop.parcel version 1: id", "UPDATE\n    status \"new\" → \"sent\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("pipe closed") }

func TestErrorsOfTheWriterEndIt(t *testing.T) {
	t.Parallel()
	p := New(brokenWriter{}, NewDecoder(nil), Options{})
	if err := p.Print(context.Background(), &Message{}); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := New(&bytes.Buffer{}, NewDecoder(nil), Options{}).Print(ctx, &Message{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Tables of more than 64 columns: the mask has no width.
func TestWideMasks(t *testing.T) {
	t.Parallel()
	columns := make([]string, 200)
	for i := range columns {
		columns[i] = fmt.Sprintf(`"c%d":%d`, i, i)
	}
	mask := make([]byte, 26)
	mask[len(mask)-1-130/8] |= 1 << (130 % 8)
	var b bytes.Buffer
	value := `{"data":{` + strings.Join(columns, ",") + `},"beforeData":null,"headers":{"operation":"UPDATE","changeMask":"` + hex.EncodeToString(mask) + `"}}`
	if err := New(&b, NewDecoder(nil), Options{}).Print(context.Background(), &Message{Topic: "o", Value: []byte(value)}); err != nil {
		t.Fatal(err)
	}
	if got := strings.SplitN(b.String(), "\n", 2)[1]; got != "    c130 → 130\n" {
		t.Errorf("%q", got)
	}
}

func FuzzPrint(f *testing.F) {
	for _, m := range samples() {
		f.Add(m.Key, m.Value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, o := range []Options{{}, {JSON: true}} {
			var b bytes.Buffer
			if err := New(&b, NewDecoder(nil), o).Print(context.Background(), &Message{Topic: "t", Key: key, Value: value}); err != nil || !strings.HasSuffix(b.String(), "\n") {
				t.Fatalf("%v: %q", err, b.String())
			}
			if strings.ContainsAny(b.String(), "\x1b\x00\x7f\r") && !o.JSON {
				t.Fatalf("control characters: %q", b.String())
			}
		}
	})
}
