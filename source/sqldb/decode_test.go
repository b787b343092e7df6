package sqldb

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

func decode(d Decode, src any) (change.Value, error) {
	var v change.Value
	err := d(&v, src, &change.Arena{})
	return v, err
}

func TestDecode(t *testing.T) {
	money := Decimal(change.Type{Precision: 10, Scale: 2})
	cases := []struct {
		name   string
		decode Decode
		src    any
		want   change.Value
	}{
		{"int8 min", Int(8), int64(-128), change.IntValue(-128)},
		{"int64 min", Int(64), int64(math.MinInt64), change.IntValue(math.MinInt64)},
		{"int text", Int(64), []byte("-5"), change.IntValue(-5)},
		{"uint8 max", Uint(8), int64(255), change.IntValue(255)},
		{"uint32 max", Uint(32), int64(math.MaxUint32), change.IntValue(math.MaxUint32)},
		{"uint64 text", Uint64, []byte("18446744073709551615"), change.UintValue(math.MaxUint64)},
		{"uint64 native", Uint64, uint64(math.MaxUint64), change.UintValue(math.MaxUint64)},
		{"true", Bool, true, change.BoolValue(true)},
		{"zero", Bool, int64(0), change.BoolValue(false)},
		{"double", Float64, 0.1, change.Float64Value(0.1)},
		{"double of 2^53", Float64, int64(1 << 53), change.Float64Value(1 << 53)},
		{"double of min", Float64, int64(math.MinInt64), change.Float64Value(math.MinInt64)},
		{"single", Float32, float32(0.1), change.Float32Value(0.1)},
		{"single widened", Float32, float64(float32(0.1)), change.Float32Value(0.1)},
		{"single infinite", Float32, math.Inf(1), change.Float32Value(float32(math.Inf(1)))},
		{"text", Text, "größe", change.TextValue([]byte("größe"))},
		{"text bytes", Text, []byte{}, change.TextValue([]byte{})},
		{"bytes", Bytes, []byte{0xff}, change.BytesValue([]byte{0xff})},
		{"no bytes", Bytes, []byte(nil), change.BytesValue([]byte{})},
		{"money", money, []byte("-0012.3"), change.DecimalValue([]byte("-12.30"))},
		{"free decimal", Decimal(change.Type{}), "1.50", change.DecimalValue([]byte("1.50"))},
		{"date", Parsed(change.ParseDate), "1970-01-02", change.DateValue(1)},
		{"uuid", UUID, "00112233-4455-6677-8899-AABBCCDDEEFF", change.TextValue([]byte("00112233-4455-6677-8899-aabbccddeeff"))},
	}
	for _, c := range cases {
		if got, err := decode(c.decode, c.src); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

// TestDecodeRefuses: what does not fit is refused, and the destination is left alone (I6).
func TestDecodeRefuses(t *testing.T) {
	money := Decimal(change.Type{Precision: 10, Scale: 2})
	cases := []struct {
		name   string
		decode Decode
		src    any
	}{
		{"int8", Int(8), int64(128)}, {"int8 low", Int(8), int64(-129)}, {"int32", Int(32), int64(math.MaxInt32 + 1)},
		{"int of text", Int(64), []byte("n/a")}, {"int of string", Int(64), "5"}, {"int of double", Int(64), 5.0}, {"int of huge text", Int(64), []byte("9223372036854775808")},
		{"uint8", Uint(8), int64(256)}, {"uint8 low", Uint(8), int64(-1)}, {"uint64 low", Uint64, int64(-1)},
		{"uint64 of text", Uint64, []byte("18446744073709551616")}, {"uint64 of double", Uint64, 1.0},
		{"bool", Bool, int64(2)}, {"bool of text", Bool, "true"},
		{"double of 2^53+1", Float64, int64(1<<53 + 1)}, {"double of max", Float64, int64(math.MaxInt64)}, {"double of text", Float64, "1"},
		{"single of 0.1", Float32, 0.1}, {"single of int", Float32, int64(1)},
		{"text", Text, "\xff"}, {"text bytes", Text, []byte("a\xc3")}, {"text of int", Text, int64(1)},
		{"bytes of text", Bytes, "x"},
		{"money digits", money, "1.234"}, {"money size", money, "123456789"}, {"money text", money, "n/a"}, {"money exponent", money, "1e2"}, {"money of double", money, 1.5},
		{"date", Parsed(change.ParseDate), "2031-02-30"}, {"date of int", Parsed(change.ParseDate), int64(1)},
		{"uuid short", UUID, "0011"}, {"uuid digit", UUID, "00112233-4455-6677-8899-aabbccddeefg"}, {"uuid hyphen", UUID, "001122334-455-6677-8899-aabbccddeeff"},
		{"uuid of int", UUID, int64(1)},
	}
	for _, c := range cases {
		got := change.IntValue(42)
		if err := c.decode(&got, c.src, &change.Arena{}); err == nil || !got.Equal(change.IntValue(42)) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
	}
}

// TestDecimalKeepsTheNumber compares with big.Rat.
func TestDecimalKeepsTheNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,25}(\.[0-9]{1,12})?`).Draw(t, "text")
		typ := change.Type{Kind: change.Numeric, Precision: rapid.IntRange(1, 30).Draw(t, "precision")}
		typ.Scale = rapid.IntRange(0, typ.Precision).Draw(t, "scale")
		want, _ := new(big.Rat).SetString(text)
		got, err := decode(Decimal(typ), text)
		scaled := new(big.Rat).Mul(want, new(big.Rat).SetInt(pow10(typ.Scale)))
		fits := scaled.IsInt() && new(big.Int).Abs(scaled.Num()).Cmp(pow10(typ.Precision)) < 0
		if fits != (err == nil) {
			t.Fatalf("decimal(%d,%d) of %s: %v", typ.Precision, typ.Scale, text, err)
		}
		if err != nil {
			return
		}
		if back, _ := new(big.Rat).SetString(string(got.Raw)); back.Cmp(want) != 0 {
			t.Fatalf("%s became %s", text, got.Raw)
		}
		if _, frac, _ := strings.Cut(string(got.Raw), "."); len(frac) != typ.Scale {
			t.Fatalf("%s has not %d digits after the point", got.Raw, typ.Scale)
		}
	})
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// TestIntegersAgreeWithStrconv decodes integers as numbers and as text.
func TestIntegersAgreeWithStrconv(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		bits := rapid.SampledFrom([]int{8, 16, 32, 64}).Draw(t, "bits")
		text := strconv.FormatInt(n, 10)
		_, wrong := strconv.ParseInt(text, 10, bits)
		for _, src := range []any{n, []byte(text)} {
			if got, err := decode(Int(bits), src); (err == nil) != (wrong == nil) || err == nil && got.Num != n {
				t.Fatalf("%d bits of %v: %+v, %v", bits, src, got, err)
			}
		}
	})
}

// FuzzText: text is kept byte for byte or refused.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "größe", "\xff", "a\x00b", "\xed\xa0\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := decode(Text, s)
		if utf8.ValidString(s) != (err == nil) || err == nil && string(got.Raw) != s {
			t.Fatalf("%q gave %q, %v", s, got.Raw, err)
		}
	})
}
