package debezium

import (
	"fmt"
	"testing"

	"ctbridge/bridge/change"
)

func TestMessagesAllocateNothing(t *testing.T) {
	for _, y := range []struct {
		engine Engine
		*typed
	}{{SQLServer, sqlServerTypes()}, {MySQL, mySQLTypes()}, {Postgres, &typed{realTable().Columns, realRow()}}} {
		table := y.table()
		ev := updated(table)
		ev.Before, ev.After = y.row, y.row
		dst := make([]byte, 0, 64<<10)
		for _, set := range []func(*Options){func(*Options) {}, func(o *Options) { o.Decimals, o.LSN = DecimalPrecise, y.engine == SQLServer }, func(o *Options) { o.Times, o.Binary = TimeISO, BinaryHex }} {
			for format, encoder := range compiled(t, y.engine, table, set) {
				if n := testing.AllocsPerRun(100, func() {
					if _, err := encoder.Append(dst, ev); err != nil {
						t.Fatal(err)
					}
				}); n != 0 {
					t.Errorf("%s, %s: %v allocations per message", y.engine, format, n)
				}
			}
		}
	}
}

// An update of 20 columns with both images.
func BenchmarkMessage(b *testing.B) {
	y := &typed{}
	for i := range 5 {
		y.kind(fmt.Sprint("int", i), change.Int4, change.IntValue(int64(i)<<20))
		y.kind(fmt.Sprint("text", i), change.String, letter("some text of usual length"))
		y.digits(fmt.Sprint("decimal", i), change.Numeric, 18, 4, change.DecimalValue([]byte("1234567.8900")))
		y.digits(fmt.Sprint("datetime2", i), change.DateTime, 0, 6, change.DateTimeValue(1935504001, 604_805_000))
	}
	table := y.table()
	ev := updated(table)
	ev.Before, ev.After = y.row, y.row
	for format, encoder := range compiled(b, SQLServer, table) {
		b.Run(string(format), func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 64<<10)
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
