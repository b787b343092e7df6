package sqldb

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"ctbridge/bridge/change"
)

// The decoders that products have in common. Each takes the Go types that drivers use for its kind and refuses all others: a value of
// another type is not converted (I6).

// Int decodes a signed integer of so many bits from int64 or decimal digits.
func Int(bits int) Decode {
	low, high := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits)
	return func(dst *change.Value, src any, _ *change.Arena) error {
		n, ok := src.(int64)
		if !ok {
			var err error
			if n, err = digits(src); err != nil {
				return err
			}
		}
		if n < low || n > high {
			return fmt.Errorf("does not fit into a signed integer of %d bits", bits)
		}
		*dst = change.IntValue(n)
		return nil
	}
}

// Uint decodes an unsigned integer of up to 32 bits into KindInt.
func Uint(bits int) Decode {
	high := int64(1)<<bits - 1
	return func(dst *change.Value, src any, _ *change.Arena) error {
		n, ok := src.(int64)
		if !ok {
			var err error
			if n, err = digits(src); err != nil {
				return err
			}
		}
		if n < 0 || n > high {
			return fmt.Errorf("does not fit into an unsigned integer of %d bits", bits)
		}
		*dst = change.IntValue(n)
		return nil
	}
}

// Uint64 decodes an unsigned integer of 64 bits into KindUint.
func Uint64(dst *change.Value, src any, _ *change.Arena) error {
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return errors.New("is negative")
		}
		*dst = change.UintValue(uint64(v))
		return nil
	case uint64:
		*dst = change.UintValue(v)
		return nil
	case []byte:
		n, err := strconv.ParseUint(unsafe.String(unsafe.SliceData(v), len(v)), 10, 64)
		if err != nil {
			return reason(err)
		}
		*dst = change.UintValue(n)
		return nil
	}
	return Unexpected(src)
}

// digits reads an integer that came as text.
func digits(src any) (int64, error) {
	text, ok := src.([]byte)
	if !ok {
		return 0, Unexpected(src)
	}
	n, err := strconv.ParseInt(unsafe.String(unsafe.SliceData(text), len(text)), 10, 64)
	if err != nil {
		return 0, reason(err)
	}
	return n, nil
}

// reason drops the text from a number error, which Poison shows anyway and which does not outlive the row.
func reason(err error) error {
	var number *strconv.NumError
	if errors.As(err, &number) {
		return number.Err
	}
	return err
}

// Bool decodes bool, or the integers 0 and 1.
func Bool(dst *change.Value, src any, _ *change.Arena) error {
	switch v := src.(type) {
	case bool:
		*dst = change.BoolValue(v)
		return nil
	case int64:
		if v != 0 && v != 1 {
			return errors.New("is neither 0 nor 1")
		}
		*dst = change.BoolValue(v == 1)
		return nil
	}
	return Unexpected(src)
}

// Float64 decodes a double-precision number; an integer passes if a double holds it exactly.
func Float64(dst *change.Value, src any, _ *change.Arena) error {
	switch v := src.(type) {
	case float64:
		*dst = change.Float64Value(v)
		return nil
	case float32:
		*dst = change.Float64Value(float64(v))
		return nil
	case int64:
		exact := float64(v)
		if exact >= math.MaxInt64 || int64(exact) != v {
			return errors.New("has more digits than a double-precision number")
		}
		*dst = change.Float64Value(exact)
		return nil
	}
	return Unexpected(src)
}

// Float32 decodes a single-precision number, also one that the driver has widened.
func Float32(dst *change.Value, src any, _ *change.Arena) error {
	switch v := src.(type) {
	case float32:
		*dst = change.Float32Value(v)
		return nil
	case float64:
		single := float32(v)
		if float64(single) != v && v == v {
			return errors.New("has more digits than a single-precision number")
		}
		*dst = change.Float32Value(single)
		return nil
	}
	return Unexpected(src)
}

var errUTF8 = errors.New("is not UTF-8 text")

// Text decodes UTF-8 text.
func Text(dst *change.Value, src any, arena *change.Arena) error {
	switch v := src.(type) {
	case string:
		if !utf8.ValidString(v) {
			return errUTF8
		}
		*dst = change.TextValue(arena.CopyString(v))
		return nil
	case []byte:
		if !utf8.Valid(v) {
			return errUTF8
		}
		*dst = change.TextValue(arena.Copy(v))
		return nil
	}
	return Unexpected(src)
}

// Bytes decodes raw bytes.
func Bytes(dst *change.Value, src any, arena *change.Arena) error {
	v, ok := src.([]byte)
	if !ok {
		return Unexpected(src)
	}
	*dst = change.BytesValue(arena.Copy(v))
	return nil
}

// Decimal decodes decimal text. Where the type has a precision, the result has exactly its scale and a number that needs more digits
// is refused.
func Decimal(t change.Type) Decode {
	return func(dst *change.Value, src any, arena *change.Arena) error {
		text, err := Chars(src)
		if err != nil {
			return err
		}
		return DecimalText(dst, text, t, arena)
	}
}

// DecimalText is Decimal for text that is at hand.
func DecimalText(dst *change.Value, text []byte, t change.Type, arena *change.Arena) error {
	var buf [80]byte
	var err error
	exact := buf[:0]
	if t.Precision > 0 {
		exact, err = change.AppendDecimal(exact, text, t.Precision, t.Scale)
	} else {
		exact, err = change.AppendDecimalAsIs(exact, text)
	}
	if err != nil {
		return err
	}
	*dst = change.DecimalValue(arena.Copy(exact))
	return nil
}

// Parsed decodes text by a parser whose result does not keep the text, such as change.ParseDate.
func Parsed(parse func(text []byte) (change.Value, error)) Decode {
	return func(dst *change.Value, src any, _ *change.Arena) error {
		text, err := Chars(src)
		if err != nil {
			return err
		}
		v, err := parse(text)
		if err != nil {
			return err
		}
		*dst = v
		return nil
	}
}

// Chars gives the characters of a string or []byte, to be read and not kept.
func Chars(src any) ([]byte, error) {
	switch v := src.(type) {
	case string:
		return unsafe.Slice(unsafe.StringData(v), len(v)), nil
	case []byte:
		return v, nil
	}
	return nil, Unexpected(src)
}

var errUUID = errors.New("is not a UUID of the form 00112233-4455-6677-8899-aabbccddeeff")

// uuidDigits are hex digits in lower case by either, 0 for all else.
var uuidDigits = func() (digits [256]byte) {
	for i := range "0123456789" {
		digits['0'+i] = byte('0' + i)
	}
	for i := range "abcdef" {
		digits['a'+i], digits['A'+i] = byte('a'+i), byte('a'+i)
	}
	return digits
}()

// UUID decodes the 36-character text of a UUID, in either case, into canonical lower case.
func UUID(dst *change.Value, src any, arena *change.Arena) error {
	text, err := Chars(src)
	if err != nil {
		return err
	}
	if len(text) != 36 {
		return errUUID
	}
	out := arena.Copy(text)
	for i, c := range out {
		if lower := uuidDigits[c]; lower != 0 {
			out[i] = lower
		} else if c != '-' || i != 8 && i != 13 && i != 18 && i != 23 {
			return errUUID
		}
	}
	if out[8] != '-' || out[13] != '-' || out[18] != '-' || out[23] != '-' {
		return errUUID
	}
	*dst = change.TextValue(out)
	return nil
}
