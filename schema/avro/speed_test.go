package avro

import (
	"math"
	"testing"

	oracle "github.com/twmb/avro"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/treetest"
)

func TestAppendAllocatesNothing(t *testing.T) {
	node, ev := treetest.Row()
	inner := *node
	node.Fields = append(node.Fields,
		envelope.Field{Name: "big", Node: &envelope.Node{Column: 20, Avro: envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 60, Scale: 9}}},
		envelope.Field{Name: "unsigned", Node: &envelope.Node{Column: 21, Avro: envelope.Form{Kind: envelope.FormDecimalBytes, Precision: 20}}},
		envelope.Field{Name: "mask", Node: &envelope.Node{Column: 22, Avro: envelope.Form{Kind: envelope.FormMaskHex, Scale: 9}}},
		envelope.Field{Name: "got", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormText}, Get: func(ev *change.Event, s *envelope.Scratch) change.Value {
			*s = append((*s)[:0], ev.Position...)
			return change.TextValue(*s)
		}}},
		envelope.Field{Name: "nested", Node: &envelope.Node{Shape: envelope.Embedded, Nullable: true, Inner: &inner}})
	ev.After = append(ev.After, change.DecimalValue([]byte("-12345678901234567890123456789.5")), change.UintValue(math.MaxUint64), change.BytesValue([]byte{1, 2}))
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
	b.Run("twmb", func(b *testing.B) {
		b.ReportAllocs()
		schema, native := oracle.MustParse(encoder.Schema()), treetest.Native()
		var dst []byte
		for b.Loop() {
			if dst, err = schema.AppendEncode(dst[:0], native); err != nil {
				b.Fatal(err)
			}
		}
	})
}
