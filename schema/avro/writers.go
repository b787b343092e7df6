package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/program"
)

// writerOf gives the Writer of a form; nil where Avro does not have it.
func writerOf(kind envelope.FormKind) program.Writer {
	switch {
	case kind == envelope.FormText:
		return writeString
	case program.Text(kind) != nil:
		return writeText
	case kind == envelope.FormInt || kind == envelope.FormLong:
		return writeNumber
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
	case envelope.FormBytes:
		return writeBytes
	case envelope.FormMaskBytes:
		return writeMask
	case envelope.FormDecimalBytes:
		return writeDecimal
	case envelope.FormUnscaledPart:
		return writeDigits
	case envelope.FormDecimalDouble:
		return writeNearest
	case envelope.FormEnum:
		return writeEnum
	case envelope.FormFixed:
		return writeFixed
	case envelope.FormMap:
		return writeMap
	}
	return nil
}

// appendLong writes an int or a long: the zigzag number in groups of seven bits.
func appendLong(dst []byte, n int64) []byte {
	if -64 <= n && n < 64 {
		return append(dst, byte(n<<1^n>>63))
	}
	return binary.AppendVarint(dst, n)
}

func writeInteger(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	n, err := s.Integer(v)
	if err != nil {
		return dst, err
	}
	return appendLong(dst, n), nil
}

// writeNumber is writeInteger for the numbers that most columns hold.
func writeNumber(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind == change.KindInt && v.Num == int64(int32(v.Num)) {
		return appendLong(dst, v.Num), nil
	}
	return writeInteger(dst, s, v)
}

// writeText writes a text form whose length is known only afterwards.
func writeText(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	start := len(dst) + 1
	dst, err := s.Text(append(dst, 0), s, v)
	if err != nil {
		return dst, err
	}
	return program.CloseLength(dst, start), nil
}

func writeString(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindText {
		return writeText(dst, s, v)
	}
	if !utf8.Valid(v.Raw) {
		return dst, program.ErrNotUTF8
	}
	return append(appendLong(dst, int64(len(v.Raw))), v.Raw...), nil
}

func writeBytes(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindBytes {
		return dst, program.Mismatch(v, "bytes are")
	}
	return append(appendLong(dst, int64(len(v.Raw))), v.Raw...), nil
}

func writeMask(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	return program.AppendMask(appendLong(dst, int64(s.Form.Scale)), s, v)
}

func writeBoolean(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindBool {
		return dst, program.Mismatch(v, "a truth value is")
	}
	if v.Bool() {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

func writeFloat(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindFloat32 {
		return dst, program.Mismatch(v, "a 32-bit float is")
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(v.Num)), nil
}

func writeDouble(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	switch v.Kind {
	case change.KindFloat64:
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Num)), nil
	case change.KindFloat32:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(v.Float32()))), nil
	}
	return dst, program.Mismatch(v, "a float is")
}

// writeDecimal writes the unscaled number, whose length is known only afterwards.
func writeDecimal(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	start := len(dst) + 1
	dst, err := program.AppendUnscaled(append(dst, 0), s, v)
	if err != nil {
		return dst, err
	}
	return program.CloseLength(dst, start), nil
}

func writeDigits(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	start := len(dst) + 1
	dst, err := program.AppendDigits(append(dst, 0), s, v)
	if err != nil {
		return dst, err
	}
	return program.CloseLength(dst, start), nil
}

func writeNearest(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	f, err := program.NearestDouble(s, v)
	if err != nil {
		return dst, err
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), nil
}

func writeEnum(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindText {
		return dst, program.Mismatch(v, "text is")
	}
	for i, symbol := range s.Form.Symbols {
		if string(v.Raw) == symbol {
			return appendLong(dst, int64(i)), nil
		}
	}
	return dst, fmt.Errorf("%.64q is not one of the symbols %q", v.Raw, s.Form.Symbols)
}

func writeFixed(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	if v.Kind != change.KindBytes && v.Kind != change.KindText {
		return dst, program.Mismatch(v, "bytes are")
	}
	if len(v.Raw) != s.Form.Scale {
		return dst, fmt.Errorf("%d bytes where exactly %d are needed", len(v.Raw), s.Form.Scale)
	}
	return append(dst, v.Raw...), nil
}

func writeMap(dst []byte, _ *program.Step, v *change.Value) ([]byte, error) {
	return dst, program.Mismatch(v, "NULL is")
}
