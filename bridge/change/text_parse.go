package change

import "errors"

// Parsers of the date and time texts that databases write. They take the whole text or nothing, never normalise (a 30 February is an
// error, not a 2 March; so are MySQL's zero dates 0000-00-00 and 2026-00-00), and allocate nothing.

var (
	errDate   = errors.New("not a date of the form 2006-01-02 in the years 1..9999")
	errClock  = errors.New("not a time of the form 15:04:05.999999999")
	errMoment = errors.New("not a moment of the form 2006-01-02 15:04:05.999999999")
	errZone   = errors.New("not a time zone of the form Z, +03 or +03:00")
)

// ParseDate reads 2006-01-02.
func ParseDate(text []byte) (Value, error) {
	r := reader{text: text}
	days := r.date()
	if !r.done() {
		return Null, errDate
	}
	return DateValue(days), nil
}

// ParseTime reads a time of day or a duration: 14:34:21.5, 14:34, -838:59:59.000000. Hours may have three digits, the fraction nine.
func ParseTime(text []byte) (Value, error) {
	r := reader{text: text}
	negative := r.accept('-')
	seconds, nanos := r.clock(3)
	if !r.done() {
		return Null, errClock
	}
	if negative {
		seconds, nanos = -seconds, -nanos
	}
	return TimeValue(seconds, nanos), nil
}

// ParseDateTime reads a wall clock: 2006-01-02 15:04:05.999999999 with a space or T in the middle; the fraction, the seconds or the whole
// clock (midnight) may be missing. A zone is an error: a wall clock has none.
func ParseDateTime(text []byte) (Value, error) {
	r := reader{text: text}
	seconds, nanos := r.moment()
	if !r.done() {
		return Null, errMoment
	}
	return DateTimeValue(seconds, nanos), nil
}

// ParseInstant reads a wall clock followed by its zone: Z, +03, +03:00 or +05:45, after a space or not. Without a zone it is UTC.
func ParseInstant(text []byte) (Value, error) {
	r := reader{text: text}
	seconds, nanos := r.moment()
	if r.failed {
		return Null, errMoment
	}
	offset := r.zone()
	if !r.done() {
		return Null, errZone
	}
	return InstantValue(seconds-offset*60, nanos, int16(offset)), nil
}

// reader walks over text; the first thing that does not fit makes it failed for good.
type reader struct {
	text   []byte
	pos    int
	failed bool
}

// done reports whether everything fitted and nothing is left.
func (r *reader) done() bool { return !r.failed && r.pos == len(r.text) }

// accept takes c if it comes next.
func (r *reader) accept(c byte) bool {
	if r.pos < len(r.text) && r.text[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

// expect takes c, which must come next.
func (r *reader) expect(c byte) {
	if !r.accept(c) {
		r.failed = true
	}
}

// number takes at least low and at most high digits.
func (r *reader) number(low, high int) (n int64) {
	start := r.pos
	for r.pos < len(r.text) && r.pos-start < high && isDigit(r.text[r.pos]) {
		n = n*10 + int64(r.text[r.pos]-'0')
		r.pos++
	}
	if r.pos-start < low {
		r.failed = true
	}
	return n
}

// sixtieths takes the two digits of minutes or seconds.
func (r *reader) sixtieths() int64 {
	n := r.number(2, 2)
	if n > 59 {
		r.failed = true
	}
	return n
}

// date takes a date and gives the days since 1970-01-01.
func (r *reader) date() int64 {
	b := r.text[r.pos:]
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		r.failed = true
		return 0
	}
	century, years, month, day := pair(b), pair(b[2:]), pair(b[5:]), pair(b[8:])
	year := century*100 + years
	if century > 99 || years > 99 || year == 0 || month-1 >= 12 || day-1 >= 28 && (day == 0 || day > daysIn(year, month)) {
		r.failed = true
		return 0
	}
	r.pos += 10
	return daysOf(year, month, day)
}

// noPair is more than two digits can say, however often it is multiplied.
const noPair = 1 << 20

// pair reads two digits.
func pair(b []byte) uint32 {
	high, low := uint32(b[0]-'0'), uint32(b[1]-'0')
	if high > 9 || low > 9 {
		return noPair
	}
	return high*10 + low
}

// clock takes hours of two to hourDigits digits, minutes and what follows.
func (r *reader) clock(hourDigits int) (seconds int64, nanos int32) {
	if b := r.text[r.pos:]; len(b) >= 8 && b[2] == ':' && b[5] == ':' { // what nearly all look like
		hours, minutes, rest := pair(b), pair(b[3:]), pair(b[6:])
		if hours > 99 || minutes > 59 || rest > 59 {
			r.failed = true
			return 0, 0
		}
		r.pos += 8
		return int64(hours*3600 + minutes*60 + rest), r.fraction()
	}
	seconds = r.number(2, hourDigits) * 3600
	r.expect(':')
	seconds += r.sixtieths() * 60
	if r.accept(':') {
		seconds += r.sixtieths()
		nanos = r.fraction()
	}
	return seconds, nanos
}

// fraction takes the point and up to nine digits, if there are any.
func (r *reader) fraction() int32 {
	if !r.accept('.') {
		return 0
	}
	start := r.pos
	n := r.number(1, 9)
	return int32(n) * int32(pow10[9-(r.pos-start)])
}

// moment takes a date and the clock that may follow it.
func (r *reader) moment() (seconds int64, nanos int32) {
	seconds = r.date() * secondsPerDay
	if r.failed || r.pos == len(r.text) {
		return seconds, 0
	}
	if !r.accept(' ') {
		r.expect('T')
	}
	clock, nanos := r.clock(2)
	if clock >= secondsPerDay {
		r.failed = true
	}
	return seconds + clock, nanos
}

// zone takes a zone, if there is one, and gives its minutes east of UTC.
func (r *reader) zone() int64 {
	if r.pos == len(r.text) {
		return 0
	}
	r.accept(' ')
	if r.accept('Z') {
		return 0
	}
	sign := int64(1)
	if r.accept('-') {
		sign = -1
	} else {
		r.expect('+')
	}
	minutes := r.number(2, 2) * 60
	if r.accept(':') {
		minutes += r.sixtieths()
	}
	if minutes > maxOffset {
		r.failed = true
	}
	return sign * minutes
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func daysIn(year, month uint32) uint32 {
	switch {
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	case month != 2:
		return 31
	case year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	}
	return 28
}
