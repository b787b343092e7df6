package bridge

import (
	"ctbridge/bridge/change"
)

// changeSequences gives change sequences to the events of a source that has none: 16 digits of the commit time in UTC (YYYYMMDDhhmmss and hundredths),
// then a counter of 19 digits, as Qlik's documentation has them.
//
// The counter runs over all tables, never begins anew, and is part of the checkpoint with the time it was given with: sequences sort in the order of
// events even where the source's clock stands still or is set back, and an event that is read again after a restart gets the sequence it had.
type changeSequences struct {
	last []byte // of the last published event; empty before the first
	next []byte
}

const (
	sequenceTime   = 16
	sequenceDigits = 35
)

// give sets the sequence of an event that has none. It counts once the event is published: see published.
func (s *changeSequences) give(ev *change.Event) {
	s.next = s.next[:0]
	if ev.ChangeSequence != nil || ev.Op == change.OpRefresh {
		return
	}
	s.next = appendSequence(s.next, s.last, ev.Timestamp)
	ev.ChangeSequence = s.next
}

// published moves behind the event whose sequence was given last, and reports whether one was.
func (s *changeSequences) published() bool {
	given := len(s.next) > 0
	if given {
		s.last, s.next = s.next, s.last[:0]
	}
	return given
}

// refuse takes the sequence back from an event that is not published.
func (s *changeSequences) refuse(ev *change.Event) {
	if len(s.next) > 0 {
		ev.ChangeSequence, s.next = nil, s.next[:0]
	}
}

// appendSequence writes the sequence that follows last for an event of that time; a time before that of last counts as that of last.
func appendSequence(dst, last []byte, at change.Value) []byte {
	start := len(dst)
	dst = appendSequenceTime(dst, at)
	if len(last) != sequenceDigits {
		last = zeroSequence
	}
	if string(dst[start:]) < string(last[:sequenceTime]) {
		dst = append(dst[:start], last[:sequenceTime]...)
	}
	dst = append(dst, last[sequenceTime:]...)
	for i := len(dst) - 1; i >= start+sequenceTime; i-- {
		if dst[i] != '9' {
			dst[i]++
			break
		}
		dst[i] = '0'
	}
	return dst
}

var zeroSequence = []byte("00000000000000000000000000000000000")

// appendSequenceTime writes 2023091103232500 of an instant; zeros where there is none.
func appendSequenceTime(dst []byte, at change.Value) []byte {
	start := len(dst)
	if at.Kind == change.KindInstant {
		text, err := change.AppendDateTime(dst, at.Num, at.Nanos-at.Nanos%1e7, ' ', 2)
		if err == nil {
			digits := dst
			for _, c := range text[start:] {
				if '0' <= c && c <= '9' {
					digits = append(digits, c)
				}
			}
			return digits
		}
	}
	return append(dst, zeroSequence[:sequenceTime]...)
}
