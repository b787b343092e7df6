package sqlite

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source/sqldb"
)

// decoder gives the decoder of a column; nil for an unsupported one.
func decoder(c change.Column) sqldb.Decode {
	switch c.Type.Kind {
	case change.Unsupported:
		return nil
	case change.Bytes, change.Blob:
		return sqldb.Bytes
	case change.UUID:
		return uuid
	}
	decode := scalar(c)
	return func(dst *change.Value, src any, arena *change.Arena) error {
		if _, blob := src.([]byte); blob {
			return errBlob
		}
		return decode(dst, src, arena)
	}
}

// errBlob is the error of a blob in a column of another type: its bytes are not guessed at.
var errBlob = errors.New("is stored as a blob")

// scalar gives the decoder of a column that holds no blobs.
func scalar(c change.Column) sqldb.Decode {
	switch c.Type.Kind {
	case change.Bool:
		return sqldb.Bool
	case change.Int1, change.Int2, change.Int4, change.Int8:
		return sqldb.Int(8 << (c.Type.Kind - change.Int1))
	case change.Uint1, change.Uint2, change.Uint4:
		return sqldb.Uint(8 << (c.Type.Kind - change.Uint1))
	case change.Uint8:
		return sqldb.Uint64
	case change.Real8:
		return sqldb.Float64
	case change.Numeric:
		return numeric(c.Type)
	case change.Date:
		return moment(change.ParseDate, c.Type)
	case change.Time:
		return moment(parseClock, c.Type)
	case change.DateTime:
		return moment(change.ParseDateTime, c.Type)
	case change.DateTimeTZ:
		return moment(change.ParseInstant, c.Type)
	case change.JSON:
		return document
	}
	return sqldb.Text
}

// numeric takes text, integers, and doubles by their shortest decimal text (see the package comment).
func numeric(t change.Type) sqldb.Decode {
	return func(dst *change.Value, src any, arena *change.Arena) error {
		var buf [64]byte
		text := buf[:0]
		switch v := src.(type) {
		case int64:
			text = strconv.AppendInt(text, v, 10)
		case float64:
			if v-v != 0 {
				return errors.New("is not a finite number")
			}
			text = strconv.AppendFloat(text, v, 'f', -1, 64)
		default:
			chars, err := sqldb.Chars(src)
			if err != nil {
				return err
			}
			text = chars
		}
		return sqldb.DecimalText(dst, text, t, arena)
	}
}

// errStored is the error of a moment that is stored as a number: seconds, milliseconds and Julian days look alike.
var errStored = fault.New(fault.Poison, "", errors.New("is stored as a number"), "store ISO text, e.g. 2006-01-02 15:04:05")

// moment takes ISO text whose fraction of a second fits the column's digits.
func moment(parse func([]byte) (change.Value, error), t change.Type) sqldb.Decode {
	unit := int32(math.Pow10(9 - t.Scale))
	return func(dst *change.Value, src any, _ *change.Arena) error {
		if _, text := src.(string); !text {
			return errStored
		}
		chars, err := sqldb.Chars(src)
		if err != nil {
			return err
		}
		v, err := parse(chars)
		if err != nil {
			return err
		}
		if v.Nanos%unit != 0 {
			return fmt.Errorf("has more than %d digits after the second", t.Scale)
		}
		*dst = v
		return nil
	}
}

// parseClock reads a time of day: SQLite has no durations.
func parseClock(text []byte) (change.Value, error) {
	v, err := change.ParseTime(text)
	if err == nil && (v.Num < 0 || v.Nanos < 0 || v.Num >= 24*60*60) {
		err = errors.New("is not a time of day")
	}
	return v, err
}

// document takes a document's text. A document that is a bare number has been turned into a number by the column's affinity; its text is
// then the number's shortest.
func document(dst *change.Value, src any, arena *change.Arena) error {
	var buf [32]byte
	switch v := src.(type) {
	case int64:
		*dst = change.TextValue(arena.Copy(strconv.AppendInt(buf[:0], v, 10)))
		return nil
	case float64:
		if v-v != 0 {
			return errors.New("is not a finite number")
		}
		*dst = change.TextValue(arena.Copy(change.AppendFloat(buf[:0], v, 64)))
		return nil
	}
	return sqldb.Text(dst, src, arena)
}

// uuid takes the usual text, or 16 bytes in the order of that text.
func uuid(dst *change.Value, src any, arena *change.Arena) error {
	b, ok := src.([]byte)
	if !ok {
		return sqldb.UUID(dst, src, arena)
	}
	if len(b) != 16 {
		return errors.New("is not 16 bytes long")
	}
	out := arena.Make(36)[:0]
	for i, group := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			out = append(out, '-')
		}
		out = change.AppendHex(out, group, change.LowerHex)
	}
	*dst = change.TextValue(out)
	return nil
}
