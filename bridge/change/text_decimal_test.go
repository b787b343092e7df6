package change

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var decimalText = rapid.Custom(func(t *rapid.T) string {
	return rapid.StringMatching(`-?(0{0,3}[0-9]{1,45})(\.[0-9]{1,20})?`).Draw(t, "decimal")
})

func ratOf(t rapid.TB, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("the oracle does not read %q", text)
	}
	return r
}

func pow(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// fits says by arithmetic whether decimal(precision, scale) holds the number exactly.
func fits(r *big.Rat, precision, scale int) bool {
	scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(pow(max(scale, 0))))
	scaled.Quo(scaled, new(big.Rat).SetInt(pow(max(-scale, 0))))
	return scaled.IsInt() && (precision == 0 || new(big.Int).Abs(scaled.Num()).Cmp(pow(precision)) < 0)
}

func TestDecimalAgainstMathBig(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := decimalText.Draw(t, "text")
		if rapid.Bool().Draw(t, "zeros") {
			text += strings.Repeat("0", rapid.IntRange(0, 4).Draw(t, "tail"))
		}
		precision := rapid.IntRange(0, 50).Draw(t, "precision")
		scale := rapid.IntRange(-3, 22).Draw(t, "scale")
		r := ratOf(t, text)
		got, err := AppendDecimal([]byte("k"), []byte(text), precision, scale)
		if fits(r, precision, scale) != (err == nil) {
			t.Fatalf("%s as (%d, %d): %q, %v", text, precision, scale, got, err)
		}
		if err == nil && string(got[1:]) != r.FloatString(max(scale, 0)) {
			t.Fatalf("%s: %s, want %s", text, got[1:], r.FloatString(max(scale, 0)))
		}
	})
}

func TestParseDecimalAgainstMathBig(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := decimalText.Draw(t, "text")
		d, err := ParseDecimal([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		unscaled := d.Big
		if unscaled == nil {
			unscaled = big.NewInt(d.Unscaled)
		} else if unscaled.IsInt64() {
			t.Fatalf("%s is big without need", text)
		}
		if got := new(big.Rat).SetFrac(unscaled, pow(d.Scale)); got.Cmp(ratOf(t, text)) != 0 {
			t.Fatalf("%s: %s", text, got)
		}
		_, frac, _ := strings.Cut(text, ".")
		if d.Scale != len(frac) {
			t.Fatalf("%s: scale %d", text, d.Scale)
		}
	})
}

func TestCase57_DecimalsAreRescaledExactly(t *testing.T) {
	t.Parallel()
	widest := strings.Repeat("9", 28) + "." + strings.Repeat("9", 10)
	for _, c := range []struct {
		text             string
		precision, scale int
		want             string
	}{
		{widest, 38, 10, widest},
		{"-" + widest, 38, 10, "-" + widest},
		{"0.2346", 4, 4, "0.2346"},
		{"922337203685477.5807", 19, 4, "922337203685477.5807"},
		{"1.5", 10, 2, "1.50"},
		{"1.500", 10, 2, "1.50"},
		{"1.005", 10, 2, ""},
		{"100", 2, 0, ""},
		{"10", 3, 2, ""},
		{"-0.00", 10, 2, "0.00"},
		{"-0.01", 10, 2, "-0.01"},
		{"007", 3, 0, "7"},
		{"0.001", 1, 3, "0.001"},
		{"0.01", 1, 3, ""},
		{"12300", 3, -2, "12300"},
		{"12310", 3, -2, ""},
	} {
		got, err := AppendDecimal(nil, []byte(c.text), c.precision, c.scale)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s as (%d, %d): %q, %v; want %q", c.text, c.precision, c.scale, got, err, c.want)
		}
	}
}

func TestNoDecimal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "-", "+1", ".5", "5.", "1e3", "NaN", "1.2.3", "--1", "1 ", "1,5", "-.", "٣"} {
		if got, err := AppendDecimal(nil, []byte(text), 0, 2); err == nil {
			t.Errorf("%q became %q", text, got)
		}
		if got, err := AppendDecimalAsIs(nil, []byte(text)); err == nil {
			t.Errorf("%q became %q", text, got)
		}
		if d, err := ParseDecimal([]byte(text)); err == nil {
			t.Errorf("%q became %v", text, d)
		}
	}
}

func TestDecimalErrorsAreShort(t *testing.T) {
	t.Parallel()
	_, err := AppendDecimal(nil, []byte(strings.Repeat("9", 5000)), 10, 2)
	if err == nil || len(err.Error()) > 150 {
		t.Errorf("%v", err)
	}
}

func FuzzAppendDecimal(f *testing.F) {
	for _, seed := range []string{"0", "-0.00", "12.340", "00012", "99999999999999999999.5", "1e5", "-"} {
		f.Add(seed, 10, 2)
	}
	f.Fuzz(func(t *testing.T, text string, precision, scale int) {
		if precision < 0 || precision > 100 || scale < -5 || scale > 100 {
			return
		}
		got, err := AppendDecimal(nil, []byte(text), precision, scale)
		if err != nil {
			return
		}
		if r := ratOf(t, text); !fits(r, precision, scale) || ratOf(t, string(got)).Cmp(r) != 0 {
			t.Fatalf("%q as (%d, %d) became %q", text, precision, scale, got)
		}
	})
}
