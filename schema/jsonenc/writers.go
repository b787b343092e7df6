package jsonenc

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/program"
)

// writerOf gives the Writer of a form; nil where JSON does not have it.
func writerOf(kind envelope.FormKind) program.Writer {
	switch {
	case kind == envelope.FormText:
		return writeString
	case program.Text(kind) != nil:
		return writeQuoted
	case kind == envelope.FormInt || kind == envelope.FormLong:
		return writeWhole
	case program.IntegerOf(kind) != nil:
		return writeInteger
	}
	switch kind {
	case envelope.FormBoolean:
		return writeBoolean
	case envelope.FormFloat:
		return writeFloat
	case envelope.FormDouble:
		return writeDouble
	case envelope.FormNumber:
		return writeNumber
	case envelope.FormDecimalDouble:
		return writeNearest
	case envelope.FormScaledObject:
		return program.AppendScaledObject
	case envelope.FormEnum:
		return writeEnum
	case envelope.FormFixed:
		return writeFixed
	case envelope.FormMap:
		return writeMap
	case envelope.FormVerbatim:
		return writeVerbatim
	}
	return nil
}

// writeQuoted writes a text form that never needs an escape.
func writeQuoted(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	dst, err := s.Text(append(dst, '"'), s, v)
	if err != nil {
		return dst, err
	}
	return append(dst, '"'), nil
}

func writeString(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindText {
		return writeQuoted(dst, s, v)
	}
	return appendString(dst, v.Raw)
}

func writeInteger(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	n, err := s.Integer(v)
	if err != nil {
		return dst, err
	}
	return strconv.AppendInt(dst, n, 10), nil
}

// writeWhole is writeInteger for the numbers that most columns hold.
func writeWhole(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind == change.KindInt && v.Num == int64(int32(v.Num)) {
		return strconv.AppendInt(dst, v.Num, 10), nil
	}
	return writeInteger(dst, s, v)
}

func writeBoolean(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindBool {
		return dst, program.Mismatch(v, "a truth value is")
	}
	return strconv.AppendBool(dst, v.Bool()), nil
}

func writeFloat(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindFloat32 {
		return dst, program.Mismatch(v, "a 32-bit float is")
	}
	return appendFloat(dst, float64(v.Float32()), 32)
}

func writeDouble(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	switch v.Kind {
	case change.KindFloat64:
		return appendFloat(dst, v.Float64(), 64)
	case change.KindFloat32:
		return appendFloat(dst, float64(v.Float32()), 64)
	}
	return dst, program.Mismatch(v, "a float is")
}

func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if f-f != 0 { // NaN or an infinity
		return dst, fmt.Errorf("JSON has no number %v", f)
	}
	return change.AppendFloat(dst, f, bits), nil
}

func writeNumber(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	text, err := program.DecimalText(s, v)
	if err != nil {
		return dst, err
	}
	return change.AppendDecimalAsIs(dst, text)
}

func writeNearest(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	f, err := program.NearestDouble(s, v)
	if err != nil {
		return dst, err
	}
	return appendFloat(dst, f, 64)
}

func writeEnum(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindText {
		return dst, program.Mismatch(v, "text is")
	}
	for _, symbol := range s.Form.Symbols {
		if string(v.Raw) == symbol {
			return appendString(dst, v.Raw)
		}
	}
	return dst, fmt.Errorf("%.64q is not one of the symbols %q", v.Raw, s.Form.Symbols)
}

func writeFixed(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindText {
		return dst, program.Mismatch(v, "text is")
	}
	if len(v.Raw) != s.Form.Scale {
		return dst, fmt.Errorf("%d bytes where exactly %d are needed", len(v.Raw), s.Form.Scale)
	}
	return appendString(dst, v.Raw)
}

func writeMap(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	return dst, program.Mismatch(v, "NULL is")
}

// errVerbatim keeps a broken document from breaking the whole message.
var errVerbatim = errors.New("the value is not a JSON document in UTF-8")

func writeVerbatim(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindText {
		return dst, program.Mismatch(v, "text is")
	}
	if !json.Valid(v.Raw) || !utf8.Valid(v.Raw) {
		return dst, errVerbatim
	}
	return append(dst, v.Raw...), nil
}

// appendString writes a JSON string with the escapes of encoding/json: short forms where there are any, \u00xx for other control characters,
// and for U+2028 and U+2029, which JavaScript takes for line ends.
func appendString(dst, text []byte) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, len(text)+2)
	dst = append(dst, '"')
	from := 0
	for i := plain(text); i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size, escape := 1, escapeOf(c)
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				return dst[:start], program.ErrNotUTF8
			}
			escape = separatorEscape(r)
		}
		if escape != "" {
			dst = append(append(dst, text[from:i]...), escape...)
			from = i + size
		}
		i += size
	}
	return append(append(dst, text[from:]...), '"'), nil
}

// plain gives the length of the part in front that needs no escape, about: eight characters at a time.
func plain(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		if special(binary.LittleEndian.Uint64(text[i:])) {
			break
		}
	}
	return i
}

// special tells that one of eight bytes is below the space, a quote, a backslash or not ASCII. Each test leaves the high bit of a byte that meets it;
// what a borrow adds to the byte above one that meets it does no harm.
func special(w uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	control := w - ' '*ones
	quote := (w ^ '"'*ones) - ones
	backslash := (w ^ '\\'*ones) - ones
	return (w|control|quote|backslash)&high != 0
}

func separatorEscape(r rune) string {
	switch r {
	case '\u2028':
		return `\u2028`
	case '\u2029':
		return `\u2029`
	}
	return ""
}

func escapeOf(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if c < ' ' {
		return controls[6*int(c):][:6]
	}
	return ""
}

// controls holds the escapes of the characters below the space, six bytes each.
const controls = `\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u000f` +
	`\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f`
