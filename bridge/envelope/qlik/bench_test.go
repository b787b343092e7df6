package qlik

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/avro"
	"ctbridge/schema/jsonenc"
)

// encoders are the two formats over the whole message of the real update.
func encoders(t testing.TB, table *change.Table) map[string]appender {
	t.Helper()
	compiled := map[string]appender{}
	json, err := jsonenc.Compile(declare(t, table).Value)
	if err != nil {
		t.Fatal(err)
	}
	compiled["json"] = json
	for name, n := range map[string]*envelope.Node{
		"avro":     declare(t, table, withAvro).Value,
		"registry": declare(t, table, withRegistry, withLogical).Value,
	} {
		if compiled[name], err = avro.Compile(n); err != nil {
			t.Fatal(err)
		}
	}
	return compiled
}

func TestMessagesAllocateNothing(t *testing.T) {
	table := everyType()
	ev := &change.Event{Table: table, Op: change.OpUpdate, Before: everyRow(), After: everyRow(), Timestamp: change.InstantValue(1694402605, 0, 0)}
	dst := make([]byte, 0, 16<<10)
	for name, encoder := range encoders(t, table) {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := encoder.Append(dst, ev); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per message", name, n)
		}
	}
}

// A message of 20 columns with both images.
func BenchmarkMessage(b *testing.B) {
	table := wide(20, 1)
	ev := trackerUpdate(table)
	ev.Before, ev.After = row(20), with(row(20), 3, 17)
	ev.Changed = marked(20, 3, 17)
	for name, encoder := range encoders(b, table) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 16<<10)
			for b.Loop() {
				text, err := encoder.Append(dst, ev)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
			}
		})
	}
}

// appender is what both encoders are.
type appender interface {
	Append(dst []byte, ev *change.Event) ([]byte, error)
}
