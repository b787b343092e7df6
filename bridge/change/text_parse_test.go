package change

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTexts(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	wall := func(text string) Value { m := at(text); return DateTimeValue(m.Unix(), int32(m.Nanosecond())) }
	instant := func(text string, offset int16) Value {
		m := at(text)
		return InstantValue(m.Unix(), int32(m.Nanosecond()), offset)
	}
	for _, c := range []struct {
		parse func([]byte) (Value, error)
		text  string
		want  Value
	}{
		{ParseDate, "1970-01-01", DateValue(0)},
		{ParseDate, "0001-01-01", DateValue(minDay)},
		{ParseDate, "9999-12-31", DateValue(maxDay)},
		{ParseDate, "2024-02-29", DateValue(at("2024-02-29T00:00:00Z").Unix() / secondsPerDay)},
		{ParseDateTime, "2023-03-21 14:34:21.000000", wall("2023-03-21T14:34:21Z")},
		{ParseDateTime, "2023-03-21T14:34:21", wall("2023-03-21T14:34:21Z")},
		{ParseDateTime, "2023-03-21 14:34:21.123456789", wall("2023-03-21T14:34:21.123456789Z")},
		{ParseDateTime, "1969-12-31 23:59:59.5", wall("1969-12-31T23:59:59.5Z")},
		{ParseDateTime, "2023-03-21 14:34", wall("2023-03-21T14:34:00Z")},
		{ParseDateTime, "2023-03-21", wall("2023-03-21T00:00:00Z")},
		{ParseInstant, "2023-03-21 14:34:21", instant("2023-03-21T14:34:21Z", 0)},
		{ParseInstant, "2023-03-21 14:34:21Z", instant("2023-03-21T14:34:21Z", 0)},
		{ParseInstant, "2023-03-21T14:34:21+03", instant("2023-03-21T14:34:21+03:00", 180)},
		{ParseInstant, "2023-03-21 14:34:21.5 +05:45", instant("2023-03-21T14:34:21.5+05:45", 345)},
		{ParseInstant, "2023-03-21 14:34:21-11:30", instant("2023-03-21T14:34:21-11:30", -690)},
		{ParseTime, "14:34:21.000001", TimeValue(14*3600+34*60+21, 1000)},
		{ParseTime, "-838:59:59.000000", TimeValue(-(838*3600 + 59*60 + 59), 0)},
		{ParseTime, "-00:00:00.5", TimeValue(0, -500_000_000)},
		{ParseTime, "14:34", TimeValue(14*3600+34*60, 0)},
	} {
		if got, err := c.parse([]byte(c.text)); err != nil || !got.Equal(c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	refuse := func(parse func([]byte) (Value, error), texts string) {
		for _, text := range strings.Split(texts, "|") {
			if got, err := parse([]byte(text)); err == nil || got.Kind != KindNull {
				t.Errorf("%q became %+v", text, got)
			}
		}
	}
	refuse(ParseDate, "|0000-00-00|2026-00-00|2026-00-05|2026-05-00|2023-02-29|1900-02-29|2026-02-30|2026-04-31|2026-13-01|0000-01-01|10000-01-01|2026-1-5|"+
		"26-01-05|2026-01-05 | 2026-01-05|2026-01-05Z|-2026-01-05|2026/01/05|2026-01-0x|infinity|2026-01-01 BC|2026-01-32")
	refuse(ParseDateTime, "|0000-00-00 00:00:00|2026-00-00 00:00:00|2026-01-05 24:00:00|2026-01-05 23:60:00|2026-01-05 23:59:60|2026-01-05 23:59:59.|"+
		"2026-01-05 23:59:59.0000000000|2026-01-05 23:59:59Z|2026-01-05 |2026-01-05t00:00:00|2026-01-05  00:00:00|2026-01-05 1:00:00|2026-01-05 100:00:00|2026-01-05 00")
	refuse(ParseInstant, "|2026-01-05 00:00:00 |2026-01-05 00:00:00z|2026-01-05 00:00:00+|2026-01-05 00:00:00+3|2026-01-05 00:00:00+19:00|"+
		"2026-01-05 00:00:00+03:60|2026-01-05 00:00:00 UTC|2026-01-05 00:00:00+03:00:00|0000-00-00 00:00:00Z|2026-01-05Z")
	refuse(ParseTime, "|1:00:00|1000:00:00|00:60:00|00:00:60|--00:00:00|+00:00:00|00:00:00.|00:00:00.0000000000|00|00:00:00 ")
}

func TestParseAllocatesNothing(t *testing.T) {
	date, clock, moment := []byte("2023-03-21"), []byte("-838:59:59.000000"), []byte("2023-03-21 14:34:21.123456 +05:45")
	if n := testing.AllocsPerRun(100, func() {
		_, _ = ParseDate(date)
		_, _ = ParseTime(clock)
		_, _ = ParseDateTime(moment) // an error: it has a zone
		_, _ = ParseInstant(moment)
		_, _ = ParseDecimal(date) // an error
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTimeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := TimeValue(rapid.Int64Range(0, 1000*3600-1).Draw(t, "seconds"), rapid.Int32Range(0, 999_999_999).Draw(t, "nanos"))
		if rapid.Bool().Draw(t, "negative") {
			value = TimeValue(-value.Num, -value.Nanos)
		}
		text, err := AppendTime(nil, value, 9)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseTime(text); err != nil || !back.Equal(value) {
			t.Fatalf("%s: %+v, %v", text, back, err)
		}
		if value.Num >= 0 && value.Num < secondsPerDay {
			if want := time.Unix(value.Num, int64(value.Nanos)).UTC().Format("15:04:05.000000000"); string(text) != want && value.Nanos >= 0 {
				t.Fatalf("%s, want %s", text, want)
			}
		}
	})
}

// FuzzParseInstant compares with package time wherever that package knows the form, and demands a round trip everywhere.
func FuzzParseInstant(f *testing.F) {
	for _, seed := range []string{"2023-03-21 14:34:21.000000", "2023-03-21T14:34:21Z", "0000-00-00 00:00:00", "2024-02-29 23:59:59.999999999 +05:45", "2026-00-00", "9999-12-31 23:59:59-18:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := ParseInstant([]byte(text))
		if at, known := oracle(time.RFC3339Nano, text); known {
			_, offset := at.Zone()
			if want := InstantValue(at.Unix(), int32(at.Nanosecond()), int16(offset/60)); max(offset, -offset) <= maxOffset*60 && (err != nil || !value.Equal(want)) {
				t.Fatalf("%q: %+v, %v; want %+v", text, value, err, want)
			}
		}
		if err != nil {
			return
		}
		again, err := AppendInstant(nil, value, ' ', 9)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if back, err := ParseInstant(again); err != nil || !back.Equal(value) {
			t.Fatalf("%q → %s → %+v, %v", text, again, back, err)
		}
	})
}

// oracle reads text with package time, where text is in the form that package writes itself: it reads laxly.
func oracle(layout, text string) (at time.Time, known bool) {
	at, err := time.Parse(layout, text)
	return at, err == nil && at.Year() > 0 && at.Format(layout) == text
}

func FuzzParseDateTime(f *testing.F) {
	for _, seed := range []string{"2023-03-21 14:34:21.000000", "2023-03-21", "0000-00-00 00:00:00", "2023-02-29 00:00:00", "2023-03-21 14:34"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := ParseDateTime([]byte(text))
		if at, known := oracle(time.DateTime, text); known && (err != nil || !value.Equal(DateTimeValue(at.Unix(), 0))) {
			t.Fatalf("%q: %+v, %v; want %v", text, value, err, at)
		}
		if err != nil {
			return
		}
		again, err := AppendDateTime(nil, value.Num, value.Nanos, 'T', 9)
		if err != nil || !strings.HasPrefix(string(again), text[:10]) {
			t.Fatalf("%q → %s, %v", text, again, err)
		}
		if back, err := ParseDateTime(again); err != nil || !back.Equal(value) {
			t.Fatalf("%q → %s → %+v, %v", text, again, back, err)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"-838:59:59.000000", "00:00", "23:59:59.9999999", "-00:00:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := ParseTime([]byte(text))
		if err != nil {
			return
		}
		again, err := AppendTime(nil, value, 9)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if back, err := ParseTime(again); err != nil || !back.Equal(value) {
			t.Fatalf("%q → %s → %+v, %v", text, again, back, err)
		}
	})
}

func FuzzParseDate(f *testing.F) {
	for _, seed := range []string{"2024-02-29", "0000-00-00", "1900-02-29", "9999-12-31"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := ParseDate([]byte(text))
		at, valid := oracle(time.DateOnly, text)
		if valid != (err == nil) {
			t.Fatalf("%q: %v, the oracle says %v", text, err, valid)
		}
		if err == nil && value.Num != floorDiv(at.Unix(), secondsPerDay) {
			t.Fatalf("%q: day %d", text, value.Num)
		}
	})
}
