package program

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

func TestCloseLength(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 63, 64, 65, 8191, 8192, 1 << 20} {
		body := strings.Repeat("x", n)
		dst := append([]byte("kept"), 0)
		dst = CloseLength(append(dst, body...), len("kept")+1)
		want := string(binary.AppendVarint([]byte("kept"), int64(n))) + body
		if string(dst) != want {
			t.Errorf("%d bytes: %.20q, want %.20q", n, dst, want)
		}
	}
}

// The number of units since 1970 is exact or an error, whatever the moment.
func TestUnitsAgainstMathBig(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom([]*unit{&millis, &micros, &nanos}).Draw(t, "unit")
		unit := int64(u.nanos)
		near := math.MaxInt64 / u.perSecond
		v := change.DateTimeValue(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-near-2, -near+2), rapid.Int64Range(near-2, near+2)).Draw(t, "seconds"),
			rapid.Int32Range(0, 999_999_999).Draw(t, "nanos"))
		if rapid.Bool().Draw(t, "exact") {
			v.Nanos -= v.Nanos % int32(unit)
		}
		total := new(big.Int).Mul(big.NewInt(v.Num), big.NewInt(1e9))
		total.Add(total, big.NewInt(int64(v.Nanos)))
		want, rest := new(big.Int).DivMod(total, big.NewInt(unit), new(big.Int))
		got, err := u.count(&v)
		if exact := rest.Sign() == 0 && want.IsInt64(); exact != (err == nil) || exact && got != want.Int64() {
			t.Fatalf("%+v in %d ns: %d, %v; want %v rest %v", v, unit, got, err, want, rest)
		}
	})
}

// A column's bit is counted from the last byte: the number is the most significant first.
func TestCase48_MaskFromTheWrongEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns []int
		width   int
		want    string
	}{
		{[]int{0, 1, 3}, 1, "0B"},
		{[]int{7, 15}, 3, "008080"},
		{[]int{0}, 2, "0001"},
		{[]int{11}, 2, "0800"},
		{[]int{116}, 15, "100000000000000000000000000000"},
		{nil, 2, "0000"},
	} {
		mask := make(change.Mask, change.MaskBytes(117))
		for _, i := range c.columns {
			mask.Set(i)
		}
		s, v := &Step{Form: envelope.Form{Scale: c.width}}, change.BytesValue(mask)
		got, err := Text(envelope.FormMaskHex)(nil, s, &v)
		if err != nil || string(got) != c.want {
			t.Errorf("%v: %s, %v; want %s", c.columns, got, err, c.want)
		}
		raw, err := AppendMask(nil, s, &v)
		if hex := string(change.AppendHex(nil, raw, change.UpperHex)); err != nil || hex != c.want {
			t.Errorf("%v: %s, %v; want %s", c.columns, hex, err, c.want)
		}
	}
}

// Every kind has a name, so that no error speaks of an empty one.
func TestKindNames(t *testing.T) {
	t.Parallel()
	for kind := change.KindNull; kind <= change.KindInstant; kind++ {
		if kindName(kind) == "" {
			t.Errorf("kind %d has no name", kind)
		}
	}
}
