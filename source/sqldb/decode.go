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
	return func(src any, _ *change.Arena) (change.Value, error) {
		n, err := integer(src)
		if err == nil && (n < low || n > high) {
			err = fmt.Errorf("does not fit into a signed integer of %d bits", bits)
		}
		return change.IntValue(n), err
	}
}

// Uint decodes an unsigned integer of up to 32 bits into KindInt.
func Uint(bits int) Decode {
	high := int64(1)<<bits - 1
	return func(src any, _ *change.Arena) (change.Value, error) {
		n, err := integer(src)
		if err == nil && (n < 0 || n > high) {
			err = fmt.Errorf("does not fit into an unsigned integer of %d bits", bits)
		}
		return change.IntValue(n), err
	}
}

// Uint64 decodes an unsigned integer of 64 bits into KindUint.
func Uint64(src any, _ *change.Arena) (change.Value, error) {
	switch v := src.(type) {
	case int64:
		if v < 0 {
			return change.Null, errors.New("is negative")
		}
		return change.UintValue(uint64(v)), nil
	case uint64:
		return change.UintValue(v), nil
	case []byte:
		n, err := strconv.ParseUint(unsafe.String(unsafe.SliceData(v), len(v)), 10, 64)
		return change.UintValue(n), reason(err)
	}
	return change.Null, Unexpected(src)
}

func integer(src any) (int64, error) {
	switch v := src.(type) {
	case int64:
		return v, nil
	case []byte:
		n, err := strconv.ParseInt(unsafe.String(unsafe.SliceData(v), len(v)), 10, 64)
		return n, reason(err)
	}
	return 0, Unexpected(src)
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
func Bool(src any, _ *change.Arena) (change.Value, error) {
	switch v := src.(type) {
	case bool:
		return change.BoolValue(v), nil
	case int64:
		if v == 0 || v == 1 {
			return change.BoolValue(v == 1), nil
		}
		return change.Null, errors.New("is neither 0 nor 1")
	}
	return change.Null, Unexpected(src)
}

// Float64 decodes a double-precision number; an integer passes if a double holds it exactly.
func Float64(src any, _ *change.Arena) (change.Value, error) {
	switch v := src.(type) {
	case float64:
		return change.Float64Value(v), nil
	case float32:
		return change.Float64Value(float64(v)), nil
	case int64:
		if exact := float64(v); exact < math.MaxInt64 && int64(exact) == v {
			return change.Float64Value(exact), nil
		}
		return change.Null, errors.New("has more digits than a double-precision number")
	}
	return change.Null, Unexpected(src)
}

// Float32 decodes a single-precision number, also one that the driver has widened.
func Float32(src any, _ *change.Arena) (change.Value, error) {
	switch v := src.(type) {
	case float32:
		return change.Float32Value(v), nil
	case float64:
		if single := float32(v); float64(single) == v || v != v {
			return change.Float32Value(single), nil
		}
		return change.Null, errors.New("has more digits than a single-precision number")
	}
	return change.Null, Unexpected(src)
}

var errUTF8 = errors.New("is not UTF-8 text")

// Text decodes UTF-8 text.
func Text(src any, arena *change.Arena) (change.Value, error) {
	switch v := src.(type) {
	case string:
		if !utf8.ValidString(v) {
			return change.Null, errUTF8
		}
		return change.TextValue(arena.CopyString(v)), nil
	case []byte:
		if !utf8.Valid(v) {
			return change.Null, errUTF8
		}
		return change.TextValue(arena.Copy(v)), nil
	}
	return change.Null, Unexpected(src)
}

// Bytes decodes raw bytes.
func Bytes(src any, arena *change.Arena) (change.Value, error) {
	if v, ok := src.([]byte); ok {
		return change.BytesValue(arena.Copy(v)), nil
	}
	return change.Null, Unexpected(src)
}

// Decimal decodes decimal text. Where the type has a precision, the result has exactly its scale and a number that needs more digits
// is refused.
func Decimal(t change.Type) Decode {
	return func(src any, arena *change.Arena) (change.Value, error) {
		text, err := Chars(src)
		if err != nil {
			return change.Null, err
		}
		return decimal(text, t, arena)
	}
}

func decimal(text []byte, t change.Type, arena *change.Arena) (change.Value, error) {
	var buf [80]byte
	var err error
	digits := buf[:0]
	if t.Precision > 0 {
		digits, err = change.AppendDecimal(digits, text, t.Precision, t.Scale)
	} else {
		digits, err = change.AppendDecimalAsIs(digits, text)
	}
	if err != nil {
		return change.Null, err
	}
	return change.DecimalValue(arena.Copy(digits)), nil
}

// Parsed decodes text by a parser whose result does not keep the text, such as change.ParseDate.
func Parsed(parse func(text []byte) (change.Value, error)) Decode {
	return func(src any, _ *change.Arena) (change.Value, error) {
		text, err := Chars(src)
		if err != nil {
			return change.Null, err
		}
		return parse(text)
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

// UUID decodes the 36-character text of a UUID, in either case, into canonical lower case.
func UUID(src any, arena *change.Arena) (change.Value, error) {
	text, err := Chars(src)
	if err != nil {
		return change.Null, err
	}
	if len(text) != 36 {
		return change.Null, errUUID
	}
	out := arena.Make(36)
	for i, c := range text {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		switch {
		case hyphen && c == '-', !hyphen && ('0' <= c && c <= '9' || 'a' <= c && c <= 'f'):
			out[i] = c
		case !hyphen && 'A' <= c && c <= 'F':
			out[i] = c + 'a' - 'A'
		default:
			return change.Null, errUUID
		}
	}
	return change.TextValue(out), nil
}
