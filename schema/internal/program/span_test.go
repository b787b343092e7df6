package program

import (
	"math"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

func text(s string) change.Value { return change.TextValue([]byte(s)) }

func TestPartsOfSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form  envelope.FormKind
		value change.Value
		want  int64
	}{
		{envelope.FormMonthsPart, text("1 year 2 mons 3 days 04:05:06.7"), 14},
		{envelope.FormHoursPart, text("1 year 2 mons 3 days 04:05:06.7"), 72},
		{envelope.FormMicrosPart, text("1 year 2 mons 3 days 04:05:06.7"), 14706700000},
		{envelope.FormMicrosPart, text("-00:00:00.000001"), -1},
		{envelope.FormTimePart, text("04:05:06.7+05:45"), 14706700000},
		{envelope.FormOffsetPart, text("04:05:06.7+05:45"), 20700000},
		{envelope.FormOffsetPart, text("04:05:06-15:59:59"), -57599000},
		{envelope.FormBits, change.BytesValue([]byte{0, 1, 2}), 258},
		{envelope.FormBits, change.BytesValue([]byte{0x7f, 255, 255, 255, 255, 255, 255, 255}), math.MaxInt64},
		{envelope.FormBits, change.BoolValue(true), 1},
		{envelope.FormMidnightMicros, change.DateValue(-1), -86400e6},
	} {
		if got, err := IntegerOf(c.form)(&c.value); err != nil || got != c.want {
			t.Errorf("form %d of %+v: %d, %v; want %d", c.form, c.value, got, err, c.want)
		}
	}
}

func TestSpansThatFormsCannotHold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form  envelope.FormKind
		value change.Value
	}{
		{envelope.FormMonthsPart, text("200000000 years")},
		{envelope.FormHoursPart, text("100000000 days")},
		{envelope.FormMonthsPart, text("infinity")},
		{envelope.FormHoursPart, text("1")},
		{envelope.FormMicrosPart, text("x")},
		{envelope.FormMicrosPart, change.IntValue(1)},
		{envelope.FormTimePart, text("24:00:00+02")},
		{envelope.FormTimePart, text("04:05:06")},
		{envelope.FormTimePart, text("04:05:06.1234567+00")},
		{envelope.FormOffsetPart, text("04:05:06")},
		{envelope.FormBits, change.BytesValue([]byte{0x80, 0, 0, 0, 0, 0, 0, 0})},
		{envelope.FormBits, change.IntValue(1)},
		{envelope.FormMidnightMicros, change.IntValue(1)},
	} {
		if got, err := IntegerOf(c.form)(&c.value); err == nil {
			t.Errorf("form %d of %+v: %d", c.form, c.value, got)
		}
	}
	for form, value := range map[envelope.FormKind]change.Value{
		envelope.FormISODateTime: change.InstantValue(0, 0, 0), envelope.FormISOMidnight: change.DateTimeValue(0, 0),
		envelope.FormISOZonedClock: text("noon"), envelope.FormISOInterval: text("a while"),
	} {
		if got, err := Text(form)(nil, &Step{}, &value); err == nil {
			t.Errorf("form %d of %+v: %s", form, value, got)
		}
	}
}
