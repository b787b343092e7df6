package datastream

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/schema/avro"
	"ctbridge/schema/jsonenc"
)

// appender is what both encoders are.
type appender interface {
	Append(dst []byte, ev *change.Event) ([]byte, error)
}

func encoders(t testing.TB, s source, table *change.Table) map[string]appender {
	t.Helper()
	n := declare(t, newEnvelope(t, s.engine, s.set...), table).Value
	json, err := jsonenc.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := avro.Compile(n)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]appender{"json": json, "avro": binary}
}

func TestEventsAllocateNothing(t *testing.T) {
	dst := make([]byte, 0, 16<<10)
	for _, s := range sources {
		table := tableOf(s.engine)
		compiled := encoders(t, s, table)
		for _, operation := range operations {
			ev := newEnvelope(t, s.engine, s.set...).Expand(nil, eventOf(s, table, operation))[0]
			for format, encoder := range compiled {
				if n := testing.AllocsPerRun(100, func() {
					if _, err := encoder.Append(dst, ev); err != nil {
						t.Fatal(err)
					}
				}); n != 0 {
					t.Errorf("%s-%s in %s: %v allocations", s.name, operation, format, n)
				}
			}
		}
	}
}

func TestExpandAllocatesNothing(t *testing.T) {
	table := tableOf(SQLServer)
	e, ev := newEnvelope(t, SQLServer), eventOf(sources[0], table, "update")
	dst := make([]*change.Event, 0, 2)
	if n := testing.AllocsPerRun(100, func() { dst = e.Expand(dst[:0], ev) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An event of every source, with all types of its engine (15 to 24 columns).
func BenchmarkEvent(b *testing.B) {
	for _, s := range sources {
		table := tableOf(s.engine)
		ev := eventOf(s, table, "update")
		for format, encoder := range encoders(b, s, table) {
			b.Run(s.name+"/"+format, func(b *testing.B) {
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
}
