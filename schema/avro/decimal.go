package avro

import (
	"math/bits"

	"ctbridge/bridge/change"
	"ctbridge/schema/internal/program"
)

// smallDigits is how many digits any int64 can hold.
const smallDigits = 18

var pow10 = [smallDigits + 1]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// writeDecimal writes the logical type decimal over bytes: the unscaled number as the shortest big-endian two's complement.
func writeDecimal(dst []byte, s *program.Step, v *change.Value) ([]byte, error) {
	text, err := program.DecimalText(s, v)
	if err != nil {
		return dst, err
	}
	scale := s.Form.Scale
	negative, whole, frac, err := change.DecimalDigits(text, s.Form.Precision, scale)
	if err != nil {
		return dst, err
	}
	if len(whole)+scale <= smallDigits {
		n := int64(number(number(0, whole), frac) * pow10[scale-len(frac)])
		if negative {
			n = -n
		}
		return appendUnscaled(dst, n), nil
	}
	s.Limbs = grow(grow(s.Limbs[:0], whole), frac)
	s.Limbs = shift(s.Limbs, scale-len(frac))
	return appendLimbs(dst, s.Limbs, negative), nil
}

// number appends digits to a number.
func number(n uint64, digits []byte) uint64 {
	for _, c := range digits {
		n = n*10 + uint64(c-'0')
	}
	return n
}

// appendUnscaled writes a small number with its length in front.
func appendUnscaled(dst []byte, n int64) []byte {
	size := bits.Len64(uint64(n^n>>63))/8 + 1
	dst = append(dst, byte(size<<1))
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

// appendLimbs writes a large number with its length in front. The complement of a negative number is the inverse of its magnitude less one.
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
	dst = appendLong(dst, int64(size))
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
