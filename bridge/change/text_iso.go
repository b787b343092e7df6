package change

// FractionDigits is how many digits a fraction of a second needs, 0 to 9.
func FractionDigits(nanos int32) int {
	if nanos == 0 {
		return 0
	}
	digits := 9
	for nanos%10 == 0 {
		nanos /= 10
		digits--
	}
	return digits
}

// AppendISOInstant writes an instant at its stored offset, or a wall clock as UTC, in ISO 8601: 2031-05-10T16:00:01.604805+03:00, with Z for
// the offset zero.
func AppendISOInstant(dst []byte, v Value, digits int) ([]byte, error) {
	if v.Kind == KindInstant && v.Offset != 0 {
		return AppendInstant(dst, v, 'T', digits)
	}
	dst, err := AppendDateTime(dst, v.Num, v.Nanos, 'T', digits)
	if err != nil {
		return dst, err
	}
	return append(dst, 'Z'), nil
}
