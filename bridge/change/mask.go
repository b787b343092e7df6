package change

// Mask is a set of column indexes of any width: bit i of byte i/8 (least significant first) stands for column i.
type Mask []byte

// MaskBytes is how many bytes a mask over n columns needs.
func MaskBytes(n int) int { return (n + 7) / 8 }

// Has reports whether column i is in the set; a mask shorter than the table means zeros for the missing bits.
func (m Mask) Has(i int) bool { return i>>3 < len(m) && m[i>>3]&(1<<(i&7)) != 0 }

// Set adds column i, which must lie inside the mask.
func (m Mask) Set(i int) { m[i>>3] |= 1 << (i & 7) }

// Empty reports whether no column is in the set.
func (m Mask) Empty() bool {
	for _, b := range m {
		if b != 0 {
			return false
		}
	}
	return true
}
