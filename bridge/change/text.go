package change

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// The text of values, shared by the encoders, the text keys and the inspection verbs. Every Append function extends dst without
// allocating (but for its growth) and writes exactly the digits it is asked for: a value with finer digits is an error, never a cut or
// a rounding (I6). The calendar is proleptic Gregorian with the years 1 to 9999; time before 1970 is counted by floor. With an error,
// dst comes back as it was.

const (
	secondsPerDay = 86400
	minDay        = -719162 // 0001-01-01
	maxDay        = 2932896 // 9999-12-31
	maxOffset     = 18 * 60 // minutes; no zone was ever further from UTC
)

var pow10 = [10]uint32{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// errYear is the error of a date that four digits cannot show.
var errYear = errors.New("a year outside 1..9999 has no text form")

// AppendDate writes a date, 1993-11-25, from days since 1970-01-01.
func AppendDate(dst []byte, days int64) ([]byte, error) {
	if days < minDay || days > maxDay {
		return dst, errYear
	}
	year, month, day := civil(days)
	dst = append(dst, "0000-00-00"...)
	text := dst[len(dst)-10:]
	putTwo(text, year/100)
	putTwo(text[2:], year%100)
	putTwo(text[5:], month)
	putTwo(text[8:], day)
	return dst, nil
}

// AppendTime writes the time of day or the signed duration of a KindTime value, 14:34:21.000000, with digits (0..9) after the point.
// Hours have two digits, or as many as a longer duration needs.
func AppendTime(dst []byte, v Value, digits int) ([]byte, error) {
	seconds, nanos := v.Num, int64(v.Nanos)
	start := len(dst)
	if seconds < 0 || nanos < 0 {
		seconds, nanos = -seconds, -nanos
		dst = append(dst, '-')
	}
	if seconds < 0 || nanos < 0 {
		return dst[:start], fmt.Errorf("a time of %d s and %d ns has two signs", v.Num, v.Nanos)
	}
	if seconds < 100*3600 {
		dst = appendTwo(dst, seconds/3600)
	} else {
		dst = strconv.AppendInt(dst, seconds/3600, 10)
	}
	dst, err := appendFraction(appendMinutes(dst, seconds%3600), nanos, digits)
	if err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// AppendDateTime writes a wall clock, 2023-03-21 14:34:21.000000, from seconds since 1970-01-01 00:00:00 of the same clock; sep stands
// between date and time (a space or 'T'), digits (0..9) follow the point.
func AppendDateTime(dst []byte, seconds int64, nanos int32, sep byte, digits int) ([]byte, error) {
	start := len(dst)
	days := floorDiv(seconds, secondsPerDay)
	dst, err := AppendDate(dst, days)
	if err != nil {
		return dst, err
	}
	clock := seconds - days*secondsPerDay
	dst = append(dst, sep)
	dst = appendTwo(dst, clock/3600)
	dst, err = appendFraction(appendMinutes(dst, clock%3600), int64(nanos), digits)
	if err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// AppendInstant writes the wall clock of a KindInstant value at its stored offset, then the offset: 2031-05-10 16:00:01.6048050 +03:00
// with a space as sep, 2031-05-10T16:00:01.6048050+03:00 with 'T'.
func AppendInstant(dst []byte, v Value, sep byte, digits int) ([]byte, error) {
	offset := int64(v.Offset)
	if offset < -maxOffset || offset > maxOffset {
		return dst, fmt.Errorf("an offset of %d minutes is no time zone", offset)
	}
	dst, err := AppendDateTime(dst, v.Num+offset*60, v.Nanos, sep, digits)
	if err != nil {
		return dst, err
	}
	if sep == ' ' {
		dst = append(dst, ' ')
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = append(dst, sign)
	dst = appendTwo(dst, offset/60)
	dst = append(dst, ':')
	return appendTwo(dst, offset%60), nil
}

// AppendISOMillis writes an instant in UTC or a wall clock, 2023-09-11T03:23:25.000. It is the one form that cuts finer digits: it is
// documented as milliseconds.
func AppendISOMillis(dst []byte, v Value) ([]byte, error) {
	return AppendDateTime(dst, v.Num, v.Nanos-v.Nanos%1e6, 'T', 3)
}

// AppendFloat writes the shortest text that reads back as the same number of 32 or 64 bits, as JSON writes numbers (RFC 8785, 3.2.2.3):
// exponents only below 1e-6 and from 1e21. NaN, Infinity and -Infinity are words: no JSON.
func AppendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case f != f:
		return append(dst, "NaN"...)
	case f > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case f < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	case needsExponent(max(f, -f), bits):
		return appendExponent(dst, f, bits)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, bits)
}

func needsExponent(magnitude float64, bits int) bool {
	if bits == 32 {
		single := float32(magnitude)
		return single != 0 && (single < 1e-6 || single >= 1e21)
	}
	return magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)
}

// appendExponent writes 1e-7 where strconv writes 1e-07.
func appendExponent(dst []byte, f float64, bits int) []byte {
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendHex writes bytes as hex digits; digits is the alphabet, UpperHex or LowerHex.
func AppendHex(dst, b []byte, digits string) []byte {
	for _, c := range b {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// The alphabets of AppendHex.
const (
	UpperHex = "0123456789ABCDEF"
	LowerHex = "0123456789abcdef"
)

// AppendText writes the canonical text of any value: text as it is, numbers in decimal, bytes as upper-case hex, true and false, dates
// and times as above with t.Scale digits. Decimals have exactly t.Scale digits where t has a precision, else those of the source.
// NULL and absent values have no text: an error, the caller must tell them apart from empty text.
func AppendText(dst []byte, v Value, t Type) ([]byte, error) {
	switch v.Kind {
	case KindBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case KindInt:
		return strconv.AppendInt(dst, v.Num, 10), nil
	case KindUint:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case KindFloat32:
		return AppendFloat(dst, float64(v.Float32()), 32), nil
	case KindFloat64:
		return AppendFloat(dst, v.Float64(), 64), nil
	case KindDecimal:
		if t.Precision == 0 {
			return AppendDecimalAsIs(dst, v.Raw)
		}
		return AppendDecimal(dst, v.Raw, t.Precision, t.Scale)
	case KindText:
		return append(dst, v.Raw...), nil
	case KindBytes:
		return AppendHex(dst, v.Raw, UpperHex), nil
	case KindDate:
		return AppendDate(dst, v.Num)
	case KindTime:
		return AppendTime(dst, v, t.Scale)
	case KindDateTime:
		return AppendDateTime(dst, v.Num, v.Nanos, ' ', t.Scale)
	case KindInstant:
		return AppendInstant(dst, v, ' ', t.Scale)
	}
	return dst, errors.New("NULL has no text")
}

// appendMinutes writes :mm:ss of the seconds within an hour.
func appendMinutes(dst []byte, seconds int64) []byte {
	dst = append(dst, ":00:00"...)
	text := dst[len(dst)-6:]
	putTwo(text[1:], uint32(seconds)/60)
	putTwo(text[4:], uint32(seconds)%60)
	return dst
}

// appendFraction writes the point and exactly digits of the nanoseconds.
func appendFraction(dst []byte, nanos int64, digits int) ([]byte, error) {
	if digits < 0 || digits > 9 || nanos < 0 || nanos > 999_999_999 {
		return dst, fmt.Errorf("%d ns in %d digits is no fraction of a second", nanos, digits)
	}
	unit := pow10[9-digits]
	fraction := uint32(nanos) / unit
	if fraction*unit != uint32(nanos) {
		return dst, fmt.Errorf("the fraction .%09d does not fit into %d digits", nanos, digits)
	}
	if digits == 0 {
		return dst, nil
	}
	dst = append(dst, ".000000000"[:1+digits]...)
	for i := len(dst) - 1; fraction > 0; i-- {
		dst[i] = byte('0' + fraction%10)
		fraction /= 10
	}
	return dst, nil
}

func appendTwo(dst []byte, n int64) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

// putTwo overwrites two digits.
func putTwo(text []byte, n uint32) {
	text[0], text[1] = byte('0'+n/10), byte('0'+n%10)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// The calendar counts years from 1 March, so that the leap day ends its year.
const daysToEpoch = 719468 // from 0000-03-01 to 1970-01-01

// civil gives the date of a day since 1970-01-01, in the years 1 to 9999. Divisions by what a century, a year and a month last are
// multiplications by fractions that give the same for every such day (Neri and Schneider, Euclidean affine functions and their application to
// calendar algorithms, 2022).
func civil(days int64) (year, month, day uint32) {
	n := 4*uint32(days+daysToEpoch) + 3
	century := n / 146097
	inCentury := n % 146097 / 4
	p := 2939745 * uint64(4*inCentury+3)
	yearOfCentury := uint32(p >> 32)
	inYear := uint32(p) / 2939745 / 4
	m := 2141*inYear + 197913
	year, month, day = 100*century+yearOfCentury, m>>16, m&0xffff/2141+1
	if inYear >= 306 { // January and February
		year, month = year+1, month-12
	}
	return year, month, day
}

// daysOf is the inverse of civil.
func daysOf(year, month, day uint32) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	century := year / 100
	return int64(365*year+year/4-century+century/4+(979*month-2919)/32+day-1) - daysToEpoch
}
