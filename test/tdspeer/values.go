package tdspeer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// Values are Go values or, for everything that has none, the text that T-SQL would take: "12.3400" for money, "2031-05-10
// 16:00:01.6048050 +03:00" for datetimeoffset, canonical text for uniqueidentifier. nil is NULL.

type convert = func(v any) ([]byte, error)

var plpNull = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// counted8 puts the length in one byte before the value.
func counted8(c convert) convert {
	return func(v any) ([]byte, error) {
		b, err := c(v)
		return append([]byte{byte(len(b))}, b...), err
	}
}

// counted16 puts the length in two bytes before the value.
func counted16(c convert) convert {
	return func(v any) ([]byte, error) {
		b, err := c(v)
		return append(le.AppendUint16(nil, uint16(len(b))), b...), err
	}
}

// plp sends a value in chunks, of unknown length, as the server does for (max) types.
func plp(c convert) convert {
	const chunk = 1000
	return func(v any) ([]byte, error) {
		b, err := c(v)
		out := le.AppendUint64(nil, math.MaxUint64-1)
		for len(b) > 0 {
			n := min(chunk, len(b))
			out = append(le.AppendUint32(out, uint32(n)), b[:n]...)
			b = b[n:]
		}
		return le.AppendUint32(out, 0), err
	}
}

func mismatch(v any) error { return fmt.Errorf("cannot send a %T (%v) in a column of that type", v, v) }

func bytesValue(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return v, nil
	case string:
		return []byte(v), nil
	}
	return nil, mismatch(v)
}

func nationalValue(v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, mismatch(v)
	}
	return ucs2(s), nil
}

// codePageValue writes the part of code page 1252 that equals Latin-1.
func codePageValue(v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, mismatch(v)
	}
	var b []byte
	for _, r := range s {
		if r > 0xff || r >= 0x80 && r < 0xa0 {
			return nil, fmt.Errorf("%q is not in the code page", r)
		}
		b = append(b, byte(r))
	}
	return b, nil
}

func guidValue(v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, mismatch(v)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != 16 {
		return nil, errors.Join(mismatch(v), err)
	}
	b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
	b[4], b[5], b[6], b[7] = b[5], b[4], b[7], b[6]
	return b, nil
}

// fixedValue writes numbers and the older date types.
func fixedValue(t sqlType) convert {
	return func(v any) ([]byte, error) {
		switch t.name {
		case "real", "float":
			return floatValue(t.name, v)
		case "money", "smallmoney":
			return moneyValue(t.name, v)
		case "datetime", "smalldatetime":
			return oldMomentValue(t.name, v)
		}
		return intValue(v, int(fixedWidth[t.name].size))
	}
}

func intValue(v any, size int) ([]byte, error) {
	var n int64
	switch v := v.(type) {
	case bool:
		if v {
			n = 1
		}
	case int:
		n = int64(v)
	case int64:
		n = v
	default:
		return nil, mismatch(v)
	}
	return le.AppendUint64(nil, uint64(n))[:size], nil
}

func floatValue(name string, v any) ([]byte, error) {
	f, ok := v.(float64)
	if !ok {
		return nil, mismatch(v)
	}
	if name == "real" {
		return le.AppendUint32(nil, math.Float32bits(float32(f))), nil
	}
	return le.AppendUint64(nil, math.Float64bits(f)), nil
}

// unscaled gives the digits of decimal text as a whole number of units of 10^-scale.
func unscaled(v any, scale int) (*big.Int, error) {
	s, ok := v.(string)
	if !ok {
		return nil, mismatch(v)
	}
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > scale {
		return nil, fmt.Errorf("%s has more than %d digits after the point", s, scale)
	}
	n, ok := new(big.Int).SetString(whole+frac+strings.Repeat("0", scale-len(frac)), 10)
	if !ok {
		return nil, mismatch(v)
	}
	return n, nil
}

// decimalValue writes a sign byte and the number in little-endian order.
func decimalValue(v any, scale, size int) ([]byte, error) {
	n, err := unscaled(v, scale)
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if n.Sign() >= 0 {
		b[0] = 1
	}
	digits := n.Bytes()
	if len(digits) > size-1 {
		return nil, fmt.Errorf("%v does not fit", v)
	}
	for i, d := range digits {
		b[len(digits)-i] = d
	}
	return b, nil
}

// moneyValue writes ten-thousandths; money has its upper half first.
func moneyValue(name string, v any) ([]byte, error) {
	n, err := unscaled(v, 4)
	if err != nil {
		return nil, err
	}
	if name == "smallmoney" {
		return le.AppendUint32(nil, uint32(n.Int64())), nil
	}
	return le.AppendUint32(le.AppendUint32(nil, uint32(n.Int64()>>32)), uint32(n.Int64())), nil
}

// layouts are the text forms of dates and times.
var layouts = map[string]string{
	"date": "2006-01-02", "time": "15:04:05", "datetime": "2006-01-02 15:04:05", "smalldatetime": "2006-01-02 15:04:05",
	"datetime2": "2006-01-02 15:04:05", "datetimeoffset": "2006-01-02 15:04:05 -07:00",
}

func parseMoment(name string, v any) (time.Time, error) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, mismatch(v)
	}
	return time.Parse(layouts[name], s)
}

// daysSince counts days of the civil date of t from 1 January of a year.
func daysSince(year int, t time.Time) int {
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	return int((midnight.Unix() - time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix()) / 86400)
}

func clock(t time.Time) int { return t.Hour()*3600 + t.Minute()*60 + t.Second() }

// oldMomentValue counts days from 1900 and three-hundredths of seconds, or minutes.
func oldMomentValue(name string, v any) ([]byte, error) {
	t, err := parseMoment(name, v)
	if err != nil {
		return nil, err
	}
	days := daysSince(1900, t)
	if name == "smalldatetime" {
		return le.AppendUint16(le.AppendUint16(nil, uint16(days)), uint16(clock(t)/60)), nil
	}
	ticks := 300*clock(t) + int(math.Round(float64(t.Nanosecond())*3/1e7))
	return le.AppendUint32(le.AppendUint32(nil, uint32(days)), uint32(ticks)), nil
}

// momentValue writes time (units of 10^-scale seconds), date (days from year 1, 3 bytes) and offset (minutes), as far as the type has them.
// A datetimeoffset is stored in UTC.
func momentValue(name string, scale int) convert {
	return func(v any) ([]byte, error) {
		t, err := parseMoment(name, v)
		if err != nil {
			return nil, err
		}
		_, offset := t.Zone()
		t = t.UTC()
		var b []byte
		if name != "date" {
			units := uint64(clock(t))*uint64(math.Pow10(scale)) + uint64(t.Nanosecond())/uint64(math.Pow10(9-scale))
			b = le.AppendUint64(nil, units)[:timeSize(scale)]
		}
		if name != "time" {
			b = append(b, le.AppendUint32(nil, uint32(daysSince(1, t)))[:3]...)
		}
		if name == "datetimeoffset" {
			b = le.AppendUint16(b, uint16(offset/60))
		}
		return b, nil
	}
}

func timeSize(scale int) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	}
	return 5
}
