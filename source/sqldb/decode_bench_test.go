package sqldb

import (
	"testing"

	"ctbridge/bridge/change"
)

// BenchmarkDecode measures the decoders one by one.
func BenchmarkDecode(b *testing.B) {
	cases := []struct {
		name   string
		decode Decode
		src    any
	}{
		{"int", Int(64), int64(4711)},
		{"float", Float64, 2.5},
		{"text", Text, []byte("left with the neighbour at the blue door")},
		{"short", Text, []byte("I")},
		{"sequence", Text, []byte("20310510160001000000000000000000001")},
		{"bytes", Bytes, []byte{0xff, 3}},
		{"decimal", Decimal(change.Type{Precision: 10, Scale: 2}), []byte("1234.56")},
		{"date", Parsed(change.ParseDate), []byte("2031-05-10")},
		{"datetime", Parsed(change.ParseDateTime), []byte("2031-05-10 16:00:01.604805")},
		{"instant", Parsed(change.ParseInstant), []byte("2031-05-10 16:00:01.604")},
		{"uuid", UUID, []byte("00112233-4455-6677-8899-aabbccddeeff")},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			r := &rows{st: &statement{columns: make([]change.Column, 1), decoders: []Decode{c.decode}}, dst: make([]change.Value, 1), arena: &change.Arena{}}
			target := cell{rows: r}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 {
					r.arena = &change.Arena{}
				}
				if err := target.Scan(c.src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
