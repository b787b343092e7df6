package change

import (
	"errors"
	"math"
	"strconv"
)

// Interval is PostgreSQL's interval: three counts that do not convert into each other. The fraction has the sign of the seconds.
type Interval struct {
	Months, Days int64
	Seconds      int64
	Nanos        int32
}

// ZonedClock is a time of day with its zone, PostgreSQL's timetz.
type ZonedClock struct {
	Seconds int64 // since midnight
	Nanos   int32
	Offset  int64 // seconds east of UTC
}

var (
	errInterval = errors.New("not an interval of the form 1 year 2 mons -3 days 04:05:06.7")
	errZoned    = errors.New("not a time with its zone of the form 04:05:06.7+05:45")
)

// ParseInterval reads an interval in PostgreSQL's own style: 1 year 2 mons -3 days +04:05:06.7 (interval_out with IntervalStyle postgres).
func ParseInterval(text []byte) (Interval, error) {
	var out Interval
	r := reader{text: text}
	for first := true; first || r.pos < len(text); first = false {
		if !first {
			r.expect(' ')
		}
		negative := r.accept('-')
		if !negative {
			r.accept('+')
		}
		if r.clockComes() {
			out.Seconds, out.Nanos = r.clock(maxHourDigits)
			if negative {
				out.Seconds, out.Nanos = -out.Seconds, -out.Nanos
			}
			break
		}
		r.count(&out, negative)
		if r.failed {
			break
		}
	}
	if !r.done() {
		return Interval{}, errInterval
	}
	return out, nil
}

const maxHourDigits = 12 // 2^63 microseconds are 2,562,047,788 hours

// clockComes tells a clock from a count with its unit.
func (r *reader) clockComes() bool {
	i := r.pos
	for i < len(r.text) && isDigit(r.text[i]) {
		i++
	}
	return i < len(r.text) && r.text[i] == ':'
}

// count takes a number with its unit.
func (r *reader) count(out *Interval, negative bool) {
	n := r.number(1, 10)
	r.expect(' ')
	start := r.pos
	for r.pos < len(r.text) && r.text[r.pos] >= 'a' {
		r.pos++
	}
	if negative {
		n = -n
	}
	switch string(r.text[start:r.pos]) {
	case "year", "years":
		out.Months += 12 * n
	case "mon", "mons":
		out.Months += n
	case "day", "days":
		out.Days += n
	default:
		r.failed = true
	}
}

// AppendISOInterval writes an interval in ISO 8601, P1Y2M-3DT4H5M6.7S; parts that are 0 are left out, PT0S where all are.
func AppendISOInterval(dst []byte, v Interval) []byte {
	dst = append(dst, 'P')
	dst = appendCount(dst, v.Months/12, 'Y')
	dst = appendCount(dst, v.Months%12, 'M')
	dst = appendCount(dst, v.Days, 'D')
	if v.Seconds == 0 && v.Nanos == 0 {
		if v.Months == 0 && v.Days == 0 {
			return append(dst, "T0S"...)
		}
		return dst
	}
	dst = append(dst, 'T')
	dst = appendCount(dst, v.Seconds/3600, 'H')
	dst = appendCount(dst, v.Seconds/60%60, 'M')
	return appendSeconds(dst, v.Seconds%60, v.Nanos)
}

func appendCount(dst []byte, n int64, unit byte) []byte {
	if n == 0 {
		return dst
	}
	return append(strconv.AppendInt(dst, n, 10), unit)
}

func appendSeconds(dst []byte, seconds int64, nanos int32) []byte {
	if seconds == 0 && nanos == 0 {
		return dst
	}
	if seconds < 0 || nanos < 0 {
		dst, seconds, nanos = append(dst, '-'), -seconds, -nanos
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	dst, _ = appendFraction(dst, int64(nanos), FractionDigits(nanos)) // exactly the digits that it has
	return append(dst, 'S')
}

// ParseZonedClock reads a time of day followed by its zone, 04:05:06.7+05:45; zones may have seconds.
func ParseZonedClock(text []byte) (ZonedClock, error) {
	var out ZonedClock
	r := reader{text: text}
	out.Seconds, out.Nanos = r.clock(2)
	negative := r.accept('-')
	if !negative {
		r.expect('+')
	}
	out.Offset = r.number(2, 2) * 3600
	if r.accept(':') {
		out.Offset += r.sixtieths() * 60
		if r.accept(':') {
			out.Offset += r.sixtieths()
		}
	}
	if !r.done() || out.Offset > maxOffset*60 || out.Seconds > secondsPerDay {
		return ZonedClock{}, errZoned
	}
	if negative {
		out.Offset = -out.Offset
	}
	return out, nil
}

// AppendZonedClock writes a time of day with its zone in ISO 8601: 04:05:06.7+05:45, Z for the offset zero.
func AppendZonedClock(dst []byte, v ZonedClock) ([]byte, error) {
	dst, err := AppendTime(dst, TimeValue(v.Seconds, v.Nanos), FractionDigits(v.Nanos))
	if err != nil {
		return dst, err
	}
	if v.Offset == 0 {
		return append(dst, 'Z'), nil
	}
	sign, offset := byte('+'), v.Offset
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = appendTwo(append(dst, sign), offset/3600)
	dst = appendTwo(append(dst, ':'), offset/60%60)
	if offset%60 != 0 {
		dst = appendTwo(append(dst, ':'), offset%60)
	}
	return dst, nil
}

// Micros counts the clock of an interval in microseconds; finer digits and intervals beyond 64 bits are errors.
func (v Interval) Micros() (int64, error) {
	if v.Nanos%1000 != 0 {
		return 0, errors.New("the fraction is finer than microseconds")
	}
	if v.Seconds >= math.MaxInt64/1_000_000 || v.Seconds <= math.MinInt64/1_000_000 {
		return 0, errors.New("the interval does not fit into 64 bits of microseconds")
	}
	return v.Seconds*1_000_000 + int64(v.Nanos/1000), nil
}
