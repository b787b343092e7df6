package change

import (
	"errors"
	"fmt"
	"math/big"
)

// Decimal is an exact decimal number: unscaled × 10^-Scale.
type Decimal struct {
	Unscaled int64    // where Big is nil
	Big      *big.Int // set where the unscaled number needs more than 64 bits
	Scale    int      // digits after the point, as written
}

var errDecimal = errors.New("not a decimal number of the form -12.34")

// maxSmallDigits is how many digits any int64 can hold.
const maxSmallDigits = 18

// ParseDecimal reads decimal text (see KindDecimal). Up to 18 digits it allocates nothing.
func ParseDecimal(text []byte) (Decimal, error) {
	negative, whole, frac, err := splitDecimal(text)
	if err != nil {
		return Decimal{}, err
	}
	d := Decimal{Scale: len(frac)}
	if len(whole)+len(frac) <= maxSmallDigits {
		for _, digits := range [2][]byte{whole, frac} {
			for _, c := range digits {
				d.Unscaled = d.Unscaled*10 + int64(c-'0')
			}
		}
		if negative {
			d.Unscaled = -d.Unscaled
		}
		return d, nil
	}
	d.setBig(negative, string(whole)+string(frac))
	return d, nil
}

func (d *Decimal) setBig(negative bool, digits string) {
	n, _ := new(big.Int).SetString(digits, 10)
	if negative {
		n.Neg(n)
	}
	if n.IsInt64() {
		d.Unscaled = n.Int64()
		return
	}
	d.Big = n
}

// DecimalDigits splits decimal text into its sign and its digits before and after the point, the number that decimal(precision, scale)
// can hold exactly: whole has no leading zeros, frac at most scale digits. A number with more significant digits than that is an error
// (I6). Precision 0 sets no limit to the digits; a negative scale asks for zeros before the point, as PostgreSQL does. Zero has no sign.
func DecimalDigits(text []byte, precision, scale int) (negative bool, whole, frac []byte, err error) {
	negative, whole, frac, err = splitDecimal(text)
	if err != nil {
		return false, nil, nil, err
	}
	frac = trimZeros(frac, max(scale, 0))
	if len(frac) > max(scale, 0) {
		return false, nil, nil, fmt.Errorf("%s has more than %d digits after the point", clip(text), max(scale, 0))
	}
	if scale < 0 && !roundNumber(whole, -scale) {
		return false, nil, nil, fmt.Errorf("%s does not end in %d zeros", clip(text), -scale)
	}
	if precision > 0 && tooLarge(whole, frac, precision-scale) {
		return false, nil, nil, fmt.Errorf("%s has more than %d digits before the point", clip(text), max(precision-scale, 0))
	}
	if len(whole) == 0 && len(trimZeros(frac, 0)) == 0 {
		negative = false
	}
	return negative, whole, frac, nil
}

// AppendDecimal writes decimal text with exactly scale digits after the point: missing zeros are added, superfluous ones left out. See
// DecimalDigits for the errors.
func AppendDecimal(dst, text []byte, precision, scale int) ([]byte, error) {
	negative, whole, frac, err := DecimalDigits(text, precision, scale)
	if err != nil {
		return dst, err
	}
	return appendDigits(dst, negative, whole, frac, scale), nil
}

// AppendDecimalAsIs writes decimal text with the digits that it has after the point, without superfluous zeros before it. The result
// is a JSON number too.
func AppendDecimalAsIs(dst, text []byte) ([]byte, error) {
	negative, whole, frac, err := splitDecimal(text)
	if err != nil {
		return dst, err
	}
	if len(whole) == 0 && len(trimZeros(frac, 0)) == 0 {
		negative = false
	}
	return appendDigits(dst, negative, whole, frac, len(frac)), nil
}

func appendDigits(dst []byte, negative bool, whole, frac []byte, scale int) []byte {
	if negative {
		dst = append(dst, '-')
	}
	if len(whole) == 0 {
		dst = append(dst, '0')
	}
	dst = append(dst, whole...)
	if scale > 0 {
		dst = append(dst, '.')
		dst = append(dst, frac...)
		for i := len(frac); i < scale; i++ {
			dst = append(dst, '0')
		}
	}
	return dst
}

// splitDecimal checks the form -?digits[.digits] and drops zeros at the front.
func splitDecimal(text []byte) (negative bool, whole, frac []byte, err error) {
	whole = text
	if len(whole) > 0 && whole[0] == '-' {
		negative, whole = true, whole[1:]
	}
	digits := countDigits(whole)
	if digits == 0 {
		return false, nil, nil, errDecimal
	}
	if rest := whole[digits:]; len(rest) > 0 {
		frac = rest[1:]
		if rest[0] != '.' || len(frac) == 0 || countDigits(frac) != len(frac) {
			return false, nil, nil, errDecimal
		}
	}
	whole = whole[:digits]
	for len(whole) > 0 && whole[0] == '0' {
		whole = whole[1:]
	}
	return negative, whole, frac, nil
}

func countDigits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// trimZeros drops zeros at the end of the digits beyond the first keep.
func trimZeros(digits []byte, keep int) []byte {
	for len(digits) > keep && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return digits
}

// roundNumber reports whether a whole number is a multiple of 10^zeros.
func roundNumber(whole []byte, zeros int) bool {
	return len(whole) == 0 || len(whole)-len(trimZeros(whole, 0)) >= zeros
}

// tooLarge reports whether a number needs more than room digits before the point. A negative room, of a scale beyond the precision,
// asks for that many zeros after the point.
func tooLarge(whole, frac []byte, room int) bool {
	if room >= 0 {
		return len(whole) > room
	}
	return len(whole) > 0 || len(trimZeros(frac[:min(-room, len(frac))], 0)) > 0
}

// clip shortens text for an error message.
func clip(text []byte) string {
	const most = 64
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most]) + "…"
}
