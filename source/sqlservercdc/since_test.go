package sqlservercdc

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever the moment and the zone: no commit of that moment or later has a lower reading of the clock than what is looked for.
func TestCase51_NoLaterCommitHasALowerClock(t *testing.T) {
	t.Parallel()
	var zones []*time.Location
	for _, name := range []string{"UTC", "America/Chicago", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	begin := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(rt, "zone")
		at := begin.Add(time.Duration(rapid.IntRange(0, 366*24*60).Draw(rt, "minute")) * time.Minute)
		if _, end := at.In(zone).ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(rt, "near a change of the clock") {
			at = end.Add(time.Duration(rapid.IntRange(-130, 130).Draw(rt, "minutes from it")) * time.Minute)
		}
		from := wallFrom(zone, at)
		for later := at; later.Before(at.Add(5 * time.Hour)); later = later.Add(time.Minute) {
			if wall := later.In(zone).Format("2006-01-02 15:04:05.000"); wall < from {
				rt.Fatalf("%s: %s is looked for from %s on, %s shows %s", zone, at, from, later, wall)
			}
		}
		if wall := at.In(zone).Format("2006-01-02 15:04:05.000"); from > wall || from < at.Add(-90*time.Minute).In(zone).Format("2006-01-02 15:04:05.000") {
			rt.Fatalf("%s: %s is looked for from %s on, which is far before %s", zone, at, from, wall)
		}
	})
}
