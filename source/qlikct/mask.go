package qlikct

import (
	"fmt"

	"ctbridge/bridge/change"
)

// ByteOrder says how the bytes of a change mask hold its bits.
type ByteOrder string

// The byte orders. The vendor documents the first; working decoders of real data use the second. Auto decides from the data.
const (
	OrderLSB  ByteOrder = "lsb"  // byte 0 holds bits 7..0, trailing zero bytes may be missing
	OrderMSB  ByteOrder = "msb"  // one most-significant-first number, leading zero bytes may be missing
	OrderAuto ByteOrder = "auto" // until the data decide, lsb
)

// hasBit reads bit n of a change-table mask.
func hasBit(mask []byte, n int, order ByteOrder) bool {
	at := n >> 3
	if at >= len(mask) {
		return false
	}
	if order == OrderMSB {
		at = len(mask) - 1 - at
	}
	return mask[at]&(1<<(n&7)) != 0
}

// maskProblem tells why a mask cannot be right in a byte order: a header's bit is set, or one beyond the table's columns.
func maskProblem(mask []byte, headers []bool, order ByteOrder) error {
	for n := range len(mask) * 8 {
		switch {
		case !hasBit(mask, n, order):
		case n >= len(headers):
			return fmt.Errorf("change mask %s marks bit %d, but the change table has %d columns", maskText(mask), n, len(headers))
		case headers[n]:
			return fmt.Errorf("change mask %s marks bit %d, which is a header column", maskText(mask), n)
		}
	}
	return nil
}

func maskText(mask []byte) string {
	if len(mask) > 32 {
		return fmt.Sprintf("%X…", mask[:32])
	}
	return fmt.Sprintf("%X", mask)
}

// DecodeMask turns a change-table mask into a set of data columns. headers tells, for every column of the change table in order, whether
// it is a header; the mask's bit numbers are those ordinals. Order lsb or msb.
func DecodeMask(mask []byte, headers []bool, order ByteOrder) (change.Mask, error) {
	if err := maskProblem(mask, headers, order); err != nil {
		return nil, err
	}
	columns := make([]int, 0, len(headers))
	for n, header := range headers {
		if !header {
			columns = append(columns, n)
		}
	}
	out := make(change.Mask, change.MaskBytes(len(columns)))
	fillMask(out, mask, columns, order)
	return out, nil
}

// fillMask sets in dst the data columns whose bits are set; bits[i] is the bit number of data column i.
func fillMask(dst change.Mask, mask []byte, bits []int, order ByteOrder) {
	for i, n := range bits {
		if hasBit(mask, n, order) {
			dst.Set(i)
		}
	}
}

// orderEvidence tells what one mask says about the byte order: the only order in which it is possible, or "" when both are (or none).
func orderEvidence(mask []byte, headers []bool) ByteOrder {
	if len(mask) < 2 {
		return ""
	}
	lsb, msb := maskProblem(mask, headers, OrderLSB) == nil, maskProblem(mask, headers, OrderMSB) == nil
	switch {
	case lsb && !msb:
		return OrderLSB
	case msb && !lsb:
		return OrderMSB
	}
	return ""
}

// pairEvidence compares the mask of an update with the columns whose two images differ: the only order that gives just those columns,
// or "".
func pairEvidence(mask []byte, bits []int, lob []bool, before, after []change.Value) ByteOrder {
	lsb, msb := true, true
	for i, n := range bits {
		if lob[i] || before[i].Kind == change.KindAbsent || after[i].Kind == change.KindAbsent {
			continue
		}
		differs := !before[i].Equal(after[i])
		lsb = lsb && hasBit(mask, n, OrderLSB) == differs
		msb = msb && hasBit(mask, n, OrderMSB) == differs
	}
	switch {
	case lsb && !msb:
		return OrderLSB
	case msb && !lsb:
		return OrderMSB
	}
	return ""
}
