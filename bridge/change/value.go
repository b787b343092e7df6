package change

import "math"

// ValueKind says how a Value holds its content.
type ValueKind uint8

// The forms a decoded value can take. Every engine decodes into these, every encoder starts from them.
const (
	KindNull      ValueKind = iota // SQL NULL
	KindAbsent                     // not captured: neither NULL nor a value (columnMask bit clear)
	KindBool                       // Num 0 or 1
	KindInt                        // Num
	KindUint                       // Num holds the bits of a uint64
	KindFloat32                    // Num holds the bits of a float32
	KindFloat64                    // Num holds the bits of a float64
	KindDecimal                    // Raw is decimal text: -?digits[.digits], no exponent, no plus sign, the source's own scale kept
	KindText                       // Raw is UTF-8 text
	KindBytes                      // Raw
	KindDate                       // Num is days since 1970-01-01 (proleptic Gregorian)
	KindTime                       // Num is seconds (negative for a negative duration), Nanos has the same sign or is 0
	KindDateTime                   // wall clock: Num is seconds since 1970-01-01 00:00:00 of the same clock, Nanos 0..999999999
	KindInstant                    // UTC instant: Num is Unix seconds, Nanos 0..999999999, Offset as stored by the source
	KindUndecoded                  // Raw is what the server sent, which the column's type cannot hold: only a bad event has such a value
)

// Value is one column value without boxing. Raw points into the arena of the page that the row came from: it lives as long
// as that page. The zero Value is NULL.
type Value struct {
	Kind   ValueKind
	Offset int16 // minutes east of UTC, KindInstant only
	Nanos  int32
	Num    int64
	Raw    []byte
}

// Null and Absent are the two values without content.
var (
	Null   = Value{Kind: KindNull}
	Absent = Value{Kind: KindAbsent}
)

// BoolValue holds a truth value.
func BoolValue(b bool) Value {
	if b {
		return Value{Kind: KindBool, Num: 1}
	}
	return Value{Kind: KindBool}
}

// IntValue holds a signed integer.
func IntValue(n int64) Value { return Value{Kind: KindInt, Num: n} }

// UintValue holds an unsigned 64-bit integer.
func UintValue(n uint64) Value { return Value{Kind: KindUint, Num: int64(n)} }

// Float32Value holds a single-precision number.
func Float32Value(f float32) Value {
	return Value{Kind: KindFloat32, Num: int64(math.Float32bits(f))}
}

// Float64Value holds a double-precision number.
func Float64Value(f float64) Value {
	return Value{Kind: KindFloat64, Num: int64(math.Float64bits(f))}
}

// TextValue holds UTF-8 text; b is kept, not copied.
func TextValue(b []byte) Value { return Value{Kind: KindText, Raw: b} }

// BytesValue holds raw bytes; b is kept, not copied.
func BytesValue(b []byte) Value { return Value{Kind: KindBytes, Raw: b} }

// UndecodedValue holds what could not be decoded, as text or as it came; b is kept, not copied.
func UndecodedValue(b []byte) Value { return Value{Kind: KindUndecoded, Raw: b} }

// DecimalValue holds decimal text (see KindDecimal); b is kept, not copied.
func DecimalValue(b []byte) Value { return Value{Kind: KindDecimal, Raw: b} }

// DateValue holds days since 1970-01-01.
func DateValue(days int64) Value { return Value{Kind: KindDate, Num: days} }

// TimeValue holds a time of day or a signed duration; nanos has the sign of seconds.
func TimeValue(seconds int64, nanos int32) Value {
	return Value{Kind: KindTime, Num: seconds, Nanos: nanos}
}

// DateTimeValue holds a wall-clock moment.
func DateTimeValue(seconds int64, nanos int32) Value {
	return Value{Kind: KindDateTime, Num: seconds, Nanos: nanos}
}

// InstantValue holds a UTC instant and the offset that the source stored with it, in minutes east of UTC.
func InstantValue(seconds int64, nanos int32, offset int16) Value {
	return Value{Kind: KindInstant, Num: seconds, Nanos: nanos, Offset: offset}
}

// Uint gives the content of KindUint.
func (v Value) Uint() uint64 { return uint64(v.Num) }

// Float32 gives the content of KindFloat32.
func (v Value) Float32() float32 { return math.Float32frombits(uint32(v.Num)) }

// Float64 gives the content of KindFloat64.
func (v Value) Float64() float64 { return math.Float64frombits(uint64(v.Num)) }

// Bool gives the content of KindBool.
func (v Value) Bool() bool { return v.Num != 0 }

// HasContent reports whether the value is neither NULL nor absent.
func (v Value) HasContent() bool { return v.Kind > KindAbsent }

// Equal compares two values by kind and content.
func (v Value) Equal(w Value) bool {
	return v.Kind == w.Kind && v.Num == w.Num && v.Nanos == w.Nanos && v.Offset == w.Offset && string(v.Raw) == string(w.Raw)
}
