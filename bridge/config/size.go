package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written with its unit: 512KiB, 1MiB, 2GiB, 100B.
type Size int64

// The units.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var sizeUnits = []struct {
	name string
	size Size
}{{"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if s != 0 && s%unit.size == 0 {
			return strconv.FormatInt(int64(s/unit.size), 10) + unit.name
		}
	}
	return "0B"
}

// UnmarshalText reads a whole number with a unit.
func (s *Size) UnmarshalText(text []byte) error {
	for _, unit := range sizeUnits {
		digits, found := strings.CutSuffix(string(text), unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			break
		}
		if n > uint64(math.MaxInt64/unit.size) {
			return fmt.Errorf("is too large")
		}
		*s = Size(n) * unit.size
		return nil
	}
	return fmt.Errorf("is not a size: write a whole number with B, KiB, MiB or GiB, like 512KiB")
}
