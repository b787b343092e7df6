package enginetest

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"ctbridge/bridge/change"
)

// FuzzDecoders feeds every value that a database/sql driver could make of some bytes to the decoder of every kind: an error or a value, never a
// panic. decoder gives nil for a kind that the engine does not have.
func FuzzDecoders[D ~func(*change.Value, any, *change.Arena) error](f *testing.F, decoder func(change.Column) D) {
	f.Helper()
	for _, seed := range []string{"", "0", "-1", "1.50", "2031-05-10 16:00:01.604805", "0000-00-00", "-838:59:59", "\xff\x00", "{}", "0123456789abcdef", "24:00:00"} {
		f.Add([]byte(seed), uint8(2))
	}
	f.Fuzz(func(t *testing.T, raw []byte, scale uint8) {
		var eight [8]byte
		copy(eight[:], raw)
		n := binary.LittleEndian.Uint64(eight[:])
		at := time.Unix(int64(n), int64(n%1e9)).In(time.FixedZone("", int(int16(n))))
		var arena change.Arena
		for kind := change.Unsupported; kind.Known(); kind++ {
			decode := decoder(change.Column{Name: "c", Type: change.Type{Kind: kind, Precision: 18, Scale: int(scale % 10)}})
			if decode == nil {
				continue
			}
			for _, src := range []any{nil, raw, string(raw), int64(n), n, math.Float32frombits(uint32(n)), math.Float64frombits(n), n&1 == 1, at} {
				var v change.Value
				_ = decode(&v, src, &arena)
			}
		}
	})
}
