package change

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestIntervals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		interval Interval
		iso      string
	}{
		"1 year 2 mons 3 days 04:05:06.7":  {Interval{14, 3, 14706, 700_000_000}, "P1Y2M3DT4H5M6.7S"},
		"-1 years -2 mons +3 days":         {Interval{-14, 3, 0, 0}, "P-1Y-2M3D"},
		"00:00:00":                         {Interval{}, "PT0S"},
		"-00:00:00.5":                      {Interval{Nanos: -500_000_000}, "PT-0.5S"},
		"1 day -23:59:59":                  {Interval{Days: 1, Seconds: -86399}, "P1DT-23H-59M-59S"},
		"1 mon":                            {Interval{Months: 1}, "P1M"},
		"2 mons +04:00:00":                 {Interval{Months: 2, Seconds: 14400}, "P2MT4H"},
		"-178000000 years":                 {Interval{Months: -178000000 * 12}, "P-178000000Y"},
		"2562047788:00:54.775807":          {Interval{Seconds: 2562047788*3600 + 54, Nanos: 775_807_000}, "PT2562047788H54.775807S"},
		"10 years 00:00:00.000001":         {Interval{Months: 120, Nanos: 1000}, "P10YT0.000001S"},
		"1 day 100:00:00":                  {Interval{Days: 1, Seconds: 360000}, "P1DT100H"},
		"-2147483648 days":                 {Interval{Days: -2147483648}, "P-2147483648D"},
		"1 year -1 mons 1 day -01:00:00.1": {Interval{11, 1, -3600, -100_000_000}, "P11M1DT-1H-0.1S"},
	} {
		got, err := ParseInterval([]byte(text))
		if err != nil || got != want.interval {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want.interval)
		}
		if iso := string(AppendISOInterval(nil, got)); iso != want.iso {
			t.Errorf("%s: %s, want %s", text, iso, want.iso)
		}
	}
	for _, text := range []string{"", "1", "1 ", "1 week", "1 year ", "year", "P1Y", "@ 1 year ago", "infinity", "-infinity", "1 day 4:00:00", "04:05:06 1 day", "1 day  2 mons"} {
		if got, err := ParseInterval([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestIntervalMicros(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		interval Interval
		want     int64
		ok       bool
	}{
		{Interval{Seconds: 3, Nanos: 5000}, 3_000_005, true},
		{Interval{Seconds: -3, Nanos: -5000}, -3_000_005, true},
		{Interval{Nanos: 1}, 0, false},
		{Interval{Seconds: 1 << 60}, 0, false},
		{Interval{Seconds: -1 << 60}, 0, false},
	} {
		if got, err := c.interval.Micros(); got != c.want || (err == nil) != c.ok {
			t.Errorf("%+v: %d, %v", c.interval, got, err)
		}
	}
}

func TestZonedClocks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		clock ZonedClock
		iso   string
	}{
		"04:05:06.7+05:45":   {ZonedClock{14706, 700_000_000, 20700}, "04:05:06.7+05:45"},
		"04:05:06+00":        {ZonedClock{14706, 0, 0}, "04:05:06Z"},
		"00:00:00-15:59:59":  {ZonedClock{0, 0, -57599}, "00:00:00-15:59:59"},
		"23:59:59.999999-08": {ZonedClock{86399, 999_999_000, -28800}, "23:59:59.999999-08:00"},
		"24:00:00+02":        {ZonedClock{86400, 0, 7200}, "24:00:00+02:00"},
	} {
		got, err := ParseZonedClock([]byte(text))
		if err != nil || got != want.clock {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want.clock)
		}
		if iso := mustText(t)(AppendZonedClock(nil, got)); iso != want.iso {
			t.Errorf("%s: %s, want %s", text, iso, want.iso)
		}
	}
	for _, text := range []string{"", "04:05:06", "04:05:06+", "04:05:06+19", "4:05:06+01", "04:05:06+01:60", "25:00:00+01", "04:05:06+01 "} {
		if got, err := ParseZonedClock([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// What is written in ISO 8601 says the same as what was read: its parts add up to the interval.
func TestISOIntervalsKeepTheirParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sign := rapid.SampledFrom([]int64{1, -1}).Draw(t, "sign")
		v := Interval{
			Months: rapid.Int64Range(-1e9, 1e9).Draw(t, "months"), Days: rapid.Int64Range(-1e9, 1e9).Draw(t, "days"),
			Seconds: sign * rapid.Int64Range(0, 1e12).Draw(t, "seconds"), Nanos: int32(sign) * rapid.Int32Range(0, 999_999_999).Draw(t, "nanos"),
		}
		if got := readISO(t, AppendISOInterval(nil, v)); got != v {
			t.Fatalf("%+v came back as %+v", v, got)
		}
	})
}

// readISO is an oracle: it reads P1Y2M-3DT4H5M6.7S.
func readISO(t interface{ Fatalf(string, ...any) }, text []byte) (out Interval) {
	r := reader{text: text}
	r.expect('P')
	clock := r.accept('T')
	for !r.failed && r.pos < len(text) {
		sign := int64(1)
		if r.accept('-') {
			sign = -1
		}
		n, nanos := sign*r.number(1, 12), int32(sign)*r.fraction()
		switch {
		case r.accept('Y'):
			out.Months += 12 * n
		case !clock && r.accept('M'):
			out.Months += n
		case r.accept('D'):
			out.Days += n
		case r.accept('H'):
			out.Seconds += 3600 * n
		case r.accept('M'):
			out.Seconds += 60 * n
		case r.accept('S'):
			out.Seconds, out.Nanos = out.Seconds+n, nanos
		default:
			t.Fatalf("%s at %d", text, r.pos)
		}
		clock = r.accept('T') || clock
	}
	if !r.done() {
		t.Fatalf("%s is no ISO 8601 interval", text)
	}
	return out
}

func FuzzParseInterval(f *testing.F) {
	for _, seed := range []string{"1 year 2 mons -3 days 04:05:06.7", "-00:00:00.000001", "2562047788:00:54.775807", "1 day", "+1 mons", "@ 1 day"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseInterval([]byte(text))
		if err != nil {
			return
		}
		if got := readISO(t, AppendISOInterval(nil, v)); got != v {
			t.Fatalf("%q: %+v came back as %+v", text, v, got)
		}
	})
}

func FuzzParseZonedClock(f *testing.F) {
	for _, seed := range []string{"04:05:06.7+05:45", "24:00:00-15:59:59", "04:05+00", "04:05:06Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseZonedClock([]byte(text))
		if err != nil {
			return
		}
		iso, err := AppendZonedClock(nil, v)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if at, err := time.Parse("15:04:05.999999999Z07:00", string(iso)); err == nil && (clockSeconds(at) != v.Seconds || int64(offsetOf(at)) != v.Offset) {
			t.Fatalf("%q: %+v is %s, which is %v", text, v, iso, at)
		}
	})
}

func clockSeconds(at time.Time) int64 {
	return int64(at.Hour()*3600 + at.Minute()*60 + at.Second())
}

func offsetOf(at time.Time) int {
	_, offset := at.Zone()
	return offset
}
