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
	case envelope.FormTimeNanos:
		return readTimeNanos
	case envelope.FormDurationMicros:
		return readDurationMicros
	case envelope.FormScalePart:
		return readScale
	case envelope.FormTimestampMillis:
		return readTimestampMillis
	case envelope.FormTimestampMicros:
		return readTimestampMicros
	case envelope.FormTimestampNanos:
		return readTimestampNanos
	case envelope.FormDatePart:
		return readDatePart
	case envelope.FormTimePart:
		return readTimePart
	case envelope.FormOffsetPart:
		return readOffsetPart
	}
	return spanInteger(kind)
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

func readTimeMillis(v *change.Value) (int64, error) { return timeOfDay(v, &millis) }
func readTimeMicros(v *change.Value) (int64, error) { return timeOfDay(v, &micros) }
func readTimeNanos(v *change.Value) (int64, error)  { return timeOfDay(v, &nanos) }

// readDurationMicros counts towards zero: seconds and fraction have one sign.
func readDurationMicros(v *change.Value) (int64, error) {
	if v.Kind != change.KindTime {
		return 0, Mismatch(v, "a time is")
	}
	if v.Num >= 0 && v.Nanos >= 0 {
		return micros.count(v)
	}
	if v.Num > 0 || v.Nanos > 0 {
		return 0, fmt.Errorf("a time of %d s and %d ns has two signs", v.Num, v.Nanos)
	}
	n, err := micros.count(&change.Value{Num: -v.Num, Nanos: -v.Nanos})
	return -n, err
}

// readScale counts the digits after the point, as written.
func readScale(v *change.Value) (int64, error) {
	switch v.Kind {
	case change.KindInt, change.KindUint:
		return 0, nil
	case change.KindDecimal:
		return int64(scaleOf(v.Raw)), nil
	}
	return 0, Mismatch(v, "a decimal is")
}

func timeOfDay(v *change.Value, u *unit) (int64, error) {
	if v.Kind != change.KindTime {
		return 0, Mismatch(v, "a time is")
	}
	if v.Num < 0 || v.Nanos < 0 || v.Num >= secondsOfDay {
		return 0, fmt.Errorf("%d s is not within the day", v.Num)
	}
	return u.count(v)
}

func readTimestampMillis(v *change.Value) (int64, error) { return timestamp(v, &millis) }
func readTimestampMicros(v *change.Value) (int64, error) { return timestamp(v, &micros) }
func readTimestampNanos(v *change.Value) (int64, error)  { return timestamp(v, &nanos) }

func timestamp(v *change.Value, u *unit) (int64, error) {
	if !moment(v) {
		return 0, Mismatch(v, "a date with time is")
	}
	return u.count(v)
}

const secondsOfDay = 24 * 60 * 60

func readDatePart(v *change.Value) (int64, error) {
	if v.Kind != change.KindDateTime {
		return 0, Mismatch(v, "a wall clock is")
	}
	days := v.Num / secondsOfDay
	if v.Num%secondsOfDay < 0 {
		days--
	}
	return days, within32(days)
}

func readTimePart(v *change.Value) (int64, error) {
	if v.Kind == change.KindText {
		return readZonedTime(v)
	}
	if v.Kind != change.KindDateTime {
		return 0, Mismatch(v, "a wall clock is")
	}
	clock := change.TimeValue((v.Num%secondsOfDay+secondsOfDay)%secondsOfDay, v.Nanos)
	return micros.count(&clock)
}

func readOffsetPart(v *change.Value) (int64, error) {
	if v.Kind == change.KindText {
		clock, err := change.ParseZonedClock(v.Raw)
		return clock.Offset * 1000, err
	}
	if v.Kind != change.KindInstant {
		return 0, Mismatch(v, "an instant is")
	}
	return int64(v.Offset) * 60_000, nil
}

// unit is what a form counts time in. The quotients are ready: dividing is what would take the time.
type unit struct {
	nanos       uint32 // in one unit
	perSecond   int64
	first, last int64 // seconds that can be counted
}

var (
	millis = unit{nanos: 1e6, perSecond: 1e3, first: math.MinInt64 / 1_000, last: math.MaxInt64 / 1_000}
	micros = unit{nanos: 1e3, perSecond: 1e6, first: math.MinInt64 / 1_000_000, last: math.MaxInt64 / 1_000_000}
	nanos  = unit{nanos: 1, perSecond: 1e9, first: math.MinInt64 / 1_000_000_000, last: math.MaxInt64 / 1_000_000_000}
)

// count gives a value's seconds and nanoseconds in units.
func (u *unit) count(v *change.Value) (int64, error) {
	whole := uint32(v.Nanos) / u.nanos
	if whole*u.nanos != uint32(v.Nanos) {
		return 0, fmt.Errorf("the fraction .%09d is finer than the form, which counts %v", v.Nanos, time.Duration(u.nanos))
	}
	seconds, fraction := v.Num, int64(whole)
	if seconds < 0 { // nearer to zero, so that the smallest number can be reached
		seconds, fraction = seconds+1, fraction-u.perSecond
	}
	if seconds > u.last || seconds < u.first {
		return 0, errRange
	}
	n := seconds*u.perSecond + fraction
	if (fraction < 0) != (n < seconds*u.perSecond) {
		return 0, errRange
	}
	return n, nil
}

var errRange = errors.New("the moment is too far from 1970 for this form")
