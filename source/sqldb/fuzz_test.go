package sqldb

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"
	"time"
	"unicode/utf8"

	"ctbridge/bridge/change"
)

// drivers are the Go values that drivers could make of some bytes.
func drivers(raw []byte) []any {
	var eight [8]byte
	copy(eight[:], raw)
	n := binary.LittleEndian.Uint64(eight[:])
	at := time.Unix(int64(n), int64(n%1e9)).In(time.FixedZone("", int(int16(n))))
	return []any{nil, raw, string(raw), int64(n), n, float32(math.Float32frombits(uint32(n))), math.Float64frombits(n), n&1 == 1, at}
}

// FuzzDecoders feeds any value of any driver to every decoder: an error or a value that is the same (I6), never a panic.
func FuzzDecoders(f *testing.F) {
	for _, seed := range []string{"", "0", "-1", "18446744073709551615", "-9223372036854775808", "1.50", "1e400", "NaN", "2031-05-10", "\xff\xfe", "00000000-0000-0000-0000-000000000001",
		"0x1p-2", "+5", " 5", "٣", "-0", "1_000", "1e-5", ".5", "5."} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 400 {
			return // the oracle takes too long
		}
		var arena change.Arena
		for _, src := range drivers(raw) {
			for bits := 8; bits <= 64; bits *= 2 {
				expectInteger(t, Int(bits), src, bits, true)
			}
			for bits := 8; bits <= 32; bits *= 2 {
				expectInteger(t, Uint(bits), src, bits, false)
			}
			var v change.Value
			if err := Text(&v, src, &arena); err == nil && !utf8.Valid(v.Raw) {
				t.Errorf("%#v is text % x", src, v.Raw)
			}
			for _, typ := range []change.Type{{Kind: change.Numeric}, {Kind: change.Numeric, Precision: 10, Scale: 2}, {Kind: change.Numeric, Precision: 38, Scale: 38}} {
				expectDecimal(t, Decimal(typ), src)
			}
			for _, decode := range []Decode{Uint64, Float32, Float64, Bytes, UUID, Bool, Parsed(change.ParseDate), Parsed(change.ParseDateTime), Parsed(change.ParseInstant), Parsed(change.ParseTime)} {
				_ = decode(&v, src, &arena)
			}
		}
	})
}

// number is the exact value of what a driver gave; nil where it is none.
func number(src any) *big.Rat {
	switch v := src.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case uint64:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(v))
	case []byte:
		return plain(string(v))
	case string:
		return plain(v)
	}
	return nil
}

// plain reads a number in decimal digits: big.Rat also takes fractions, other bases and powers of two.
func plain(text string) *big.Rat {
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

func expectInteger(t *testing.T, decode Decode, src any, bits int, signed bool) {
	t.Helper()
	var v change.Value
	var arena change.Arena
	if decode(&v, src, &arena) != nil {
		return
	}
	want := number(src)
	if want == nil || want.Cmp(new(big.Rat).SetInt64(v.Num)) != 0 {
		t.Errorf("%#v became %d", src, v.Num)
	}
	if low, high := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits); signed && (v.Num < low || v.Num > high) || !signed && (v.Num < 0 || bits < 64 && v.Num>>bits != 0) {
		t.Errorf("%d is no integer of %d bits", v.Num, bits)
	}
}

func expectDecimal(t *testing.T, decode Decode, src any) {
	t.Helper()
	var v change.Value
	var arena change.Arena
	want := number(src)
	if want == nil || decode(&v, src, &arena) != nil {
		return
	}
	text := string(v.Raw)
	if got := plain(text); got == nil || got.Cmp(want) != 0 {
		t.Errorf("%#v became %s", src, text)
	}
}
