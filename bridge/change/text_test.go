package change

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// firstSecond and lastSecond bound the years 1 to 9999.
const (
	firstSecond = minDay * secondsPerDay
	lastSecond  = (maxDay+1)*secondsPerDay - 1
)

func drawMoment(t *rapid.T) (seconds int64, nanos int32, at time.Time) {
	seconds = rapid.Int64Range(firstSecond, lastSecond).Draw(t, "seconds")
	nanos = rapid.Int32Range(0, 999_999_999).Draw(t, "nanos")
	return seconds, nanos, time.Unix(seconds, int64(nanos)).UTC()
}

// layoutFor is Go's layout of a clock with digits after the point.
func layoutFor(date string, digits int) string {
	if digits == 0 {
		return date + "15:04:05"
	}
	return date + "15:04:05." + strings.Repeat("0", digits)
}

func TestDateAgainstPackageTime(t *testing.T) {
	t.Parallel()
	var got, want []byte
	var err error
	for days := int64(minDay); days <= maxDay; days++ { // each there is
		want = time.Unix(days*secondsPerDay, 0).UTC().AppendFormat(want[:0], "2006-01-02")
		if got, err = AppendDate(got[:0], days); err != nil || string(got) != string(want) {
			t.Fatalf("day %d: %s, %v, want %s", days, got, err, want)
		}
		if back, err := ParseDate(got); err != nil || !back.Equal(DateValue(days)) {
			t.Fatalf("ParseDate(%s) = %+v, %v, want day %d", got, back, err, days)
		}
	}
	for _, days := range []int64{minDay - 1, maxDay + 1, math.MinInt64, math.MaxInt64} {
		if got, err := AppendDate([]byte("x"), days); err == nil || string(got) != "x" {
			t.Errorf("day %d: %q, %v", days, got, err)
		}
	}
}

func TestDateTimeAgainstPackageTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds, nanos, at := drawMoment(t)
		digits := rapid.IntRange(0, 9).Draw(t, "digits")
		nanos -= nanos % int32(pow10[9-digits])
		want := at.Format(layoutFor("2006-01-02 ", digits))
		if got, err := AppendDateTime(nil, seconds, nanos, ' ', digits); err != nil || string(got) != want {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
		value, err := ParseDateTime([]byte(want))
		if err != nil || !value.Equal(DateTimeValue(seconds, nanos)) {
			t.Fatalf("ParseDateTime(%s) = %+v, %v", want, value, err)
		}
	})
}

func TestFinerDigitsAreAnError(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds, nanos, _ := drawMoment(t)
		digits := rapid.IntRange(0, 8).Draw(t, "digits")
		if nanos%int32(pow10[9-digits]) == 0 {
			nanos++
		}
		got, err := AppendDateTime([]byte("kept"), seconds, nanos, ' ', digits)
		if err == nil || string(got) != "kept" {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func TestInstantAgainstPackageTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds, nanos, at := drawMoment(t)
		offset := rapid.Int16Range(-14*60, 14*60).Draw(t, "offset")
		local := at.In(time.FixedZone("", int(offset)*60))
		value := InstantValue(seconds, nanos, offset)
		for sep, layout := range map[byte]string{' ': "2006-01-02 15:04:05.000000000 -07:00", 'T': "2006-01-02T15:04:05.000000000-07:00"} {
			got, err := AppendInstant(nil, value, sep, 9)
			if year := local.Year(); year < 1 || year > 9999 {
				if err == nil {
					t.Fatalf("year %d: %s", year, got)
				}
				continue
			}
			if err != nil || string(got) != local.Format(layout) {
				t.Fatalf("%s, %v, want %s", got, err, local.Format(layout))
			}
			back, err := ParseInstant(got)
			if err != nil || !back.Equal(value) {
				t.Fatalf("ParseInstant(%s) = %+v, %v", got, back, err)
			}
		}
	})
}

func TestISOMillisCutsByFloor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds, nanos, at := drawMoment(t)
		want := at.Format("2006-01-02T15:04:05.000")
		if got, err := AppendISOMillis(nil, InstantValue(seconds, nanos, 120)); err != nil || string(got) != want {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	})
}

func TestTimeText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value  Value
		digits int
		want   string
	}{
		{TimeValue(86399, 999_999_900), 7, "23:59:59.9999999"}, // case 50
		{TimeValue(86399, 999_999_900), 6, ""},
		{TimeValue(0, 0), 0, "00:00:00"},
		{TimeValue(-(838*3600 + 59*60 + 59), 0), 6, "-838:59:59.000000"},
		{TimeValue(0, -500_000_000), 1, "-00:00:00.5"},
		{TimeValue(-1, -1), 9, "-00:00:01.000000001"},
		{TimeValue(-1, 1), 9, ""},
		{TimeValue(1, -1), 9, ""},
		{TimeValue(math.MinInt64, 0), 0, ""},
		{TimeValue(99*3600, 0), 0, "99:00:00"},
		{TimeValue(100*3600, 0), 0, "100:00:00"},
		{TimeValue(1, 0), 10, ""},
		{TimeValue(1, 0), -1, ""},
	} {
		got, err := AppendTime(nil, c.value, c.digits)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v with %d digits: %q, %v; want %q", c.value, c.digits, got, err, c.want)
		}
	}
}

func TestCase50_DigitsByDeclaredScale(t *testing.T) {
	t.Parallel()
	for text, digits := range map[string]int{
		"2031-05-10 16:00:01.6048050 +03:00": 7,
		"2031-05-10 16:00:01.6048000 +05:45": 7,
		"2031-05-10 16:00:01 -00:30":         0,
		"1969-12-31 23:59:59.5 +00:00":       1,
	} {
		value, err := ParseInstant([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := mustText(t)(AppendInstant(nil, value, ' ', digits)); got != text {
			t.Errorf("%s came back as %s", text, got)
		}
	}
}

func TestFloatTextIsWhatJSONWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wide := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		narrow := math.Float32frombits(rapid.Uint32().Draw(t, "bits32"))
		if isFinite(wide) {
			if want, _ := json.Marshal(wide); string(AppendFloat(nil, wide, 64)) != string(want) {
				t.Fatalf("%s, want %s", AppendFloat(nil, wide, 64), want)
			}
		}
		if isFinite(float64(narrow)) {
			if want, _ := json.Marshal(narrow); string(AppendFloat(nil, float64(narrow), 32)) != string(want) {
				t.Fatalf("%s, want %s", AppendFloat(nil, float64(narrow), 32), want)
			}
		}
	})
	for text, f := range map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "0.1": 0.1, "1e-7": 1e-7, "1e+21": 1e21, "1e-10": 1e-10} {
		if got := string(AppendFloat(nil, f, 64)); got != text {
			t.Errorf("%v: %s, want %s", f, got, text)
		}
	}
	for _, f := range []float32{1e-6, 1e21, 0.1, math.MaxFloat32, math.SmallestNonzeroFloat32} {
		if want, _ := json.Marshal(f); string(AppendFloat(nil, float64(f), 32)) != string(want) {
			t.Errorf("%s, want %s", AppendFloat(nil, float64(f), 32), want)
		}
	}
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func TestAppendTextOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value Value
		typ   Type
		want  string
	}{
		{BoolValue(true), Type{}, "true"},
		{BoolValue(false), Type{}, "false"},
		{IntValue(-5), Type{}, "-5"},
		{UintValue(math.MaxUint64), Type{}, "18446744073709551615"},
		{Float32Value(0.1), Type{}, "0.1"},
		{Float64Value(0.1), Type{}, "0.1"},
		{DecimalValue([]byte("1.5")), Type{Kind: Numeric, Precision: 5, Scale: 2}, "1.50"},
		{DecimalValue([]byte("001.50")), Type{Kind: Numeric}, "1.50"},
		{TextValue([]byte("größe\x00")), Type{}, "größe\x00"},
		{BytesValue([]byte{0xab, 1}), Type{}, "AB01"},
		{DateValue(0), Type{}, "1970-01-01"},
		{TimeValue(1, 0), Type{Scale: 3}, "00:00:01.000"},
		{DateTimeValue(-1, 500_000_000), Type{Scale: 6}, "1969-12-31 23:59:59.500000"},
		{InstantValue(0, 0, 60), Type{Scale: 0}, "1970-01-01 01:00:00 +01:00"},
	} {
		if got := mustText(t)(AppendText([]byte("k="), c.value, c.typ)); got != "k="+c.want {
			t.Errorf("%+v: %q, want %q", c.value, got, c.want)
		}
	}
	for _, v := range []Value{Null, Absent, DecimalValue([]byte("NaN")), InstantValue(0, 0, 1200), DateTimeValue(0, -1)} {
		if got, err := AppendText([]byte("k="), v, Type{}); err == nil || string(got) != "k=" {
			t.Errorf("%+v: %q, %v", v, got, err)
		}
	}
}

func TestAppendHex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if got, want := string(AppendHex(nil, b, LowerHex)), hex.EncodeToString(b); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if got, want := string(AppendHex(nil, b, UpperHex)), strings.ToUpper(hex.EncodeToString(b)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestTextAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 256)
	values := []Value{
		BoolValue(true), IntValue(-5), UintValue(7), Float32Value(0.1), Float64Value(1e300), DecimalValue([]byte("12345678901234567890.12")),
		TextValue([]byte("text")), BytesValue([]byte{1}), DateValue(9), TimeValue(-5, -1000), DateTimeValue(1, 1000), InstantValue(1, 1000, -90),
	}
	typ := Type{Precision: 38, Scale: 6}
	if n := testing.AllocsPerRun(100, func() {
		for _, v := range values {
			out, err := AppendText(dst[:0], v, typ)
			if err != nil {
				t.Fatal(err)
			}
			dst = out
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// mustText turns the result of an Append function into text.
func mustText(t testing.TB) func([]byte, error) string {
	return func(b []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}
