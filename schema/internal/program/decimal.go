package program

import (
	"bytes"
	"encoding/base64"
	"math/bits"
	"strconv"

	"ctbridge/bridge/change"
)

// smallDigits is how many digits any int64 can hold.
const smallDigits = 18

var pow10 = [smallDigits + 1]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// AppendUnscaled writes the unscaled number of a decimal with Form.Scale digits after the point as the shortest big-endian two's complement.
func AppendUnscaled(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	text, err := DecimalText(s, v)
	if err != nil {
		return dst, err
	}
	return appendScaled(dst, s, text, s.Form.Precision, s.Form.Scale)
}

// AppendDigits writes all digits of a decimal, as they are after the point, in the same way.
func AppendDigits(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	text, err := DecimalText(s, v)
	if err != nil {
		return dst, err
	}
	return appendScaled(dst, s, text, 0, scaleOf(text))
}

// scaleOf counts the digits after the point.
func scaleOf(text []byte) int {
	if point := bytes.IndexByte(text, '.'); point >= 0 {
		return len(text) - point - 1
	}
	return 0
}

func appendScaled(dst []byte, s *Step, text []byte, precision, scale int) ([]byte, error) {
	negative, whole, frac, err := change.DecimalDigits(text, precision, scale)
	if err != nil {
		return dst, err
	}
	if len(whole)+scale <= smallDigits {
		n := int64(number(number(0, whole), frac) * pow10[scale-len(frac)])
		if negative {
			n = -n
		}
		return appendSmall(dst, n), nil
	}
	s.Limbs = grow(grow(s.Limbs[:0], whole), frac)
	s.Limbs = shift(s.Limbs, scale-len(frac))
	return appendLimbs(dst, s.Limbs, negative), nil
}

// usualBytes is what the unscaled number of nearly every decimal fits into.
const usualBytes = 32

func writeDecimalBase64(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	var space [usualBytes]byte
	number, err := AppendUnscaled(space[:0], s, v)
	if err != nil {
		return dst, err
	}
	return base64.StdEncoding.AppendEncode(dst, number), nil
}

// AppendScaledObject writes a decimal as a JSON object of its scale and, as base64, its unscaled number.
func AppendScaledObject(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	scale, err := readScale(v)
	if err != nil {
		return dst, err
	}
	var space [usualBytes]byte
	number, err := AppendDigits(space[:0], s, v)
	if err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, `{"scale":`...), scale, 10)
	dst = base64.StdEncoding.AppendEncode(append(dst, `,"value":"`...), number)
	return append(dst, `"}`...), nil
}

// NearestDouble gives the double nearest to a decimal.
func NearestDouble(s *Step, v *change.Value) (float64, error) {
	text, err := DecimalText(s, v)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(text), 64)
}

// number appends digits to a number.
func number(n uint64, digits []byte) uint64 {
	for _, c := range digits {
		n = n*10 + uint64(c-'0')
	}
	return n
}

func appendSmall(dst []byte, n int64) []byte {
	size := bits.Len64(uint64(n^n>>63))/8 + 1
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst
}

// grow appends digits to a large number, which is kept in limbs of 64 bits, least significant first.
func grow(limbs []uint64, digits []byte) []uint64 {
	for len(digits) > 0 {
		chunk := digits[:min(smallDigits, len(digits))]
		limbs = multiplyAdd(limbs, pow10[len(chunk)], number(0, chunk))
		digits = digits[len(chunk):]
	}
	return limbs
}

// shift appends zeros to a large number.
func shift(limbs []uint64, zeros int) []uint64 {
	for zeros > 0 {
		step := min(smallDigits, zeros)
		limbs = multiplyAdd(limbs, pow10[step], 0)
		zeros -= step
	}
	return limbs
}

func multiplyAdd(limbs []uint64, factor, carry uint64) []uint64 {
	for i, limb := range limbs {
		high, low := bits.Mul64(limb, factor)
		sum, more := bits.Add64(low, carry, 0)
		limbs[i], carry = sum, high+more
	}
	if carry > 0 {
		limbs = append(limbs, carry)
	}
	return limbs
}

// appendLimbs writes a large number. The complement of a negative number is the inverse of its magnitude less one.
func appendLimbs(dst []byte, limbs []uint64, negative bool) []byte {
	var invert byte
	if negative {
		invert = 0xFF
		for i := range limbs {
			limbs[i]--
			if limbs[i] != 1<<64-1 {
				break
			}
		}
	}
	size := bitLength(limbs)/8 + 1
	for i := size - 1; i >= 0; i-- {
		var c byte
		if i/8 < len(limbs) {
			c = byte(limbs[i/8] >> (8 * (i % 8)))
		}
		dst = append(dst, c^invert)
	}
	return dst
}

func bitLength(limbs []uint64) int {
	for i := len(limbs) - 1; i >= 0; i-- {
		if limbs[i] != 0 {
			return 64*i + bits.Len64(limbs[i])
		}
	}
	return 0
}
