package program

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Text gives the Writer of a text form's bare text, without length or quotes; nil for a form that is no text.
func Text(kind envelope.FormKind) Writer {
	switch kind {
	case envelope.FormText:
		return writeText
	case envelope.FormHexUpper:
		return writeHexUpper
	case envelope.FormHexLower:
		return writeHexLower
	case envelope.FormBase64:
		return writeBase64
	case envelope.FormDecimalText:
		return writeDecimal
	case envelope.FormDateText:
		return writeDate
	case envelope.FormTimeText:
		return writeTime
	case envelope.FormDateTimeText:
		return writeDateTime
	case envelope.FormISOMillis:
		return writeISOMillis
	case envelope.FormInstantText:
		return writeInstant
	case envelope.FormISODate, envelope.FormISOTime, envelope.FormISOInstant:
		return isoText(kind)
	case envelope.FormISODateTime, envelope.FormISOMidnight, envelope.FormISOZonedClock, envelope.FormISOInterval:
		return spanText(kind)
	case envelope.FormDecimalBase64:
		return writeDecimalBase64
	case envelope.FormMaskHex:
		return writeMaskHex
	}
	return nil
}

// ErrNotUTF8 refuses text that no format can carry unchanged.
var ErrNotUTF8 = errors.New("the text is not valid UTF-8")

func writeText(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if v.Kind == change.KindText {
		if !utf8.Valid(v.Raw) {
			return dst, ErrNotUTF8
		}
		return append(dst, v.Raw...), nil
	}
	return change.AppendText(dst, *v, change.Type{Precision: s.Form.Precision, Scale: s.Form.Scale})
}

func writeHexUpper(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindBytes {
		return dst, Mismatch(v, "bytes are")
	}
	return change.AppendHex(dst, v.Raw, change.UpperHex), nil
}

func writeHexLower(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindBytes {
		return dst, Mismatch(v, "bytes are")
	}
	return change.AppendHex(dst, v.Raw, change.LowerHex), nil
}

func writeBase64(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindBytes {
		return dst, Mismatch(v, "bytes are")
	}
	return base64.StdEncoding.AppendEncode(dst, v.Raw), nil
}

func writeDecimal(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	text, err := DecimalText(s, v)
	if err != nil {
		return dst, err
	}
	return change.AppendDecimal(dst, text, s.Form.Precision, s.Form.Scale)
}

// DecimalText gives the decimal text of a number that is exact by its kind. It is valid until the step's next call.
func DecimalText(s *Step, v *change.Value) ([]byte, error) {
	switch v.Kind {
	case change.KindDecimal:
		return v.Raw, nil
	case change.KindInt:
		s.Scratch = strconv.AppendInt(s.Scratch[:0], v.Num, 10)
	case change.KindUint:
		s.Scratch = strconv.AppendUint(s.Scratch[:0], v.Uint(), 10)
	default:
		return nil, Mismatch(v, "a decimal is")
	}
	return s.Scratch, nil
}

func writeDate(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindDate {
		return dst, Mismatch(v, "a date is")
	}
	return change.AppendDate(dst, v.Num)
}

func writeTime(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindTime {
		return dst, Mismatch(v, "a time is")
	}
	return change.AppendTime(dst, *v, s.Form.Scale)
}

// writeDateTime writes a wall clock; that of an instant is UTC.
func writeDateTime(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if !moment(v) {
		return dst, Mismatch(v, "a date with time is")
	}
	return change.AppendDateTime(dst, v.Num, v.Nanos, ' ', s.Form.Scale)
}

func writeISOMillis(dst []byte, _ *Step, v *change.Value) ([]byte, error) {
	if !moment(v) {
		return dst, Mismatch(v, "a date with time is")
	}
	return change.AppendISOMillis(dst, *v)
}

func writeInstant(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindInstant {
		return dst, Mismatch(v, "an instant is")
	}
	return change.AppendInstant(dst, *v, ' ', s.Form.Scale)
}

func moment(v *change.Value) bool {
	return v.Kind == change.KindDateTime || v.Kind == change.KindInstant
}

func writeMaskHex(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if err := checkMask(s, v); err != nil {
		return dst, err
	}
	for i := s.Form.Scale - 1; i >= 0; i-- {
		c := maskByte(v.Raw, i)
		dst = append(dst, change.UpperHex[c>>4], change.UpperHex[c&15])
	}
	return dst, nil
}

// AppendMask writes a change.Mask as the bytes of a number, most significant first, Form.Scale of them.
func AppendMask(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if err := checkMask(s, v); err != nil {
		return dst, err
	}
	for i := s.Form.Scale - 1; i >= 0; i-- {
		dst = append(dst, maskByte(v.Raw, i))
	}
	return dst, nil
}

func maskByte(mask []byte, i int) byte {
	if i < len(mask) {
		return mask[i]
	}
	return 0
}

// checkMask refuses a mask with a bit beyond its width.
func checkMask(s *Step, v *change.Value) error {
	if v.Kind != change.KindBytes {
		return Mismatch(v, "a mask is")
	}
	if len(v.Raw) > s.Form.Scale && !change.Mask(v.Raw[s.Form.Scale:]).Empty() {
		return fmt.Errorf("the mask has columns beyond its %d bytes", s.Form.Scale)
	}
	return nil
}

// Mismatch is the error of a value that has another kind than its form takes; needed reads "a date is".
func Mismatch(v *change.Value, needed string) error {
	return fmt.Errorf("%s needed but the value is %s", needed, kindName(v.Kind))
}

func kindName(kind change.ValueKind) string {
	names := [...]string{
		change.KindNull: "NULL", change.KindAbsent: "absent", change.KindBool: "a truth value", change.KindInt: "an integer",
		change.KindUint: "an unsigned integer", change.KindFloat32: "a 32-bit float", change.KindFloat64: "a 64-bit float",
		change.KindDecimal: "a decimal", change.KindText: "text", change.KindBytes: "bytes", change.KindDate: "a date",
		change.KindTime: "a time", change.KindDateTime: "a date with time", change.KindInstant: "an instant",
	}
	if int(kind) >= len(names) {
		return fmt.Sprintf("of unknown kind %d", kind)
	}
	return names[kind]
}
