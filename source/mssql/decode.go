package mssql

import (
	"fmt"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source/sqldb"
)

// decodeUUID reads the server's 16 bytes, the first three groups in little-endian order, into canonical text (case 54).
func decodeUUID(dst *change.Value, src any, arena *change.Arena) error {
	b, ok := src.([]byte)
	if !ok {
		return sqldb.Unexpected(src)
	}
	if len(b) != 16 {
		return fmt.Errorf("has %d bytes instead of 16", len(b))
	}
	order := [16]byte{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6]}
	copy(order[8:], b[8:])
	text := change.AppendHex(arena.Make(36)[:0], order[:4], change.LowerHex)
	for _, group := range [4][2]int{{4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		text = change.AppendHex(append(text, '-'), order[group[0]:group[1]], change.LowerHex)
	}
	*dst = change.TextValue(text)
	return nil
}

const secondsPerDay = 86400

// decodeDate counts days; the driver gives midnight in UTC.
func decodeDate(dst *change.Value, src any, _ *change.Arena) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Unexpected(src)
	}
	seconds := t.Unix()
	days := seconds / secondsPerDay
	if seconds%secondsPerDay < 0 {
		days--
	}
	*dst = change.DateValue(days)
	return nil
}

// decodeTime reads a time of day; the driver gives it on some day in UTC.
func decodeTime(dst *change.Value, src any, _ *change.Arena) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Unexpected(src)
	}
	hour, minute, second := t.Clock()
	*dst = change.TimeValue(int64(hour*3600+minute*60+second), int32(t.Nanosecond()))
	return nil
}

// decodeDateTime reads a wall clock, which the driver gives as if in UTC.
func decodeDateTime(dst *change.Value, src any, _ *change.Arena) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Unexpected(src)
	}
	*dst = change.DateTimeValue(t.Unix(), int32(t.Nanosecond()))
	return nil
}

// decodeInstant reads an instant and its offset.
func decodeInstant(dst *change.Value, src any, _ *change.Arena) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Unexpected(src)
	}
	_, offset := t.Zone()
	*dst = change.InstantValue(t.Unix(), int32(t.Nanosecond()), int16(offset/60))
	return nil
}
