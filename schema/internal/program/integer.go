package program

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Integer reads the whole number that a form writes for a value.
type Integer func(v *change.Value) (int64, error)

// IntegerOf gives the Integer of a form; nil for a form that is no whole number. Time before 1970 counts by floor.
func IntegerOf(kind envelope.FormKind) Integer {
	switch kind {
	case envelope.FormInt:
		return readInt
	case envelope.FormLong:
		return readLong
	case envelope.FormDate:
		return readDate
	case envelope.FormTimeMillis:
		return readTimeMillis
	case envelope.FormTimeMicros:
		return readTimeMicros
	case envelope.FormTimestampMillis:
		return readTimestampMillis
	case envelope.FormTimestampMicros:
		return readTimestampMicros
	case envelope.FormTimestampNanos:
		return readTimestampNanos
	}
	return nil
}

func readLong(v *change.Value) (int64, error) {
	switch {
	case v.Kind == change.KindInt || v.Kind == change.KindUint && v.Num >= 0:
		return v.Num, nil
	case v.Kind == change.KindUint:
		return 0, fmt.Errorf("%d does not fit into 64 bits with a sign", v.Uint())
	}
	return 0, Mismatch(v, "an integer is")
}

func readInt(v *change.Value) (int64, error) {
	n, err := readLong(v)
	if err != nil {
		return 0, err
	}
	return n, within32(n)
}

func within32(n int64) error {
	if n != int64(int32(n)) {
		return fmt.Errorf("%d does not fit into 32 bits with a sign", n)
	}
	return nil
}

func readDate(v *change.Value) (int64, error) {
	if v.Kind != change.KindDate {
		return 0, Mismatch(v, "a date is")
	}
	return v.Num, within32(v.Num)
}

func readTimeMillis(v *change.Value) (int64, error) { return timeOfDay(v, int64(time.Millisecond)) }
func readTimeMicros(v *change.Value) (int64, error) { return timeOfDay(v, int64(time.Microsecond)) }

func timeOfDay(v *change.Value, unit int64) (int64, error) {
	if v.Kind != change.KindTime {
		return 0, Mismatch(v, "a time is")
	}
	if v.Num < 0 || v.Nanos < 0 || v.Num >= 24*60*60 {
		return 0, fmt.Errorf("%d s is not within the day", v.Num)
	}
	return scaled(v, unit)
}

func readTimestampMillis(v *change.Value) (int64, error) {
	return timestamp(v, int64(time.Millisecond))
}
func readTimestampMicros(v *change.Value) (int64, error) {
	return timestamp(v, int64(time.Microsecond))
}
func readTimestampNanos(v *change.Value) (int64, error) { return timestamp(v, 1) }

func timestamp(v *change.Value, unit int64) (int64, error) {
	if !moment(v) {
		return 0, Mismatch(v, "a date with time is")
	}
	return scaled(v, unit)
}

// scaled counts a value's seconds and nanoseconds in units of so many nanoseconds.
func scaled(v *change.Value, unit int64) (int64, error) {
	fraction := int64(v.Nanos) / unit
	if fraction*unit != int64(v.Nanos) {
		return 0, fmt.Errorf("the fraction .%09d is finer than the form, which counts %v", v.Nanos, time.Duration(unit))
	}
	seconds, perSecond := v.Num, int64(time.Second)/unit
	if seconds < 0 { // nearer to zero, so that the smallest number can be reached
		seconds, fraction = seconds+1, fraction-perSecond
	}
	if seconds > math.MaxInt64/perSecond || seconds < math.MinInt64/perSecond {
		return 0, errRange
	}
	n := seconds*perSecond + fraction
	if (fraction < 0) != (n < seconds*perSecond) {
		return 0, errRange
	}
	return n, nil
}

var errRange = errors.New("the moment is too far from 1970 for this form")
