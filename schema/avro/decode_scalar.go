package avro

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	twmb "github.com/twmb/avro"

	"ctbridge/bridge/change"
)

// scalar decodes a type without parts; known is false for a type that is none.
func (in *input) scalar(n *twmb.SchemaNode) (known bool, err error) {
	switch n.Type {
	case "null":
		in.text("null")
	case "boolean":
		err = in.boolean()
	case "int", "long":
		err = in.number(n)
	case "float":
		err = in.float(4)
	case "double":
		err = in.float(8)
	case "string":
		var b []byte
		if b, err = in.lengthPrefixed(); err == nil {
			in.text(quote(string(b)))
		}
	case "bytes", "fixed":
		err = in.bytes(n)
	case "enum":
		err = in.enum(n)
	default:
		return false, nil
	}
	return true, err
}

// long reads an int or a long.
func (in *input) long() (int64, error) {
	n, size := binary.Varint(in.rest)
	if size <= 0 {
		return 0, errShort
	}
	in.rest = in.rest[size:]
	return n, nil
}

func (in *input) boolean() error {
	b, err := in.take(1)
	if err != nil {
		return err
	}
	in.dst = strconv.AppendBool(in.dst, b[0] != 0)
	return nil
}

func (in *input) float(size int64) error {
	b, err := in.take(size)
	if err != nil {
		return err
	}
	bits, f := 64, 0.0
	if size == 4 {
		bits, f = 32, float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	} else {
		f = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	text := string(change.AppendFloat(nil, f, bits))
	if f-f != 0 { // JSON has no NaN and no infinities
		text = quote(text)
	}
	in.text(text)
	return nil
}

func (in *input) enum(n *twmb.SchemaNode) error {
	i, err := in.long()
	if err != nil {
		return err
	}
	if i < 0 || i >= int64(len(n.Symbols)) {
		return errors.New("no such symbol: " + strconv.FormatInt(i, 10))
	}
	in.text(quote(n.Symbols[i]))
	return nil
}

func (in *input) bytes(n *twmb.SchemaNode) error {
	b, err := in.bytesOf(n)
	if err != nil {
		return err
	}
	switch {
	case n.LogicalType == "decimal":
		in.text(quote(decimalText(b, n.Scale)))
	case n.Type == "fixed" && printable(b):
		in.text(quote(string(b)))
	default:
		in.text(`"` + string(change.AppendHex(nil, b, change.UpperHex)) + `"`)
	}
	return nil
}

func (in *input) bytesOf(n *twmb.SchemaNode) ([]byte, error) {
	if n.Type == "fixed" {
		return in.take(int64(n.Size))
	}
	return in.lengthPrefixed()
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// decimalText gives the number that two's complement bytes hold, with its point.
func decimalText(b []byte, scale int) string {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	digits, sign := n.String(), ""
	if n.Sign() < 0 {
		digits, sign = digits[1:], "-"
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	if scale > 0 {
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	return sign + digits
}

// number decodes an int or a long, with its logical type where that has an ISO 8601 form.
func (in *input) number(n *twmb.SchemaNode) error {
	value, err := in.long()
	if err != nil {
		return err
	}
	text, err := logicalText(n.LogicalType, value)
	if err != nil || text == nil {
		in.dst = strconv.AppendInt(in.dst, value, 10)
		return nil //nolint:nilerr // a date or time without an ISO form is shown as a number
	}
	in.text(`"` + string(text) + `"`)
	return nil
}

// logicalText gives the ISO form; nil for a logical type that has none.
func logicalText(logicalType string, n int64) ([]byte, error) {
	kind, unit, found := strings.Cut(strings.TrimPrefix(logicalType, "local-"), "-")
	if kind == "date" {
		return change.AppendDate(nil, n)
	}
	perSecond, digits := int64(1e3), 3
	switch unit {
	case "micros":
		perSecond, digits = 1e6, 6
	case "nanos":
		perSecond, digits = 1e9, 9
	}
	seconds, fraction := n/perSecond, n%perSecond
	if fraction < 0 {
		seconds, fraction = seconds-1, fraction+perSecond
	}
	nanos := int32(fraction * (1e9 / perSecond))
	switch {
	case kind == "time" && found && n >= 0 && seconds < 24*60*60:
		return change.AppendTime(nil, change.TimeValue(seconds, nanos), digits)
	case kind == "timestamp" && found:
		text, err := change.AppendDateTime(nil, seconds, nanos, 'T', digits)
		if err == nil && !strings.HasPrefix(logicalType, "local-") {
			text = append(text, 'Z')
		}
		return text, err
	}
	return nil, nil
}
