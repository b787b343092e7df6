package postgres

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strconv"

	"ctbridge/bridge/change"
)

// The text forms are those of PostgreSQL's type output functions with DateStyle ISO.

func textAsIs(dst *change.Value, raw []byte, arena *change.Arena) error {
	*dst = change.TextValue(arena.Copy(raw))
	return nil
}

func boolText(dst *change.Value, raw []byte, _ *change.Arena) error {
	if len(raw) != 1 {
		return wrongLength(raw)
	}
	*dst = change.BoolValue(raw[0] == 't')
	return nil
}

func intText(dst *change.Value, raw []byte, _ *change.Arena) error {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	*dst = change.IntValue(n)
	return err
}

func float4Text(dst *change.Value, raw []byte, _ *change.Arena) error {
	f, err := strconv.ParseFloat(string(raw), 32)
	*dst = change.Float32Value(float32(f))
	return err
}

func float8Text(dst *change.Value, raw []byte, _ *change.Arena) error {
	f, err := strconv.ParseFloat(string(raw), 64)
	*dst = change.Float64Value(f)
	return err
}

// bytesText reads both forms of bytea_output: \x and hex digits, or the escape form.
func bytesText(dst *change.Value, raw []byte, arena *change.Arena) error {
	if digits, ok := bytes.CutPrefix(raw, []byte(`\x`)); ok {
		kept := arena.Make(len(digits) / 2)
		_, err := hex.Decode(kept, digits)
		*dst = change.BytesValue(kept)
		return err
	}
	kept, err := unescape(arena.Make(len(raw))[:0], raw)
	*dst = change.BytesValue(kept)
	return err
}

// unescape reads the escape form: \\ is a backslash, \ooo an octal byte.
func unescape(dst, raw []byte) ([]byte, error) {
	for i := 0; i < len(raw); i++ {
		switch rest := raw[i:]; {
		case raw[i] != '\\':
			dst = append(dst, raw[i])
		case len(rest) >= 2 && rest[1] == '\\':
			dst = append(dst, '\\')
			i++
		case len(rest) >= 4 && octal(rest[1]) && octal(rest[2]) && octal(rest[3]):
			dst = append(dst, (rest[1]-'0')<<6|(rest[2]-'0')<<3|(rest[3]-'0'))
			i += 3
		default:
			return dst, errors.New("bytea in an unknown output form")
		}
	}
	return dst, nil
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

func dateText(dst *change.Value, raw []byte, _ *change.Arena) error {
	return calendar(dst, raw, change.ParseDate)
}

func timestampText(dst *change.Value, raw []byte, _ *change.Arena) error {
	return calendar(dst, raw, change.ParseDateTime)
}

func timestamptzText(dst *change.Value, raw []byte, _ *change.Arena) error {
	return calendar(dst, raw, change.ParseInstant)
}

func timeText(dst *change.Value, raw []byte, _ *change.Arena) (err error) {
	*dst, err = change.ParseTime(raw)
	return err
}

// calendar parses a date or moment of the years 1 to 9999 and names the reason where it is none.
func calendar(dst *change.Value, raw []byte, parse func([]byte) (change.Value, error)) error {
	v, err := parse(raw)
	switch {
	case err == nil:
		*dst = v
		return nil
	case bytes.HasSuffix(raw, []byte("infinity")):
		return unfit{string(raw), "it is no date", hintInfinite}
	case bytes.HasSuffix(raw, []byte(" BC")) || bytes.IndexByte(raw, '-') > 4:
		return unfit{string(raw), "the year is not in 1..9999", hintYear}
	}
	return err
}
