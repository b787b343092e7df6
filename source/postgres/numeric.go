package postgres

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"ctbridge/bridge/change"
)

// The signs of a numeric on the wire (src/backend/utils/adt/numeric.c).
const (
	numericPositive = 0x0000
	numericNegative = 0x4000
	numericInf      = 0xd000
	numericMinusInf = 0xf000
)

func notANumber(value string) error {
	return unfit{value, "it is no decimal number", "store NULL instead, or make the column double precision"}
}

// numericBinary reads base-10000 groups: count, weight of the first group, sign, digits after the point, groups. The text keeps the digits
// after the point that the value was stored with.
func numericBinary(dst *change.Value, raw []byte, arena *change.Arena) error {
	if len(raw) < 8 || len(raw) != 8+2*int(binary.BigEndian.Uint16(raw)) {
		return wrongLength(raw)
	}
	n := numeric{
		groups: raw[8:],
		weight: int(int16(binary.BigEndian.Uint16(raw[2:]))),
		scale:  int(binary.BigEndian.Uint16(raw[6:])),
	}
	switch binary.BigEndian.Uint16(raw[4:]) {
	case numericPositive:
	case numericNegative:
		n.negative = true
	case numericInf:
		return notANumber("Infinity")
	case numericMinusInf:
		return notANumber("-Infinity")
	default:
		return notANumber("NaN")
	}
	*dst = change.DecimalValue(n.append(arena.Make(n.size())[:0]))
	return nil
}

// numeric is a number as its wire form holds it; group i counts 10000^(weight-i).
type numeric struct {
	groups   []byte
	weight   int
	scale    int
	negative bool
}

// group gives group i, which may lie outside of those sent.
func (n numeric) group(i int) uint {
	if i < 0 || 2*i >= len(n.groups) {
		return 0
	}
	return uint(binary.BigEndian.Uint16(n.groups[2*i:]))
}

// size is how long the text may become.
func (n numeric) size() int { return 1 + 4*max(n.weight+1, 1) + 1 + n.scale + 3 }

func (n numeric) append(dst []byte) []byte {
	if n.negative {
		dst = append(dst, '-')
	}
	if n.weight < 0 {
		dst = append(dst, '0')
	} else {
		dst = strconv.AppendUint(dst, uint64(n.group(0)), 10)
	}
	for i := 1; i <= n.weight; i++ {
		dst = appendGroup(dst, n.group(i))
	}
	if n.scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	end := len(dst) + n.scale
	for i := n.weight + 1; len(dst) < end; i++ {
		dst = appendGroup(dst, n.group(i))
	}
	return dst[:end]
}

func appendGroup(dst []byte, g uint) []byte {
	return append(dst, byte('0'+g/1000%10), byte('0'+g/100%10), byte('0'+g/10%10), byte('0'+g%10))
}

// numericText takes the server's text, which has neither exponent nor plus sign.
func numericText(dst *change.Value, raw []byte, arena *change.Arena) error {
	if bytes.ContainsAny(raw, "NI") {
		return notANumber(string(raw))
	}
	*dst = change.DecimalValue(arena.Copy(raw))
	return nil
}
