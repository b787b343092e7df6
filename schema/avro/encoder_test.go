package avro

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"
	oracle "github.com/twmb/avro"
	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/internal/treetest"
)

func TestRandomTreesAgainstOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := treetest.DrawCase(t)
		encoder, err := Compile(c.Tree)
		if err != nil {
			t.Fatal(err)
		}
		prefix := []byte("kept")
		for range 2 { // the second time with used buffers
			got, err := encoder.Append(prefix, c.Event)
			if err != nil {
				t.Fatalf("%v\n%s", err, encoder.Schema())
			}
			if !bytes.HasPrefix(got, prefix) {
				t.Fatalf("the start of the buffer changed: %q", got)
			}
			checkDecoded(t, encoder.Schema(), got[len(prefix):], c.Want.Avro)
		}
	})
}

// checkDecoded decodes with two independent libraries, compares the values, and encodes again with the first for equal bytes.
func checkDecoded(t rapid.TB, schema string, body []byte, want any) {
	t.Helper()
	s, err := oracle.Parse(schema)
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	var got any
	rest, err := s.Decode(body, &got)
	if err != nil || len(rest) != 0 {
		t.Fatalf("%d bytes left, %v\n%s\n%x", len(rest), err, schema, body)
	}
	if err := same(t, got, want); err != nil {
		t.Fatalf("%v\n%s\n%x", err, schema, body)
	}
	again, err := s.Encode(got)
	if err != nil || !bytes.Equal(again, body) {
		t.Fatalf("encoded again: %v\n%x, want\n%x\n%s", err, again, body, schema)
	}
	second, err := goavro.NewCodec(schema)
	if err != nil {
		t.Fatalf("second opinion on the schema: %v\n%s", err, schema)
	}
	if _, rest, err := second.NativeFromBinary(body); err != nil || len(rest) != 0 {
		t.Fatalf("second opinion: %d bytes left, %v\n%s\n%x", len(rest), err, schema, body)
	}
}

// same compares what the oracle decoded with what the test expects.
func same(t rapid.TB, got, want any) error {
	switch want := want.(type) {
	case map[string]any:
		record, ok := got.(map[string]any)
		if !ok || len(record) != len(want) {
			return fmt.Errorf("%v is not the record %v", got, want)
		}
		for name := range want {
			if err := same(t, record[name], want[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			return fmt.Errorf("%v is not the array %v", got, want)
		}
		for i := range want {
			if err := same(t, items[i], want[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	case treetest.Embedded:
		body, ok := got.([]byte)
		if !ok {
			return fmt.Errorf("%v is not bytes", got)
		}
		text, err := SchemaText(want.Tree)
		if err == nil {
			checkDecoded(t, text, body, want.Want)
		}
		return err
	case *big.Rat:
		if r, ok := got.(*big.Rat); ok && r.Cmp(want) == 0 {
			return nil
		}
	case []byte:
		if b, ok := got.([]byte); ok && bytes.Equal(b, want) {
			return nil
		}
	case time.Time:
		if at, ok := got.(time.Time); ok && at.Equal(want) {
			return nil
		}
	default:
		if got == want || got != got && want != want {
			return nil
		}
	}
	return fmt.Errorf("%T %v, want %T %v", got, got, want, want)
}

func TestRowAgainstOracle(t *testing.T) {
	t.Parallel()
	node, ev := treetest.Row()
	encoder, err := Compile(node)
	if err != nil {
		t.Fatal(err)
	}
	body, err := encoder.Append(nil, ev)
	if err != nil {
		t.Fatal(err)
	}
	checkDecoded(t, encoder.Schema(), body, treetest.Native())
	want, err := oracle.MustParse(encoder.Schema()).Encode(treetest.Native())
	if err != nil || !bytes.Equal(body, want) {
		t.Fatalf("%x, want %x, %v", body, want, err)
	}
}

// leafEncoder compiles a record of one column.
func leafEncoder(t rapid.TB, form envelope.Form, nullable bool) *Encoder {
	t.Helper()
	column := &envelope.Node{Name: "leaf", Avro: form, Nullable: nullable}
	encoder, err := Compile(record("Row", envelope.Field{Name: "fee", Node: column}))
	if err != nil {
		t.Fatal(err)
	}
	return encoder
}

func record(name string, fields ...envelope.Field) *envelope.Node {
	return &envelope.Node{Shape: envelope.Record, Name: name, Fields: fields, Image: func(ev *change.Event) []change.Value { return ev.After }}
}

func event(values ...change.Value) *change.Event {
	table := &change.Table{ID: change.TableID{Schema: "shop", Name: "orders"}}
	return &change.Event{Table: table, Position: "0042", After: values}
}

func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	text := func(s string) change.Value { return change.TextValue([]byte(s)) }
	decimal := func(s string) change.Value { return change.DecimalValue([]byte(s)) }
	instant := func(at time.Time) change.Value { return change.InstantValue(at.Unix(), int32(at.Nanosecond()), 0) }
	for name, c := range map[string]struct {
		form  envelope.Form
		value change.Value
		says  string
	}{
		"int too large":         {envelope.Form{Kind: envelope.FormInt}, change.IntValue(math.MaxInt32 + 1), "2147483648 does not fit"},
		"int too small":         {envelope.Form{Kind: envelope.FormInt}, change.IntValue(math.MinInt32 - 1), "does not fit"},
		"long from unsigned":    {envelope.Form{Kind: envelope.FormLong}, change.UintValue(1 << 63), "9223372036854775808 does not fit"},
		"long from text":        {envelope.Form{Kind: envelope.FormLong}, text("1"), "the value is text"},
		"null":                  {envelope.Form{Kind: envelope.FormLong}, change.Null, "NULL"},
		"absent":                {envelope.Form{Kind: envelope.FormLong}, change.Absent, "NULL"},
		"float from double":     {envelope.Form{Kind: envelope.FormFloat}, change.Float64Value(1), "32-bit float"},
		"double from int":       {envelope.Form{Kind: envelope.FormDouble}, change.IntValue(1), "an integer"},
		"boolean from int":      {envelope.Form{Kind: envelope.FormBoolean}, change.IntValue(1), "an integer"},
		"broken text":           {envelope.Form{Kind: envelope.FormText}, text("\xff"), "UTF-8"},
		"bytes from text":       {envelope.Form{Kind: envelope.FormBytes}, text("x"), "text"},
		"decimal scale":         {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 5, Scale: 2}, decimal("1.005"), "1.005"},
		"decimal precision":     {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 5, Scale: 2}, decimal("1000.00"), "1000.00"},
		"decimal huge":          {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 5, Scale: 2}, decimal(strings.Repeat("9", 9000)), "…"},
		"decimal NaN":           {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 5, Scale: 2}, decimal("NaN"), "not a decimal"},
		"decimal from float":    {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 5, Scale: 2}, change.Float64Value(1), "64-bit float"},
		"date from moment":      {envelope.Form{Kind: envelope.FormDate}, change.DateTimeValue(0, 0), "a date with time"},
		"date too far":          {envelope.Form{Kind: envelope.FormDate}, change.DateValue(1 << 31), "does not fit"},
		"time of a second day":  {envelope.Form{Kind: envelope.FormTimeMicros}, change.TimeValue(86400, 0), "not within the day"},
		"time negative":         {envelope.Form{Kind: envelope.FormTimeMicros}, change.TimeValue(0, -1000), "not within the day"},
		"time finer":            {envelope.Form{Kind: envelope.FormTimeMillis}, change.TimeValue(1, 1000), "finer"},
		"micros finer":          {envelope.Form{Kind: envelope.FormTimestampMicros}, change.DateTimeValue(1, 100), ".000000100"},
		"millis finer":          {envelope.Form{Kind: envelope.FormTimestampMillis}, change.InstantValue(1, 1000, 0), "finer"},
		"nanos too early":       {envelope.Form{Kind: envelope.FormTimestampNanos}, instant(time.Unix(0, math.MinInt64).Add(-1)), "too far"},
		"nanos too late":        {envelope.Form{Kind: envelope.FormTimestampNanos}, instant(time.Unix(0, math.MaxInt64).Add(1)), "too far"},
		"micros too early":      {envelope.Form{Kind: envelope.FormTimestampMicros}, change.DateTimeValue(math.MinInt64, 0), "too far"},
		"moment from date":      {envelope.Form{Kind: envelope.FormTimestampMicros}, change.DateValue(0), "a date"},
		"enum unknown":          {envelope.Form{Kind: envelope.FormEnum, Symbols: []string{"A"}}, text("B"), `"B" is not one of`},
		"enum huge":             {envelope.Form{Kind: envelope.FormEnum, Symbols: []string{"A"}}, text(strings.Repeat("B", 9000)), "is not one of"},
		"fixed too short":       {envelope.Form{Kind: envelope.FormFixed, Scale: 3}, text("ab"), "2 bytes where exactly 3"},
		"mask too wide":         {envelope.Form{Kind: envelope.FormMaskBytes, Scale: 1}, change.BytesValue([]byte{0, 1}), "beyond its 1 bytes"},
		"map":                   {envelope.Form{Kind: envelope.FormMap}, text("x"), "NULL is needed"},
		"date text year":        {envelope.Form{Kind: envelope.FormDateText}, change.DateValue(3_000_000), "year"},
		"date text from moment": {envelope.Form{Kind: envelope.FormDateText}, change.DateTimeValue(0, 0), "a date with time"},
		"time text finer":       {envelope.Form{Kind: envelope.FormTimeText, Scale: 6}, change.TimeValue(0, 1), "does not fit into 6 digits"},
		"datetime text finer":   {envelope.Form{Kind: envelope.FormDateTimeText, Scale: 3}, change.DateTimeValue(0, 1000), "3 digits"},
		"instant from wall":     {envelope.Form{Kind: envelope.FormInstantText, Scale: 3}, change.DateTimeValue(0, 0), "an instant is needed"},
		"hex from text":         {envelope.Form{Kind: envelope.FormHexUpper}, text("x"), "bytes are needed"},
		"unknown kind":          {envelope.Form{Kind: envelope.FormBytes}, change.Value{Kind: 99}, "unknown kind 99"},
	} {
		got, err := leafEncoder(t, c.form, false).Append([]byte("kept"), event(c.value))
		if err == nil || string(got) != "kept" {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		if says := err.Error(); !strings.Contains(says, c.says) || !strings.Contains(says, `encode shop.orders at "0042": fee: `) || len(says) > 250 {
			t.Errorf("%s: %v", name, err)
		}
		if fault.ClassOf(err) != fault.Poison {
			t.Errorf("%s: class %v", name, fault.ClassOf(err))
		}
	}
}

func TestEdgesThatFit(t *testing.T) {
	t.Parallel()
	decimal := func(s string) change.Value { return change.DecimalValue([]byte(s)) }
	rat := func(s string) *big.Rat { r, _ := new(big.Rat).SetString(s); return r }
	widest := strings.Repeat("9", 28) + "." + strings.Repeat("9", 10)
	wide := envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 38, Scale: 10}
	for name, c := range map[string]struct {
		form  envelope.Form
		value change.Value
		want  any
	}{
		"int max":      {envelope.Form{Kind: envelope.FormInt}, change.IntValue(math.MaxInt32), int32(math.MaxInt32)},
		"int min":      {envelope.Form{Kind: envelope.FormInt}, change.IntValue(math.MinInt32), int32(math.MinInt32)},
		"long min":     {envelope.Form{Kind: envelope.FormLong}, change.IntValue(math.MinInt64), int64(math.MinInt64)},
		"long max":     {envelope.Form{Kind: envelope.FormLong}, change.UintValue(math.MaxInt64), int64(math.MaxInt64)},
		"nan":          {envelope.Form{Kind: envelope.FormDouble}, change.Float64Value(math.NaN()), math.NaN()},
		"inf":          {envelope.Form{Kind: envelope.FormFloat}, change.Float32Value(float32(math.Inf(-1))), float32(math.Inf(-1))},
		"double of 32": {envelope.Form{Kind: envelope.FormDouble}, change.Float32Value(0.1), float64(float32(0.1))},
		"tinyint 255":  {envelope.Form{Kind: envelope.FormInt}, change.IntValue(255), int32(255)}, // case 57
		"decimal max":  {wide, decimal(widest), rat(widest)},
		"decimal min":  {wide, decimal("-" + widest), rat("-" + widest)},
		"decimal 4,4":  {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 4, Scale: 4}, decimal("0.2346"), rat("0.2346")},
		"money":        {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 19, Scale: 4}, decimal("922337203685477.5807"), rat("922337203685477.5807")},
		"scale 0":      {envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 5}, decimal("-0"), rat("0")},
		"nanos first":  {envelope.Form{Kind: envelope.FormTimestampNanos}, change.InstantValue(-9223372037, 145224192, 0), time.Unix(0, math.MinInt64)},
		"nanos last":   {envelope.Form{Kind: envelope.FormTimestampNanos}, change.InstantValue(9223372036, 854775807, 0), time.Unix(0, math.MaxInt64)},
		"day before":   {envelope.Form{Kind: envelope.FormTimestampMicros}, change.DateTimeValue(-1, 999_999_000), time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC)},
		"empty text":   {envelope.Form{Kind: envelope.FormText}, change.TextValue(nil), ""},
		"empty bytes":  {envelope.Form{Kind: envelope.FormBytes}, change.BytesValue(nil), []byte{}},
	} {
		for _, nullable := range []bool{false, true} {
			encoder := leafEncoder(t, c.form, nullable)
			body, err := encoder.Append(nil, event(c.value))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			checkDecoded(t, encoder.Schema(), body, map[string]any{"fee": c.want})
		}
	}
}

func TestDecimalIsMinimal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, value, precision, scale := treetest.DrawDecimal(t)
		encoder := leafEncoder(t, envelope.Form{Kind: envelope.FormDecimalBytes, Precision: precision, Scale: scale}, false)
		body, err := encoder.Append(nil, event(change.DecimalValue([]byte(text))))
		if err != nil {
			t.Fatal(err)
		}
		want, err := oracle.MustParse(encoder.Schema()).Encode(map[string]any{"fee": value})
		if err != nil || !bytes.Equal(body, want) {
			t.Fatalf("%s: %x, want %x, %v", text, body, want, err)
		}
	})
}

func TestMissingImages(t *testing.T) {
	t.Parallel()
	column := &envelope.Node{Avro: envelope.Form{Kind: envelope.FormLong}}
	before := &envelope.Node{
		Shape: envelope.Record, Name: "Data", Nullable: true, Fields: []envelope.Field{{Name: "id", Node: column}},
		Image: func(ev *change.Event) []change.Value { return ev.Before },
	}
	data := record("Data", before.Fields...)
	root := &envelope.Node{Shape: envelope.Record, Name: "Root", Fields: []envelope.Field{{Name: "data", Node: data}, {Name: "beforeData", Node: before}}}
	encoder, err := Compile(root)
	if err != nil {
		t.Fatal(err)
	}
	body, err := encoder.Append(nil, event(change.IntValue(1)))
	if err != nil {
		t.Fatal(err)
	}
	checkDecoded(t, encoder.Schema(), body, map[string]any{"data": map[string]any{"id": int64(1)}, "beforeData": nil})
	_, err = encoder.Append(nil, &change.Event{Before: []change.Value{change.IntValue(1)}})
	if err == nil || !strings.Contains(err.Error(), "data: the row image is missing") {
		t.Errorf("no new image: %v", err)
	}
	_, err = encoder.Append(nil, &change.Event{After: []change.Value{}})
	if err == nil || !strings.Contains(err.Error(), "data.id: column 0 of a row of 0") {
		t.Errorf("short image: %v", err)
	}
	if body, err = encoder.Append(nil, event(change.IntValue(1))); err != nil || string(body) != "\x02\x00" {
		t.Errorf("after errors: %x, %v", body, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	long := &envelope.Node{Avro: envelope.Form{Kind: envelope.FormLong}}
	leaf := func(kind envelope.FormKind) *envelope.Node { return &envelope.Node{Avro: envelope.Form{Kind: kind}} }
	text := change.TextValue([]byte("x"))
	enum := func(symbols ...string) *envelope.Node {
		return &envelope.Node{Name: "E", Avro: envelope.Form{Kind: envelope.FormEnum, Symbols: symbols}}
	}
	for says, n := range map[string]*envelope.Node{
		`a-b: "a-b" is not an Avro name`:                record("R", envelope.Field{Name: "a-b", Node: long}),
		`x: "3x" is not an Avro name`:                   record("R", envelope.Field{Name: "x", AvroName: "3x", Node: long}),
		`message: "" is not an Avro name`:               record("", envelope.Field{Name: "x", Node: long}),
		`namespace "a.b-c": "b-c" is not`:               {Shape: envelope.Record, Name: "R", Namespace: "a.b-c"},
		`both have the Avro name "x"`:                   record("R", envelope.Field{Name: "x", Node: long}, envelope.Field{Name: "y", AvroName: "x", Node: long}),
		"x: decimal(0,0) does not exist":                record("R", envelope.Field{Name: "x", Node: leaf(envelope.FormDecimalBytes)}),
		"x: Avro has no form 0":                         record("R", envelope.Field{Name: "x", Node: leaf(envelope.FormNone)}),
		fmt.Sprint("no form ", envelope.FormNumber):     record("R", envelope.Field{Name: "x", Node: leaf(envelope.FormNumber)}),
		fmt.Sprint("no form ", envelope.FormVerbatim):   record("R", envelope.Field{Name: "x", Node: leaf(envelope.FormVerbatim)}),
		`x: the symbol "a b" is illegal`:                record("R", envelope.Field{Name: "x", Node: enum("A", "a b")}),
		`x: the symbol "A" is illegal or there twice`:   record("R", envelope.Field{Name: "x", Node: enum("A", "A")}),
		`y: the name "E" already means another type`:    record("R", envelope.Field{Name: "x", Node: enum("A")}, envelope.Field{Name: "y", Node: enum("B")}),
		"x: a fixed size of 0":                          record("R", envelope.Field{Name: "x", Node: &envelope.Node{Name: "F", Avro: envelope.Form{Kind: envelope.FormFixed}}}),
		"x: nothing is declared":                        record("R", envelope.Field{Name: "x"}),
		"x: nothing is embedded":                        record("R", envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Embedded}}),
		`x: property "p" is not JSON`:                   record("R", envelope.Field{Name: "x", Node: long, Props: []envelope.Prop{{Name: "p", Value: "{"}}}),
		"x: name or doc is not valid UTF-8":             record("R", envelope.Field{Name: "x", Doc: "\xff", Node: long}),
		"x: an integer is needed but the value is text": record("R", envelope.Field{Name: "x", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormLong}, Constant: &text}}),
		"x: NULL in a field that is not nullable":       record("R", envelope.Field{Name: "x", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormLong}, Constant: &change.Null}}),
		"x: a column outside of any row image":          {Shape: envelope.Record, Name: "R", Fields: []envelope.Field{{Name: "x", Node: long}}},
		"x: a split column without parts":               record("R", envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Split, Name: "S"}}),
		"x.p: a part of a split column is a form":       record("R", envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Split, Name: "S", Fields: []envelope.Field{{Name: "p", Node: &envelope.Node{Nullable: true, Avro: envelope.Form{Kind: envelope.FormDate}}}}}}),
		"x[0]: the item is not of the array's type":     record("R", envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Array, Item: long, Items: []*envelope.Node{leaf(envelope.FormText)}}}),
		"x: branch 2 of a union of 1":                   record("R", envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Union, Branches: []*envelope.Node{long}, Branch: 2}}),
		"x: branch 0 is a union itself":                 record("R", envelope.Field{Name: "x", Node: &envelope.Node{Shape: envelope.Union, Branches: []*envelope.Node{{Nullable: true, Avro: envelope.Form{Kind: envelope.FormLong}}}}}),
		"x: what stands for absent values":              record("R", envelope.Field{Name: "x", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormLong}, Absent: &text}}),
		"x: column -1 does not exist":                   record("R", envelope.Field{Name: "x", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormLong}, Column: -1}}),
	} {
		if _, err := Compile(n); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	if _, err := Compile(nil); err == nil {
		t.Error("a tree of nothing compiles")
	}
}

func TestEveryProblemIsReported(t *testing.T) {
	t.Parallel()
	bad := &envelope.Node{Avro: envelope.Form{Kind: envelope.FormNone}}
	_, err := Compile(record("R", envelope.Field{Name: "a", Node: bad}, envelope.Field{Name: "b", Node: bad}))
	if err == nil || !strings.Contains(err.Error(), "a: ") || !strings.Contains(err.Error(), "b: ") {
		t.Errorf("%v", err)
	}
}

func TestErrorsUnwrap(t *testing.T) {
	t.Parallel()
	_, err := leafEncoder(t, envelope.Form{Kind: envelope.FormLong}, false).Append(nil, event(change.Null))
	var classified *fault.Error
	if !errors.As(err, &classified) {
		t.Errorf("%v", err)
	}
}
