package program

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// isoText gives the Writer of an ISO 8601 form with a zone.
func isoText(kind envelope.FormKind) Writer {
	switch kind {
	case envelope.FormISODate:
		return writeISODate
	case envelope.FormISOTime:
		return writeISOTime
	}
	return writeISOInstant
}

func writeISODate(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	dst, err := writeDate(dst, s, v)
	if err != nil {
		return dst, err
	}
	return append(dst, 'Z'), nil
}

func writeISOTime(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	if _, err := readTimeNanos(v); err != nil { // a duration is no time of day
		return dst, err
	}
	dst, err := change.AppendTime(dst, *v, change.FractionDigits(v.Nanos))
	if err != nil {
		return dst, err
	}
	return append(dst, 'Z'), nil
}

// writeISOInstant takes a wall clock as UTC.
func writeISOInstant(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if !moment(v) {
		return dst, Mismatch(v, "a date with time is")
	}
	digits := s.Form.Scale
	if digits == 0 {
		digits = change.FractionDigits(v.Nanos)
	}
	return change.AppendISOInstant(dst, *v, digits)
}
