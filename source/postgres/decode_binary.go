package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"ctbridge/bridge/change"
)

// The binary forms are those of PostgreSQL's type send functions: big-endian numbers, dates in days and times in microseconds counted from
// 2000-01-01 (src/include/datatype/timestamp.h).

const (
	microsOfSec  = 1_000_000
	secsOfDay    = 86400
	epochDays    = 10957 // 2000-01-01 in days since 1970-01-01
	epochSeconds = epochDays * secsOfDay

	// The calendar of change.Value: 0001-01-01 to 9999-12-31.
	firstDay    = -719162
	lastDay     = 2932896
	firstMoment = firstDay * secsOfDay
	lastMoment  = (lastDay+1)*secsOfDay - 1
)

const (
	hintInfinite = "store NULL or a far date instead of infinity"
	hintYear     = "store dates of the years 1 to 9999"
)

// noDate is the error of a date or moment outside of the calendar. infinity is 1, -1 or 0 for a year out of range, whose value is shown
// as PostgreSQL writes it.
func noDate(infinity int, seconds int64, layout string) error {
	switch infinity {
	case 1:
		return unfit{"infinity", "it is no date", hintInfinite}
	case -1:
		return unfit{"-infinity", "it is no date", hintInfinite}
	}
	t := time.Unix(seconds, 0).UTC()
	year, era := t.Year(), ""
	if year < 1 {
		year, era = 1-year, " BC"
	}
	return unfit{fmt.Sprintf("%04d%s%s", year, t.Format(layout), era), "the year is not in 1..9999", hintYear}
}

func sign(plus, minus bool) int {
	switch {
	case plus:
		return 1
	case minus:
		return -1
	}
	return 0
}

func wrongLength(raw []byte) error { return fmt.Errorf("unexpected wire length %d", len(raw)) }

func boolBinary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 1 {
		return wrongLength(raw)
	}
	*dst = change.BoolValue(raw[0] != 0)
	return nil
}

func int2Binary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 2 {
		return wrongLength(raw)
	}
	*dst = change.IntValue(int64(int16(binary.BigEndian.Uint16(raw))))
	return nil
}

func int4Binary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 4 {
		return wrongLength(raw)
	}
	*dst = change.IntValue(int64(int32(binary.BigEndian.Uint32(raw))))
	return nil
}

func oidBinary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 4 {
		return wrongLength(raw)
	}
	*dst = change.IntValue(int64(binary.BigEndian.Uint32(raw)))
	return nil
}

func int8Binary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 8 {
		return wrongLength(raw)
	}
	*dst = change.IntValue(int64(binary.BigEndian.Uint64(raw)))
	return nil
}

func float4Binary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 4 {
		return wrongLength(raw)
	}
	*dst = change.Float32Value(math.Float32frombits(binary.BigEndian.Uint32(raw)))
	return nil
}

func float8Binary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 8 {
		return wrongLength(raw)
	}
	*dst = change.Float64Value(math.Float64frombits(binary.BigEndian.Uint64(raw)))
	return nil
}

func bytesBinary(dst *change.Value, raw []byte, arena *change.Arena) error {
	*dst = change.BytesValue(arena.Copy(raw))
	return nil
}

// jsonbBinary skips the version byte.
func jsonbBinary(dst *change.Value, raw []byte, arena *change.Arena) error {
	if len(raw) < 1 || raw[0] != 1 {
		return errors.New("jsonb of an unknown version")
	}
	*dst = change.TextValue(arena.Copy(raw[1:]))
	return nil
}

func uuidBinary(dst *change.Value, raw []byte, arena *change.Arena) error {
	if len(raw) != 16 {
		return wrongLength(raw)
	}
	text := change.AppendHex(arena.Make(36)[:0], raw[:4], change.LowerHex)
	for _, group := range [4][2]int{{4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		text = change.AppendHex(append(text, '-'), raw[group[0]:group[1]], change.LowerHex)
	}
	*dst = change.TextValue(text)
	return nil
}

func dateBinary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 4 {
		return wrongLength(raw)
	}
	n := int32(binary.BigEndian.Uint32(raw))
	days := int64(n) + epochDays
	if days < firstDay || days > lastDay {
		return noDate(sign(n == math.MaxInt32, n == math.MinInt32), days*secsOfDay, "-01-02")
	}
	*dst = change.DateValue(days)
	return nil
}

// timeBinary reads a time of day; 24:00:00 is one in PostgreSQL.
func timeBinary(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 8 {
		return wrongLength(raw)
	}
	micros := int64(binary.BigEndian.Uint64(raw))
	*dst = change.TimeValue(micros/microsOfSec, int32(micros%microsOfSec)*1000)
	return nil
}

func timestampBinary(dst *change.Value, raw []byte, _ *change.Arena) error {
	seconds, nanos, err := moment(raw)
	*dst = change.DateTimeValue(seconds, nanos)
	return err
}

func timestamptzBinary(dst *change.Value, raw []byte, _ *change.Arena) error {
	seconds, nanos, err := moment(raw)
	*dst = change.InstantValue(seconds, nanos, 0)
	return err
}

// moment gives seconds since 1970-01-01, counted by floor.
func moment(raw []byte) (seconds int64, nanos int32, err error) {
	if len(raw) != 8 {
		return 0, 0, wrongLength(raw)
	}
	micros := int64(binary.BigEndian.Uint64(raw))
	infinite := sign(micros == math.MaxInt64, micros == math.MinInt64)
	seconds, micros = micros/microsOfSec, micros%microsOfSec
	if micros < 0 {
		seconds, micros = seconds-1, micros+microsOfSec
	}
	seconds += epochSeconds
	if seconds < firstMoment || seconds > lastMoment {
		return 0, 0, noDate(infinite, seconds, "-01-02 15:04:05")
	}
	return seconds, int32(micros) * 1000, nil
}
