package statusview

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"ctbridge/bridge/checkpoint"
	"ctbridge/metrics"
)

// clean takes out what could steer a terminal: names and errors come from databases.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// shorten cuts a text to so many characters, in the middle: both ends of names and positions tell the most.
func shorten(s string, most int, cut bool) string {
	r := []rune(s)
	if !cut || len(r) <= most {
		return s
	}
	if most < 5 {
		return string(r[:most])
	}
	head := (most - 1 + 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(most-1-head):])
}

func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func rate(r float64) string {
	if r == 0 || r >= 10 {
		return count(uint64(math.Round(r)))
	}
	return strconv.FormatFloat(r, 'f', 1, 64)
}

func optional(s *float64) string {
	if s == nil {
		return "-"
	}
	return span(*s)
}

// span is a duration for people: two units at most.
func span(seconds float64) string {
	two := func(n, of int, big, small string) string {
		if n%of == 0 {
			return fmt.Sprintf("%d%s", n/of, big)
		}
		return fmt.Sprintf("%d%s%d%s", n/of, big, n%of, small)
	}
	n := int(math.Round(max(0, seconds)))
	switch {
	case seconds > 0 && seconds < 1:
		return fmt.Sprintf("%dms", max(1, int(math.Round(seconds*1000))))
	case n < 60:
		return fmt.Sprintf("%ds", n)
	case n < 3600:
		return two(n, 60, "m", "s")
	case n < 86400:
		return two(n/60, 60, "h", "m")
	}
	return two(n/3600, 24, "d", "h")
}

// loadWord is a load in a word.
func loadWord(l *metrics.LoadStatus) string {
	switch {
	case l == nil || l.State == string(checkpoint.LoadNone):
		return "-"
	case l.State == string(checkpoint.LoadRunning) && l.Total > 0:
		return fmt.Sprintf("at %d%%", 100*l.Done/l.Total)
	}
	return l.State
}

// loadLine tells of a load that is under way, "" where none is.
func loadLine(l *metrics.LoadStatus) string {
	if l == nil {
		return ""
	}
	switch checkpoint.LoadState(l.State) {
	case checkpoint.LoadRunning, checkpoint.LoadPaused, checkpoint.LoadWaiting:
	default:
		return ""
	}
	share := 0.0
	if l.Total > 0 {
		share = min(1, float64(l.Done)/float64(l.Total))
	}
	const cells = 20
	filled := int(share * cells)
	out := fmt.Sprintf("load %s [%s%s] %.0f%% %s of %s rows", l.State, strings.Repeat("#", filled), strings.Repeat(".", cells-filled), 100*share, count(uint64(l.Done)), count(uint64(l.Total)))
	if l.SecondsLeft != nil {
		out += ", " + span(*l.SecondsLeft) + " left"
	}
	return out
}
