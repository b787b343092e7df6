package qlikct

import (
	"fmt"
	"time"

	"ctbridge/bridge/change"
)

// SequenceLength is the width of a change sequence: YYYYMMDDHHmmSShh and a 19-digit number.
const SequenceLength = 35

const (
	sequenceTime   = 16
	sequenceLayout = "20060102150405"
)

// Sequence is a change sequence taken apart.
type Sequence struct {
	Time   time.Time // UTC, to hundredths of a second
	Number string    // 19 digits, rising over all change tables of the task
}

// ParseSequence checks a change sequence and takes it apart.
func ParseSequence(s string) (Sequence, error) {
	if err := checkSequence(s); err != nil {
		return Sequence{}, err
	}
	at, err := time.Parse(sequenceLayout, s[:sequenceTime-2])
	if err != nil {
		return Sequence{}, fmt.Errorf("change sequence %q: its first 14 digits are not a time YYYYMMDDHHmmSS", s)
	}
	hundredths := time.Duration(s[14]-'0')*10 + time.Duration(s[15]-'0')
	return Sequence{Time: at.Add(hundredths * 10 * time.Millisecond), Number: s[sequenceTime:]}, nil
}

// checkSequence accepts what can order rows: 35 digits. Their meaning as a time is not needed for that.
func checkSequence(s string) error {
	if len(s) != SequenceLength {
		return fmt.Errorf("change sequence %q has %d characters, not %d", clip(s), len(s), SequenceLength)
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return fmt.Errorf("change sequence %q has a character that is no digit", s)
		}
	}
	return nil
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

// FormatSequence builds the change sequence of a moment and a number, as the vendor writes it.
func FormatSequence(at time.Time, number uint64) string {
	at = at.UTC()
	return fmt.Sprintf("%s%02d%019d", at.Format(sequenceLayout), at.Nanosecond()/int(10*time.Millisecond), number)
}

// endOf is the highest position of a moment's hundredth of a second.
func endOf(at time.Time) change.Position {
	return change.Position(at.UTC().Format(sequenceLayout) + fmt.Sprintf("%02d", at.Nanosecond()/int(10*time.Millisecond)) + "9999999999999999999")
}
