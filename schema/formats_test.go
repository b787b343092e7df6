package schema

import (
	"context"
	"errors"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	twmb "github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/avro"
	"ctbridge/schema/internal/treetest"
	"ctbridge/schema/registry"
)

// The formats are what the runner asks for.
var (
	_ bridge.Format = JSON{}
	_ bridge.Format = Avro{}
	_ bridge.Format = (*Registered)(nil)
	_ Registry      = (*registry.Client)(nil)
)

// book is a registry that writes down what it is asked for.
type book struct {
	id    int
	err   error
	asked [][2]string
}

func (b *book) Register(_ context.Context, subject, schema string) (int, error) {
	b.asked = append(b.asked, [2]string{subject, schema})
	return b.id, b.err
}

func TestRegisteredFrame(t *testing.T) {
	t.Parallel()
	node, ev := treetest.Row()
	b := &book{id: 0x01020304}
	encoder, err := NewRegistered(b, TopicName).Value(t.Context(), "shop.orders", node)
	if err != nil {
		t.Fatal(err)
	}
	text, err := avro.SchemaText(node)
	if err != nil {
		t.Fatal(err)
	}
	// I9: the schema is registered by the time the encoder exists.
	if len(b.asked) != 1 || b.asked[0] != [2]string{"shop.orders-value", text} {
		t.Fatalf("%v", b.asked)
	}
	message, err := encoder.Append([]byte("kept"), ev)
	if err != nil || !strings.HasPrefix(string(message), "kept\x00\x01\x02\x03\x04") {
		t.Fatalf("%q, %v", message, err)
	}
	id, body, ok := ReadFrame(message[len("kept"):])
	if id != b.id || !ok {
		t.Errorf("%d, %v", id, ok)
	}
	plain, err := Avro{}.Value(t.Context(), "shop.orders", node)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := plain.Append(nil, ev); err != nil || string(body) != string(want) {
		t.Errorf("%x, want %x, %v", body, want, err)
	}
	if out, err := encoder.Append([]byte("kept"), &change.Event{}); err == nil || string(out) != "kept" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestFrameAllocatesNothing(t *testing.T) {
	node, ev := treetest.Row()
	encoder, err := NewRegistered(&book{id: 1}, TopicName).Value(t.Context(), "t", node)
	if err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		if message, err = encoder.Append(message[:0], ev); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSchemaIDOfOtherMessages(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "\x00\x00\x00\x00", "\x01\x00\x00\x00\x01x", `{"a":1}`} {
		if _, body, ok := ReadFrame([]byte(message)); ok || string(body) != message {
			t.Errorf("%q is taken for a framed message", message)
		}
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	named := &envelope.Node{Shape: envelope.Record, Name: "Orders", Namespace: "shop.v1"}
	bare := &envelope.Node{Shape: envelope.Record, Name: "Orders"}
	for _, c := range []struct {
		strategy   Strategy
		node       *envelope.Node
		key, value string
	}{
		{TopicName, named, "t-key", "t-value"},
		{RecordName, named, "shop.v1.Orders", "shop.v1.Orders"},
		{TopicRecordName, named, "t-shop.v1.Orders", "t-shop.v1.Orders"},
		{RecordName, bare, "Orders", "Orders"},
		{"cdc.{record}/{part}@{topic}", named, "cdc.shop.v1.Orders/key@t", "cdc.shop.v1.Orders/value@t"},
		{TopicName, &envelope.Node{}, "t-key", "t-value"},
	} {
		b := &book{id: 1}
		f := NewRegistered(b, c.strategy)
		for part, want := range map[string]string{"key": c.key, "value": c.value} {
			if got, err := c.strategy.Subject("t", part, c.node); got != want || err != nil {
				t.Errorf("%s %s: %s, %v; want %s", c.strategy, part, got, err, want)
			}
		}
		if c.node.Name == "" {
			continue
		}
		if _, err := f.Key(t.Context(), "t", c.node); err != nil || b.asked[0][0] != c.key {
			t.Errorf("%s: %v, %v", c.strategy, b.asked, err)
		}
	}
	for _, s := range []Strategy{RecordName, TopicRecordName} {
		if _, err := s.Subject("t", "value", &envelope.Node{}); fault.ClassOf(err) != fault.Config {
			t.Errorf("%s without a name: %v", s, err)
		}
	}
	if _, err := Strategy("x").Subject("t", "value", bare); fault.ClassOf(err) != fault.Config {
		t.Errorf("unknown strategy: %v", err)
	}
}

func TestFormatsReportTheTableThatCannotBe(t *testing.T) {
	t.Parallel()
	bad := &envelope.Node{Shape: envelope.Record, Name: "R", Fields: []envelope.Field{{Name: "a-b", Node: &envelope.Node{}}}}
	for name, f := range map[string]bridge.Format{"json": JSON{}, "avro": Avro{}, "registered": NewRegistered(&book{}, TopicName)} {
		_, valueErr := f.Value(t.Context(), "shop.orders", bad)
		_, keyErr := f.Key(t.Context(), "shop.orders", bad)
		for _, err := range []error{valueErr, keyErr} {
			if fault.ClassOf(err) != fault.Table || err == nil || !strings.Contains(err.Error(), "shop.orders") || !strings.Contains(err.Error(), "a-b") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestNoEncoderWithoutRegistration(t *testing.T) {
	t.Parallel()
	node, _ := treetest.Row()
	down := errors.New("down")
	if e, err := NewRegistered(&book{err: down}, TopicName).Value(t.Context(), "t", node); !errors.Is(err, down) || e != nil {
		t.Errorf("%v, %v", e, err)
	}
	if e, err := NewRegistered(&book{id: math.MaxUint32 + 1}, TopicName).Value(t.Context(), "t", node); err == nil || e != nil {
		t.Errorf("an id of five bytes: %v, %v", e, err)
	}
}

// A message goes to the registry and back: what a consumer does who knows only the registry.
func TestThroughTheRegistry(t *testing.T) {
	t.Parallel()
	fake := srfake.NewRegistry(srfake.WithGlobalCompat(sr.CompatBackward))
	server := httptest.NewServer(fake.Handler())
	defer server.Close()
	client, err := registry.New(registry.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	node, ev := treetest.Row()
	encoder, err := NewRegistered(client, TopicRecordName).Value(t.Context(), "orders", node)
	if err != nil {
		t.Fatal(err)
	}
	message, err := encoder.Append(nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	id, body, _ := ReadFrame(message)
	text, err := client.ByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var row map[string]any
	if _, err := twmb.MustParse(text).Decode(body, &row); err != nil || row["order_no"] != "ORD-2023-000421" {
		t.Errorf("%v, %v", row, err)
	}
	if !fake.SubjectExists("orders-shop.orders") {
		t.Error("the subject has another name")
	}
	shown, err := avro.DecodeJSON(text, body)
	if err != nil || !strings.Contains(string(shown), `"amount":"1234.50"`) || !strings.Contains(string(shown), `"created":"2023-03-21T14:34:21.123456Z"`) {
		t.Errorf("%s, %v", shown, err)
	}
}

func TestJSONFormat(t *testing.T) {
	t.Parallel()
	node, ev := treetest.Row()
	encoder, err := JSON{}.Key(t.Context(), "t", node)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := encoder.Append(nil, ev); err != nil || !strings.HasPrefix(string(got), `{"id":123456789,"customer_id":4711,`) {
		t.Errorf("%s, %v", got, err)
	}
}
