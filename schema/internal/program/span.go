package program

import (
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// spanInteger gives the Integer of the forms of bits, midnights and the parts of intervals; nil for another one.
func spanInteger(kind envelope.FormKind) Integer {
	switch kind {
	case envelope.FormBits:
		return readBits
	case envelope.FormMidnightMicros:
		return readMidnight
	case envelope.FormMonthsPart:
		return readMonths
	case envelope.FormHoursPart:
		return readHours
	case envelope.FormMicrosPart:
		return readClockMicros
	}
	return nil
}

var errBits = errors.New("the bits do not fit into 64 bits with a sign")

func readBits(v *change.Value) (n int64, err error) {
	switch v.Kind {
	case change.KindBool:
		return v.Num, nil
	case change.KindBytes:
		for _, c := range v.Raw {
			if n >= 1<<(63-8) {
				return 0, errBits
			}
			n = n<<8 | int64(c)
		}
		return n, nil
	}
	return 0, Mismatch(v, "a number of bits is")
}

func readMidnight(v *change.Value) (int64, error) {
	day, err := readDate(v)
	return day * secondsOfDay * 1e6, err
}

func readZonedTime(v *change.Value) (int64, error) {
	clock, err := change.ParseZonedClock(v.Raw)
	if err != nil {
		return 0, err
	}
	time := change.TimeValue(clock.Seconds, clock.Nanos)
	return timeOfDay(&time, &micros)
}

// parsed reads an interval for one of its parts.
func parsed(v *change.Value) (change.Interval, error) {
	if v.Kind != change.KindText {
		return change.Interval{}, Mismatch(v, "the text of an interval is")
	}
	return change.ParseInterval(v.Raw)
}

func readMonths(v *change.Value) (int64, error) {
	interval, err := parsed(v)
	if err != nil {
		return 0, err
	}
	return interval.Months, within32(interval.Months)
}

func readHours(v *change.Value) (int64, error) {
	interval, err := parsed(v)
	if err != nil {
		return 0, err
	}
	return 24 * interval.Days, within32(24 * interval.Days)
}

func readClockMicros(v *change.Value) (int64, error) {
	interval, err := parsed(v)
	if err != nil {
		return 0, err
	}
	return interval.Micros()
}

// spanText gives the Writer of the ISO 8601 forms that are no instants.
func spanText(kind envelope.FormKind) Writer {
	switch kind {
	case envelope.FormISODateTime:
		return writeISODateTime
	case envelope.FormISOMidnight:
		return writeISOMidnight
	case envelope.FormISOZonedClock:
		return writeZonedClock
	}
	return writeISOInterval
}

func writeISODateTime(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindDateTime {
		return dst, Mismatch(v, "a wall clock is")
	}
	return change.AppendDateTime(dst, v.Num, v.Nanos, 'T', s.Form.Scale)
}

func writeISOMidnight(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	dst, err := writeDate(dst, s, v)
	if err != nil {
		return dst, err
	}
	return append(dst, "T00:00:00Z"...), nil
}

func writeZonedClock(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindText {
		return dst, Mismatch(v, "the text of a time with its zone is")
	}
	clock, err := change.ParseZonedClock(v.Raw)
	if err != nil {
		return dst, fmt.Errorf("%.64q is %w", v.Raw, err)
	}
	return change.AppendZonedClock(dst, clock)
}

func writeISOInterval(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	interval, err := parsed(v)
	if err != nil {
		return dst, fmt.Errorf("%.64q is %w", v.Raw, err)
	}
	return change.AppendISOInterval(dst, interval), nil
}
